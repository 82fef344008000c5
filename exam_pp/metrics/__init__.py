"""Metrics: cover, qrels and nugget scores, agreement, correlation and significance."""
