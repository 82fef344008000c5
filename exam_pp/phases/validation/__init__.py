"""Checks of files: their format, and whether their contents make sense."""
