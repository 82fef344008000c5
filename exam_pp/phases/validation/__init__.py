"""Checks of the format and the consistency of files, for ``exam-pp validate``."""
