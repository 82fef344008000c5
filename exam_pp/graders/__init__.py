"""Graders: the requests to a model about a passage, and the grades made from its replies.

Graders are pure: they call no model and read no files.
"""
