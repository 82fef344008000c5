"""Exports of tools that evaluate or trace applications, read as answers, or as a bank of references."""
