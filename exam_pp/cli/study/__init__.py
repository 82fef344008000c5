"""The command of a whole study."""
