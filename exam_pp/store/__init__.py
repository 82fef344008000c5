"""The only room that opens files: streaming readers and atomic writers for every format."""
