"""Reports on file formats and conversions."""
