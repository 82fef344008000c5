"""Commands of ``exam-pp evaluate``."""
