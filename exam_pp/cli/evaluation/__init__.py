"""``exam-pp evaluate``."""
