"""Functions behind the public names of :mod:`exam_pp`: files or objects in, plain rows and tables out."""
