"""The file of a whole study."""
