"""The small checkpoints of the tests of models."""

from tests.llm.conftest import checkpoints, nli_checkpoint, prompts, texts

__all__ = ["checkpoints", "nli_checkpoint", "prompts", "texts"]
