"""Language models and baselines behind one contract (``exam_pp.llm.base``); backends register by name."""

from exam_pp.llm.backends import BACKENDS, load_llm
from exam_pp.llm.base import LLM, ModelOptions

__all__ = ["BACKENDS", "LLM", "ModelOptions", "load_llm"]
