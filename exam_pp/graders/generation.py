"""Generation of test banks: one request for each query or facet, repeated if the reply is not a list."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from exam_pp.prompts.base import Prompt
from exam_pp.prompts.entry_list import read_entries
from exam_pp.prompts.generation import (
    GENERATION_PROMPTS,
    PUBLISHED_COUNT,
    REPAIR_PROMPTS,
    explores_facets,
)
from exam_pp.requests import Completion, Part, Request
from exam_pp.test_bank import EntryKind

MAX_NEW_TOKENS = 1024
"""Enough for a list: ten questions take about 300 tokens."""


@dataclass(frozen=True)
class GenerationUnit:
    """A query or one of its facets, for which entries are generated."""

    query_id: str
    query_text: str
    facet_id: str | None = None
    facet_text: str | None = None


@dataclass(frozen=True)
class Generated:
    """The texts that a model listed, or the ``reason`` why the list is empty.

    ``reply`` is the model's last reply, unchanged; ``calls`` counts the requests.
    """

    texts: list[str]
    reply: str
    calls: int
    reason: str | None = None


@dataclass(frozen=True)
class EntryGenerator:
    """Generates entries with the prompts of the workbench paper (Dietz, SIGIR 2024, Table 1), or with others.

    ``prompts`` replace them: one with the placeholder ``{subtopic}`` for facets, the other for queries.
    ``count`` is the number of entries that a TREC DL prompt asks for (None: 10, as in the paper). After a
    reply without a list the instruction is sent again, at most ``repairs`` times; a failed call is not
    repeated.
    """

    kind: EntryKind
    count: int | None = None
    repairs: int = 1
    max_new_tokens: int = MAX_NEW_TOKENS
    prompts: Sequence[Prompt] = ()

    def prompt(self, unit: GenerationUnit) -> Prompt:
        """The prompt for a facet or for a query without facets."""
        facet = unit.facet_text is not None
        own = (prompt for prompt in self.prompts if explores_facets(prompt) == facet)
        return next(own, GENERATION_PROMPTS[self.kind, facet])

    def run(self, unit: GenerationUnit) -> Generator[list[Request], list[Completion], Generated]:
        """Send the request, read the reply, and repeat the request if necessary."""
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
            request = self._repair(prompt, request, reply.text)
        reason = reply.error or prompt.parse(reply.text, None, "default").reason
        return Generated(texts or [], reply.text, calls, None if texts else reason)

    def _repair(self, prompt: Prompt, request: Request, reply: str) -> Request:
        turn = Part(reply, slot="reply", may_be_cut=True, role="assistant")
        repair = prompt.repaired_by(REPAIR_PROMPTS[self.kind]).render({})
        return Request((*request.parts, turn, *repair), (), self.max_new_tokens)
