"""Reports on machines, models and prompts, and on planned gradings."""
