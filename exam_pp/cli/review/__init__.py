"""Commands to check and correct grades."""
