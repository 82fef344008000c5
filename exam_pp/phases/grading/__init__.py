"""Grading with models: scheduling, journals, shards, process groups, plans and rereading."""
