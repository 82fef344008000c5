"""Comparing leaderboards, graders and gradings: correlation, agreement, sweeps, figures."""
