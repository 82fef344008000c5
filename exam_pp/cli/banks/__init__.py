"""Commands on test banks."""
