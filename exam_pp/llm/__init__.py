"""Models that answer requests. ``exam_pp.llm.base`` is the contract; backends register by name."""

from exam_pp.llm.base import BACKENDS, LLM, ModelOptions, load_llm

__all__ = ["BACKENDS", "LLM", "ModelOptions", "load_llm"]
