"""Audit of a grader: length, position, family, origin of the bank, calibration."""
