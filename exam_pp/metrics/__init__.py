"""Grades to numbers: each metric yields flat rows."""
