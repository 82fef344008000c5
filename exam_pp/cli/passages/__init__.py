"""Commands on passages files."""
