"""Reports on problems in files."""
