"""Reports, figures and text layouts of leaderboards."""
