"""SQL queries over graded files, banks, runs and leaderboards."""
