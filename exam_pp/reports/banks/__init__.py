"""Reports on test banks: entries, statistics, problems, differences, and the clinic."""
