"""Public Python functions of :mod:`exam_pp` that accept files or objects and return rows and tables."""
