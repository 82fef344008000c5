"""Making, editing, comparing and examining test banks."""
