"""Reports on the machine, models, prompts, and planned gradings."""
