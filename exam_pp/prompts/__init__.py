"""Prompts and the rules for reading their replies; importing a file of prompts registers its prompts."""

from exam_pp.prompts.answers import ANSWER_PROMPTS
from exam_pp.prompts.base import PROMPTS, Prompt
from exam_pp.prompts.claims import CLAIM_PROMPTS
from exam_pp.prompts.criteria import RAGELO
from exam_pp.prompts.direct import ANSWER_ATTEMPT, DIRECT_PROMPTS, GRADED_RELEVANCE
from exam_pp.prompts.generation import GENERATION_PROMPTS, QUERIES, QUERIES_FEW_SHOT
from exam_pp.prompts.nuggets import ASSIGNMENT_PROMPTS
from exam_pp.prompts.pairwise import PAIRWISE_PROMPTS
from exam_pp.prompts.reasoner import REASONER
from exam_pp.prompts.rubric import ANSWER_VERIFICATION, RUBRIC_PROMPTS

__all__ = [
    "ANSWER_ATTEMPT",
    "ANSWER_PROMPTS",
    "ANSWER_VERIFICATION",
    "ASSIGNMENT_PROMPTS",
    "CLAIM_PROMPTS",
    "DIRECT_PROMPTS",
    "GENERATION_PROMPTS",
    "GRADED_RELEVANCE",
    "PAIRWISE_PROMPTS",
    "PROMPTS",
    "QUERIES",
    "QUERIES_FEW_SHOT",
    "RAGELO",
    "REASONER",
    "RUBRIC_PROMPTS",
    "Prompt",
]
