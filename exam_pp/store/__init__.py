"""Streaming readers and atomic writers of files in every format; no other room opens files."""
