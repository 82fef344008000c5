"""Verification reports: tables and cards for people who check how the model graded."""
