"""Checks of files before they are used."""
