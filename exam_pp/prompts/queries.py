"""Prompts that make a model write the queries that users may ask about a document.

The task is that of section 4 of RAGElo (Rackauckas et al., 2024), after InPars and Promptagator: up to ten
questions about a long passage, with queries of users as few-shot examples. The paper does not print its
prompt; the texts are ours.
"""

from __future__ import annotations

from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.generation import LIST_RULES, QUESTIONS_REPAIR

PUBLISHED_COUNT = 10
"""Number of questions about a passage that the paper asks for, at most."""

EXAMPLES_SLOT = "user_queries"
"""The placeholder of the queries of users, one on each line."""

_CITE = (
    "exam_pp, 2026; the task of Rackauckas et al.: Evaluating RAG-Fusion with RAGElo, LLM4Eval 2024, "
    "section 4"
)

_TASK = (
    "Here is a part of a document.\n\nDocument: {context}\n\n"
    "Write {count} different questions that a user could ask a search engine or an assistant, and that the "
    "document answers. "
)
_STYLE = (
    "Write like the users who asked these questions:\n\n{user_queries}\n\nDo not repeat their questions. "
)
_RULES = (
    "The user has not seen the document: each question must make sense on its own, so name the products, "
    'persons and places that it is about, and do not write "the document" or "the text". Ask for facts and '
    "explanations that matter to the user, some of them from several parts of the document. If the document "
    "answers fewer questions, write fewer.\n\n"
    """Give the question set in the following JSON format:
```json
{{"questions":[question_text_1, question_text_2,...]}}
```"""
)

QUERIES = Prompt(
    name="QueryGeneration",
    kind="query",
    template=_TASK + _RULES,
    parse=LIST_RULES["questions"],
    style="Write questions that the document answers.",
    cite=_CITE,
)
QUERIES_FEW_SHOT = Prompt(
    name="QueryGenerationFewShot",
    kind="query",
    template=_TASK + _STYLE + _RULES,
    parse=LIST_RULES["questions"],
    style="Write questions that the document answers, like these users.",
    cite=_CITE,
)
QUERIES_REPAIR = QUESTIONS_REPAIR
"""The prompt that follows a reply without a list."""

QUERIES_TOP_UP = Prompt(
    name="QueryGenerationTopUp",
    kind="query",
    template=(
        "Write {count} more questions that the document answers. They must ask about something else than the "
        "questions above. Reply with nothing but JSON in the format above."
    ),
    parse=LIST_RULES["questions"],
    style="Write more questions that the document answers.",
    cite="exam_pp, 2026",
)


def shows_user_queries(prompt: Prompt) -> bool:
    """Whether the prompt contains queries of users as examples."""
    return EXAMPLES_SLOT in prompt.slots


register((QUERIES, QUERIES_FEW_SHOT, QUERIES_TOP_UP))
