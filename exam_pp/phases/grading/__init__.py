"""Asking models about passages: scheduling, several processes, plans, resuming."""
