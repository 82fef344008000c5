"""Reports are data (title and blocks); renderers turn them into text, TSV, Markdown or JSON."""
