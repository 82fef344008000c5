"""Metrics of RAG systems: citations, claims, criteria, consistency over repeats; files of Open RAG Eval."""
