"""Findings of checks."""
