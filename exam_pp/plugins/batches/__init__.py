"""SQL over graded files, banks, runs and leaderboards."""
