"""File formats that can be converted."""
