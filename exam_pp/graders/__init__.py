"""What is asked about a passage, and what grade the replies make. Pure: no model, no files."""
