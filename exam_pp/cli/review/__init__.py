"""Commands for people who check grades."""
