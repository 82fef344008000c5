"""CTranslate2, the fast engine for sequence-to-sequence models and, on request, causal models."""
