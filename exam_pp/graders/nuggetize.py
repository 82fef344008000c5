"""AutoNuggetizer: nuggets of a query from windows of passages, and their importance.

Source: Pradeep et al., Initial Nugget Evaluation Results for the TREC 2024 RAG Track, 2024, section 3.1.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from exam_pp.graders.listwise import MAX_NEW_TOKENS as MAX_LABEL_TOKENS
from exam_pp.graders.listwise import REPAIRS, as_list, label_in_batches
from exam_pp.prompts.base import CUT_SLOT, Prompt
from exam_pp.prompts.entry_list import plain_label, read_entries, read_labels
from exam_pp.prompts.nuggets import LIST_SLOT, NUGGET_CREATION, NUGGET_IMPORTANCE, PER_CALL
from exam_pp.requests import Completion, Request
from exam_pp.test_bank import normalised_text

MAX_NUGGETS = 30
KEPT_NUGGETS = 20
MAX_WORDS = 12
MAX_NEW_TOKENS = 1024
"""Enough for the list: thirty nuggets of twelve words take about 600 tokens."""

Outcome = Literal["list", "no list", "failed"]


@dataclass(frozen=True)
class Segments:
    """The relevant passages of a query as pairs of id and text, best first."""

    query_id: str
    query_text: str
    passages: Sequence[tuple[str, str]]


@dataclass
class Window:
    """The list of nuggets after one call.

    ``left_out`` maps a reason to the listed texts that were dropped for this reason. If the outcome is
    ``no list`` or ``failed``, ``nuggets`` is the list before the call.
    """

    passages: list[str]
    outcome: Outcome
    nuggets: list[str]
    reply: str = ""
    error: str | None = None
    tokens_cut: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The window as a JSON object without empty values."""
        return {key: value for key, value in vars(self).items() if value or key == "nuggets"}


@dataclass(frozen=True)
class Nuggets:
    """The nuggets of a query with their importance, and the windows that they come from.

    The importance is None if the model was not asked, or if its label could not be read; then ``unlabelled``
    maps the nugget to the reason. ``cut`` are the nuggets beyond the number to keep.
    """

    nuggets: list[tuple[str, str | None]]
    windows: list[Window]
    cut: list[str] = field(default_factory=list)
    unlabelled: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Nuggetizer:
    """Lists at most ``max_nuggets`` nuggets of ``max_words`` words, labels their importance, keeps ``keep``.

    ``creation`` and ``importance`` are the prompts. With ``for_editing`` nuggets get no importance and all
    are kept, for an editor to revise (section 3.2).
    """

    max_nuggets: int = MAX_NUGGETS
    keep: int = KEPT_NUGGETS
    max_words: int = MAX_WORDS
    for_editing: bool = False
    repairs: int = REPAIRS
    creation: Prompt = NUGGET_CREATION
    importance: Prompt = NUGGET_IMPORTANCE

    def run(self, segments: Segments) -> Generator[list[Request], list[Completion], Nuggets]:
        """Update the list with each window of ten segments, then label importance, ten nuggets in a call."""
        nuggets: list[str] = []
        windows: list[Window] = []
        for start in range(0, len(segments.passages), PER_CALL):
            window = segments.passages[start : start + PER_CALL]
            (reply,) = yield [self._creation(segments.query_text, window, nuggets)]
            windows.append(self._updated([passage_id for passage_id, _ in window], reply, nuggets))
            nuggets = windows[-1].nuggets
        if self.for_editing or not nuggets:
            return Nuggets([(nugget, None) for nugget in nuggets], windows)
        labels = yield from label_in_batches(
            nuggets, lambda chunk: self._importance(segments.query_text, chunk), self.importance, self.repairs
        )
        return self._ordered(nuggets, labels, windows)

    def _creation(self, query: str, window: Sequence[tuple[str, str]], nuggets: Sequence[str]) -> Request:
        numbered = (f"[{number}] {' '.join(text.split())}" for number, (_, text) in enumerate(window, 1))
        values = {
            "count": str(self.max_nuggets),
            "query": query,
            CUT_SLOT: "\n\n".join(numbered),
            LIST_SLOT: as_list(nuggets),
            "length": str(len(nuggets)),
        }
        return Request(self.creation.render(values), max_new_tokens=MAX_NEW_TOKENS)

    def _importance(self, query: str, nuggets: Sequence[str]) -> Request:
        values = {"count": str(len(nuggets)), "query": query, LIST_SLOT: as_list(nuggets)}
        return Request(self.importance.render(values), max_new_tokens=MAX_LABEL_TOKENS, pairs=0)

    def _updated(self, passages: list[str], reply: Completion, before: list[str]) -> Window:
        if reply.error is not None:
            return Window(passages, "failed", before, reply.text, reply.error)
        texts = read_entries(reply.text, "nuggets")
        if not texts and not before and read_labels(reply.text) == []:  # the reply is an empty list
            return Window(passages, "list", [], reply.text, tokens_cut=reply.tokens_cut)
        kept, left_out = self._select(texts or [])
        outcome: Outcome = "list" if kept else "no list"
        return Window(
            passages, outcome, kept or before, reply.text, tokens_cut=reply.tokens_cut, left_out=left_out
        )

    def _select(self, texts: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
        """Split texts into new nuggets within both limits, and dropped texts by reason."""
        kept: dict[str, str] = {}
        left_out: dict[str, list[str]] = {}
        for text in texts:
            key = normalised_text(text)
            if len(text.split()) > self.max_words:
                left_out.setdefault("too long", []).append(text)
            elif key in kept:
                left_out.setdefault("repeated", []).append(text)
            elif len(kept) == self.max_nuggets:
                left_out.setdefault("beyond the cap", []).append(text)
            else:
                kept[key] = text
        return list(kept.values()), left_out

    def _ordered(self, nuggets: list[str], labels: list[Completion], windows: list[Window]) -> Nuggets:
        """Sort nuggets: vital, okay, unknown; the model's order by importance breaks ties."""
        importance: dict[str, str | None] = {}
        unlabelled: dict[str, str] = {}
        for nugget, label in zip(nuggets, labels, strict=True):
            reason = label.error or self.importance.parse(label.text, None, "default").reason
            importance[nugget] = None if reason else plain_label(label.text)
            if reason:
                unlabelled[nugget] = f"{reason}: {label.text}" if label.text else reason
        order = sorted(nuggets, key=lambda nugget: _ORDER.get(importance[nugget] or "", len(_ORDER)))
        return Nuggets(
            [(nugget, importance[nugget]) for nugget in order[: self.keep]],
            windows,
            order[self.keep :],
            unlabelled,
        )


_ORDER = {"vital": 0, "okay": 1}
