"""File formats: how each is told by its content, read, written, checked and described; one module a tool.

Modules register :class:`~exam_pp.formats.base.Format` values; the registry imports all of this folder.
"""
