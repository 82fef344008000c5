"""``exam-pp analyze`` and ``exam-pp diff``."""
