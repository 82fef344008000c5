"""Asking for a test bank: a request for each query or facet, and another one where the reply is no list."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from exam_pp.messages import Completion, Part, Request
from exam_pp.prompts.base import Prompt
from exam_pp.prompts.entry_list import read_entries
from exam_pp.prompts.generation import GENERATION_PROMPTS, PUBLISHED_COUNT, REPAIR_PROMPTS
from exam_pp.test_bank import EntryKind

MAX_NEW_TOKENS = 1024
"""Room for a list: ten questions take about 300 tokens."""


@dataclass(frozen=True)
class GenerationUnit:
    """A query, or one facet of it, that is to get entries."""

    query_id: str
    query_text: str
    facet_id: str | None = None
    facet_text: str | None = None


@dataclass(frozen=True)
class Generated:
    """The texts that a model listed, or the ``reason`` why there are none; its last ``reply``, raw."""

    texts: list[str]
    reply: str
    calls: int
    reason: str | None = None


@dataclass(frozen=True)
class EntryGenerator:
    """Asks for entries with the words of the workbench paper's Table 1.

    ``count`` is the number that TREC DL style asks for (None: the paper's 10). A reply without a list is
    answered with the instruction, ``repairs`` times at most; a failed call is not repeated.
    """

    kind: EntryKind
    count: int | None = None
    repairs: int = 1
    max_new_tokens: int = MAX_NEW_TOKENS

    def prompt(self, unit: GenerationUnit) -> Prompt:
        """TREC CAR style for a facet, TREC DL style for a query without."""
        return GENERATION_PROMPTS[self.kind, unit.facet_text is not None]

    def run(self, unit: GenerationUnit) -> Generator[list[Request], list[Completion], Generated]:
        """Ask, and read the reply."""
        prompt = self.prompt(unit)
        values = {
            "query": unit.query_text,
            "subtopic": unit.facet_text or "",
            "count": str(self.count or PUBLISHED_COUNT),
        }
        request = Request(prompt.render(values), max_new_tokens=self.max_new_tokens)
        calls = 0
        while True:
            calls += 1
            (reply,) = yield [request]
            texts = None if reply.error else read_entries(reply.text, f"{self.kind}s")
            if texts or reply.error or calls > self.repairs:
                break
            request = self._repair(request, reply.text)
        reason = reply.error or prompt.parse(reply.text, None, "default").reason
        return Generated(texts or [], reply.text, calls, None if texts else reason)

    def _repair(self, asked: Request, reply: str) -> Request:
        said = Part(reply, slot="reply", may_be_cut=True, role="assistant")
        return Request((*asked.parts, said, *REPAIR_PROMPTS[self.kind].render({})), (), self.max_new_tokens)
