"""Evaluation: scores, qrels and leaderboards from grades and judgments."""
