"""Commands that make, inspect and edit test banks."""
