"""Verification reports: tables and cards to check the grades of a model."""
