"""Runs, qrels, queries, texts, answers, scores and ranks."""
