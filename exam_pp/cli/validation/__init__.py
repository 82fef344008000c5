"""``exam-pp validate``."""
