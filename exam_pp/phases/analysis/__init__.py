"""Comparison of leaderboards, graders and gradings: correlation, agreement, sweeps."""
