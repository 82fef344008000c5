"""SQL commands."""
