"""``exam-pp grade-panel``."""
