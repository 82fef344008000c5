"""Reports of exam-pp validate."""
