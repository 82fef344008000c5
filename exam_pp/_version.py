"""The version of exam_pp, in a module of its own, so that no module imports the whole package for it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("exam_pp")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"
