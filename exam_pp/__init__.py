"""A rubric-grading workbench for retrieval and RAG systems.

The phases are in :mod:`exam_pp.phases`, the data model in :mod:`exam_pp.data_model`.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("exam_pp")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"
