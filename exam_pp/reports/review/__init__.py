"""Review page and verification reports."""
