"""Reports, figures and published tables of correlations, agreement, sweeps and comparisons."""
