"""Reliability tests: broken inputs, full disks and killed processes."""
