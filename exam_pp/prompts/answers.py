"""Prompts that make a model a generative system: it answers a query as an article, a web page, or directly.

The three styles are those of section 6 of the workbench paper (Dietz, SIGIR 2024), which does not print its
prompts; the texts are ours. With passages as contexts, a model also cites them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from exam_pp.banks import Entry
from exam_pp.prompts.base import CUT_SLOT, Prompt, ReadingRule, ReadReply, Unparsed, register

Style = Literal["wikipedia", "web", "direct"]

_CITE = (
    "exam_pp, 2026; the styles of Dietz: A Workbench for Autograding Retrieve/Generate Systems, SIGIR 2024, "
    "section 6"
)


def _read(reply: str, _entry: Entry | None, _unparsed: Unparsed) -> ReadReply:
    text = bool(reply.strip())
    return ReadReply(None, text, reason=None if text else "the reply is empty")


ANSWER_TEXT = ReadingRule("text", "as the text of an answer", _read)

_INSTRUCTIONS: Mapping[Style, tuple[str, str, str]] = {
    "wikipedia": (
        "Wikipedia",
        "Write a Wikipedia article about '{query}'. Cover the most important facts in full sentences, as an "
        "encyclopedia does.",
        "Article",
    ),
    "web": (
        "WebPage",
        "Write the text of a web page that a search engine would return for the query '{query}'. Address "
        "the reader who has this information need.",
        "Web page",
    ),
    "direct": (
        "Direct",
        "Answer the query '{query}'. Begin with the answer itself, and then give the facts that support it.",
        "Answer",
    ),
}
_CITATIONS = (
    " Use only information from the numbered passages below. End every sentence with the numbers of the "
    "passages that support it in square brackets, such as [1] or [2][3].\n\n{context}\n\n"
)


def _prompt(style: Style, *, cited: bool) -> Prompt:
    name, instruction, label = _INSTRUCTIONS[style]
    body = _CITATIONS if cited else "\n\n"
    return Prompt(
        name=f"Answer{name}{'Cited' if cited else ''}",
        short=f"answer-{style}{'-cited' if cited else ''}",
        kind="answer",
        template=f"{instruction}{body}{label}:",
        parse=ANSWER_TEXT,
        style=instruction,
        cite=_CITE,
    )


STYLES: tuple[Style, ...] = ("wikipedia", "web", "direct")

ANSWER_PROMPTS: Mapping[tuple[Style, bool], Prompt] = {
    (style, cited): _prompt(style, cited=cited) for style in STYLES for cited in (False, True)
}
"""Prompts by style and whether they have passages as contexts."""


def has_contexts(prompt: Prompt) -> bool:
    """Whether the prompt has passages that the answer can cite."""
    return CUT_SLOT in prompt.slots


register(ANSWER_PROMPTS.values())
