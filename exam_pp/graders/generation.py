"""Generation of test banks and of answers: requests for every query, repeated for missing and short lists."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from exam_pp.banks import EntryKind, normalised_text
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.prompts.base import CUT_SLOT, Prompt
from exam_pp.prompts.entry_list import read_entries
from exam_pp.prompts.generation import (
    GENERATION_PROMPTS,
    PUBLISHED_COUNT,
    REPAIR_PROMPTS,
    TOP_UP_PROMPTS,
    explores_facets,
    requests_number,
)
from exam_pp.prompts.markup import without_thinking

MAX_NEW_TOKENS = 1024
"""Enough for a list: ten questions take about 300 tokens."""

TOP_UPS = 2
"""Default number of further requests after a list with fewer entries than requested."""


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

    ``reply`` is the model's last reply to the prompt or its repair, unchanged, and ``top_ups`` are its
    replies to requests for more entries; ``calls`` counts all requests. ``requested`` is the number of
    entries that the prompt asks for, None if it contains no number. ``tokens_cut`` is the number of tokens of
    the text in the prompt that were truncated.
    """

    texts: list[str]
    reply: str
    calls: int
    reason: str | None = None
    top_ups: tuple[str, ...] = ()
    requested: int | None = None
    tokens_cut: int = 0

    @property
    def repaired(self) -> bool:
        """Whether a list was read only after a repair."""
        return bool(self.texts) and self.calls > len(self.top_ups) + 1


@dataclass(frozen=True)
class EntryGenerator:
    """Generates entries with the prompts of the workbench paper (Dietz, SIGIR 2024, Table 1), or with others.

    ``prompts`` replace them: one with the placeholder ``{subtopic}`` for facets, the other for queries.
    ``count`` is the number of entries that a TREC DL prompt asks for (None: 10, as in the paper). After a
    reply without a list the instruction is sent again, at most ``repairs`` times. If the list has fewer
    entries than the prompt asks for, more are requested, at most ``top_ups`` times and while replies have new
    entries. A failed call is not repeated.
    """

    kind: EntryKind
    count: int | None = None
    repairs: int = 1
    prompts: Sequence[Prompt] = ()
    top_ups: int = TOP_UPS

    def prompt(self, unit: GenerationUnit) -> Prompt:
        """The prompt for a facet or for a query without facets."""
        facet = unit.facet_text is not None
        own = (prompt for prompt in self.prompts if explores_facets(prompt) == facet)
        return next(own, GENERATION_PROMPTS[self.kind, facet])

    def run(self, unit: GenerationUnit) -> Generator[list[Request], list[Completion], Generated]:
        """Send the request, read the reply, and send further requests if necessary."""
        prompt = self.prompt(unit)
        count = self.count or PUBLISHED_COUNT
        values = {"query": unit.query_text, "subtopic": unit.facet_text or "", "count": str(count)}
        requester = ListRequester(
            self.kind,
            prompt,
            prompt.repaired_by(REPAIR_PROMPTS[self.kind]),
            TOP_UP_PROMPTS[self.kind],
            self.repairs,
            self.top_ups,
        )
        return (yield from requester.run(values, count if requests_number(prompt) else None))


@dataclass(frozen=True)
class ListRequester:
    """Requests a list of entries, again after a reply without a list, and more after a short list.

    ``repair`` is the prompt after a reply without a list, and ``top_up`` that after a short list; both follow
    the reply in the conversation. Other fields are those of :class:`EntryGenerator`.
    """

    kind: EntryKind
    prompt: Prompt
    repair: Prompt
    top_up: Prompt
    repairs: int = 1
    top_ups: int = TOP_UPS

    def run(
        self, values: Mapping[str, str], requested: int | None
    ) -> Generator[list[Request], list[Completion], Generated]:
        """Fill the prompts with ``values`` and send them; ``requested`` is the length of the list."""
        first = request = Request(self.prompt.render(values), max_new_tokens=MAX_NEW_TOKENS)
        calls = cut = 0
        while True:
            calls += 1
            (reply,) = yield [request]
            cut = max(cut, reply.tokens_cut)
            texts = self._texts(reply)
            if texts or reply.error or calls > self.repairs:
                break
            request = self._after(request, reply.text, self.repair, values)
        if not texts:
            reason = self.prompt.verdict(reply, None, "default").reason
            return Generated([], reply.text, calls, reason, requested=requested, tokens_cut=cut)
        top_ups: list[str] = []
        known: dict[str, str] = {}
        for text in texts:
            known.setdefault(normalised_text(text), text)
        # Different entries count, because a model that repeats itself has not reached the number.
        while requested and len(known) < requested and len(top_ups) < self.top_ups:
            missing = {**values, "count": str(requested - len(known))}
            # From the first request: the conversation does not need replies without a list, and their repair.
            (more,) = yield [self._after(first, self._listed(known.values()), self.top_up, missing)]
            top_ups.append(more.text)
            new = {normalised_text(text): text for text in self._texts(more)}
            if new.keys() <= known.keys():  # the next request would be the same
                break
            fresh = {key: text for key, text in new.items() if key not in known}
            texts += fresh.values()
            known |= fresh
        return Generated(
            texts, reply.text, calls + len(top_ups), None, tuple(top_ups), requested, tokens_cut=cut
        )

    def _texts(self, reply: Completion) -> list[str]:
        """The entries that a reply lists; empty if the call failed."""
        return [] if reply.error else read_entries(reply.text, f"{self.kind}s") or []

    def _listed(self, texts: Iterable[str]) -> str:
        """The list so far, as a turn of the model."""
        return json.dumps({f"{self.kind}s": list(texts)}, ensure_ascii=False)

    def _after(self, request: Request, reply: str, prompt: Prompt, values: Mapping[str, str]) -> Request:
        """The request that continues a conversation after a reply of the model."""
        turn = Part(reply, slot="reply", may_be_cut=True, role="assistant")
        return Request((*request.parts, turn, *prompt.render(values)), (), MAX_NEW_TOKENS)


@dataclass(frozen=True)
class AnswerUnit:
    """A query to answer, and its contexts as pairs of passage id and text, best first."""

    query_id: str
    query_text: str
    contexts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class GeneratedAnswer:
    """The reply of a model as the text of an answer, or the ``reason`` why the text is empty.

    ``failed`` is True if there is no reply. ``tokens_cut`` is the number of tokens of the contexts that were
    truncated.
    """

    text: str
    reason: str | None = None
    failed: bool = False
    tokens_cut: int = 0


def generate_answer(
    prompt: Prompt, unit: AnswerUnit
) -> Generator[list[Request], list[Completion], GeneratedAnswer]:
    """Send the request, and read the reply without thinking text."""
    numbered = (f"[{number}] {' '.join(text.split())}" for number, (_, text) in enumerate(unit.contexts, 1))
    values = {"query": unit.query_text, CUT_SLOT: "\n".join(numbered)}
    (reply,) = yield [Request(prompt.render(values), max_new_tokens=MAX_NEW_TOKENS)]
    if reply.error:
        return GeneratedAnswer("", reply.error, failed=True)
    reason = prompt.parse(reply.text, None, "default").reason
    text = (without_thinking(reply.text) or "").strip()
    return GeneratedAnswer(text, reason, tokens_cut=reply.tokens_cut)
