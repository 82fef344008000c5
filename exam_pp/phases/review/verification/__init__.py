"""Selections for verification reports (workbench paper, section 4.4)."""
