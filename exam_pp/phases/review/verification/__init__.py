"""Selections for people who check how the model graded (workbench paper, section 4.4)."""
