"""Conversion of files between formats: one module for each kind of content."""
