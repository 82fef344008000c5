"""AutoNuggetizer: nuggets of a query from windows of passages, and their importance.

Source: Pradeep et al., Initial Nugget Evaluation Results for the TREC 2024 RAG Track, 2024, section 3.1.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from exam_pp.graders.listwise import MAX_NEW_TOKENS as MAX_LABEL_TOKENS
from exam_pp.graders.listwise import REPAIRS, as_list, label_in_batches
from exam_pp.llm_requests import Completion, Request
from exam_pp.prompts.base import CUT_SLOT, Prompt
from exam_pp.prompts.entry_list import plain_label, read_entries, read_labels
from exam_pp.prompts.nuggets import LIST_SLOT, NUGGET_CREATION, NUGGET_IMPORTANCE, PER_CALL

MAX_NUGGETS = 30
KEPT_NUGGETS = 20
MAX_WORDS = 12
"""The number of words that the prompt allows; it is not enforced by default."""
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
class NuggetList:
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
    windows: list[NuggetList]
    cut: list[str] = field(default_factory=list)
    unlabelled: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Nuggetizer:
    """Lists at most ``max_nuggets`` nuggets, labels their importance, keeps ``keep``.

    The list is updated with ``window_size`` segments at a time, or with all at once if it is None. Up to
    ``iterations`` times, all segments are read; the reading ends early if the list is full or unchanged.
    ``max_words`` drops longer nuggets, which the paper does not. ``creation`` and ``importance`` are the
    prompts. ``of_references``: A passage is a reference answer, and one without nuggets, such as "the manual
    does not say", is a nugget itself. With ``for_editing`` nuggets get no importance and all are kept, for an
    editor to revise (section 3.2).
    """

    max_nuggets: int = MAX_NUGGETS
    keep: int = KEPT_NUGGETS
    max_words: int | None = None
    window_size: int | None = PER_CALL
    iterations: int = 1
    for_editing: bool = False
    of_references: bool = False
    repairs: int = REPAIRS
    creation: Prompt = NUGGET_CREATION
    importance: Prompt = NUGGET_IMPORTANCE

    def count_windows(self, passages: int) -> int:
        """The maximum number of windows for a number of passages."""
        return self.iterations * -(-passages // (self.window_size or passages or 1))

    def run(self, segments: Segments) -> Generator[list[Request], list[Completion], Nuggets]:
        """List nuggets, then label their importance."""
        listed = yield from self.create(segments)
        return (yield from self.label(segments.query_text, listed))

    def create(self, segments: Segments) -> Generator[list[Request], list[Completion], Nuggets]:
        """Update the list of nuggets with each window; the nuggets have no importance yet."""
        nuggets: list[str] = []
        windows: list[NuggetList] = []
        size = self.window_size or len(segments.passages) or 1
        starts = range(0, len(segments.passages), size)
        for _ in range(self.iterations):
            before = nuggets
            for start in starts:
                window = segments.passages[start : start + size]
                (reply,) = yield [self._creation(segments.query_text, window, nuggets)]
                windows.append(self._updated([passage_id for passage_id, _ in window], reply, nuggets))
                nuggets = windows[-1].nuggets
            # With an unchanged list, the next iteration would repeat the same requests.
            if len(nuggets) >= self.max_nuggets or nuggets == before:
                break
        if self.of_references and not any(window.nuggets or window.error for window in windows):
            nuggets = [text for _, text in segments.passages]
        return Nuggets([(nugget, None) for nugget in nuggets], windows)

    def label(self, query: str, listed: Nuggets) -> Generator[list[Request], list[Completion], Nuggets]:
        """Label the importance of nuggets, sort them (vital, okay, unknown) and keep the first ones.

        The model's order by importance breaks ties.
        """
        texts = [text for text, _ in listed.nuggets]
        if self.for_editing or not texts:
            return listed
        labels = yield from label_importance(query, texts, self.importance, self.repairs)
        order = sorted(zip(texts, labels, strict=True), key=lambda pair: importance_order(pair[1].label))
        return Nuggets(
            [(text, importance.label) for text, importance in order[: self.keep]],
            listed.windows,
            [text for text, _ in order[self.keep :]],
            {text: importance.reason for text, importance in order if importance.reason},
        )

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

    def _updated(self, passages: list[str], reply: Completion, before: list[str]) -> NuggetList:
        if reply.error is not None:
            return NuggetList(passages, "failed", before, reply.text, reply.error)
        texts = read_entries(reply.text, "nuggets")
        if not texts and not before and read_labels(reply.text) == []:  # the reply is an empty list
            return NuggetList(passages, "list", [], reply.text, tokens_cut=reply.tokens_cut)
        kept, left_out = self._select(texts or [])
        outcome: Outcome = "list" if kept else "no list"
        return NuggetList(
            passages, outcome, kept or before, reply.text, tokens_cut=reply.tokens_cut, left_out=left_out
        )

    def _select(self, texts: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
        """Split texts into new nuggets within the limits, and dropped texts by reason."""
        kept: list[str] = []
        left_out: dict[str, list[str]] = {}
        for text in texts:
            if self.max_words is not None and len(text.split()) > self.max_words:
                left_out.setdefault("too long", []).append(text)
            elif len(kept) == self.max_nuggets:
                left_out.setdefault("beyond the cap", []).append(text)
            else:
                kept.append(text)
        return kept, left_out


@dataclass(frozen=True)
class Importance:
    """The importance of an entry, ``vital`` or ``okay``; if it is None, ``reason`` says why."""

    label: str | None
    reason: str = ""


def label_importance(
    query: str,
    texts: Sequence[str],
    prompt: Prompt = NUGGET_IMPORTANCE,
    repairs: int = REPAIRS,
    *,
    count_pairs: bool = False,
) -> Generator[list[Request], list[Completion], list[Importance]]:
    """Label the importance of texts for a query, ten in a call; the labels are in the order of the texts.

    With ``count_pairs``, the requests count for the progress of a run.
    """

    def ask(chunk: Sequence[str]) -> Request:
        values = {"count": str(len(chunk)), "query": query, LIST_SLOT: as_list(chunk)}
        pairs = len(chunk) if count_pairs else 0
        return Request(prompt.render(values), max_new_tokens=MAX_LABEL_TOKENS, pairs=pairs)

    labels = yield from label_in_batches(texts, ask, prompt, repairs)
    return [_importance(label, prompt) for label in labels]


def _importance(label: Completion, prompt: Prompt) -> Importance:
    reason = prompt.verdict(label, None, "default").reason
    if reason is None:
        return Importance(plain_label(label.text))
    return Importance(None, f"{reason}: {label.text}" if label.text else reason)


def importance_order(label: str | None) -> int:
    """Sort key of an importance: vital, okay, then unknown."""
    return {"vital": 0, "okay": 1}.get(label or "", 2)
