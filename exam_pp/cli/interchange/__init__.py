"""Commands that import, export and convert."""
