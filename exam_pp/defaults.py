"""Defaults that commands, functions and reports share: each is decided here and nowhere else."""

CUTOFF = 20
"""Depth to which rankings are evaluated, unless they end before, and to which runs are pooled."""
CONFIDENCE = 0.95
"""Confidence level of intervals; 1 minus this is the level of tests."""
SAMPLES = 2000
"""Number of bootstrap samples."""
MIN_JUDGMENT = 1
"""Lowest judgment that counts as relevant."""
