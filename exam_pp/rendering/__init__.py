"""Renderers of reports (title and blocks) as text, TSV, JSON, Markdown, HTML and LaTeX, and figures."""
