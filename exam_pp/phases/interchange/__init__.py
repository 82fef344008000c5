"""Import, export and conversion of file formats."""
