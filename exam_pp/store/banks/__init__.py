"""Test banks and edits files."""
