"""Reports, figures and published layouts of correlations, agreement, sweeps and comparisons."""
