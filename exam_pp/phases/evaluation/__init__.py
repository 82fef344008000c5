"""Scores, qrels and leaderboards from grades and judgments."""
