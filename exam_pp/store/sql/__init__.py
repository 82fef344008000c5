"""Databases of graded files."""
