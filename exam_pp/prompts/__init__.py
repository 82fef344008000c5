"""Prompts and the rules for reading their replies; a file is imported when one of its prompts is used."""

from exam_pp.prompts.base import PROMPTS, Prompt

__all__ = ["PROMPTS", "Prompt"]
