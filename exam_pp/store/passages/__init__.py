"""Graded passages: whole, fast and raw readers, and the reply journal."""
