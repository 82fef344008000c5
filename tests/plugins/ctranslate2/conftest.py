"""The small checkpoints of the tests of models."""

from tests.llm.conftest import _cache, causal_checkpoints, checkpoints, conversion_cache, prompts, texts

__all__ = ["_cache", "causal_checkpoints", "checkpoints", "conversion_cache", "prompts", "texts"]
