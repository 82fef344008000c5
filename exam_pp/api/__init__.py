"""Public Python functions of :mod:`exam_pp` that accept files or objects and return plain rows and tables."""
