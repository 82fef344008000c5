"""File formats: detection, readers, writers, checks and schemas, with one module for each tool.

Modules register :class:`~exam_pp.formats.base.Format` values; the registry imports the whole folder.
"""
