"""Generation of queries: a model writes the questions that users may ask about parts of documents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.banks import normalised_text
from exam_pp.data_model import QueryPassages
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Source, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.graders.generation import TOP_UPS, Generated, ListRequester
from exam_pp.llm.base import ModelOptions
from exam_pp.metrics.duplicates import SeenTexts
from exam_pp.phases.banks.generate import ListSummary, answering, nothing_written, prompt_info
from exam_pp.phases.grading.grading_run import Advance, GradeFiles
from exam_pp.phases.grading.scheduler import Answer, run_requests
from exam_pp.phases.passages.sample import random_key
from exam_pp.prompts.base import CUT_SLOT, Prompt
from exam_pp.prompts.generation import (
    EXAMPLES_SLOT,
    PUBLISHED_COUNT,
    QUERIES,
    QUERIES_FEW_SHOT,
    QUERIES_TOP_UP,
    QUESTIONS_REPAIR,
    requests_number,
    shows_user_queries,
)
from exam_pp.roles import is_part_of_answer
from exam_pp.store.files import check_output
from exam_pp.store.trec.queries import GeneratedQuery, Query, read_queries, write_query_lines
from exam_pp.store.trec.texts import read_texts
from exam_pp.text.sentences import sentences
from exam_pp.text.wording import counted, noted

WINDOW_TOKENS = 2000
"""The length of a window in the paper: up to ten pages, about 2000 tokens."""

_ONLY_DUPLICATES = "the reply has only duplicates"


@dataclass(frozen=True)
class QueryOptions:
    """Options of the generation.

    ``window_tokens``: Maximum length of a window in tokens, see
    :func:`~exam_pp.phases.banks.generate_queries.count_tokens`. ``max_windows``: Number of windows to draw
    from all documents; None for all. ``examples``: File of queries of users that the prompt shows; None for
    no examples. ``prompts``: A prompt that replaces that of exam_pp; empty or a single one. ``repairs``:
    Number of further attempts after a reply without a list.
    """

    per_window: int = PUBLISHED_COUNT
    window_tokens: int = WINDOW_TOKENS
    max_windows: int | None = None
    seed: int = 0
    examples: Path | None = None
    pool: Sequence[Path] = ()
    prompts: Sequence[Prompt] = ()
    repairs: int = 1
    top_ups: int = TOP_UPS

    def prompt(self) -> Prompt:
        """The prompt; raises :class:`SelectionError` if it does not fit the options."""
        if not self.prompts:
            return QUERIES if self.examples is None else QUERIES_FEW_SHOT
        prompt, *others = self.prompts
        if others:
            raise SelectionError("generate queries uses one prompt, so name a single --prompt-file.")
        if prompt.kind != "query":
            raise SelectionError(
                f"The prompt {prompt.name!r} does not write queries; it needs kind = 'query'."
            )
        if shows_user_queries(prompt) and self.examples is None:
            raise SelectionError(
                f"The prompt {prompt.name!r} has the placeholder {{{EXAMPLES_SLOT}}}; name a file of queries "
                "with --queries."
            )
        if self.examples is not None and not shows_user_queries(prompt):
            raise SelectionError(
                f"The prompt {prompt.name!r} has no placeholder {{{EXAMPLES_SLOT}}} for the queries of "
                "--queries."
            )
        return prompt


@dataclass
class QueriesSummary(ListSummary):
    """Counts for the summary.

    ``queries`` counts new queries, ``pooled`` those of other files, and ``asked`` model calls. ``duplicates``
    repeat another query or an example, or nearly so. ``shortened`` counts windows that were too long for the
    model. ``failed`` maps a window without queries to the reason.
    """

    documents: int = 0
    windows: int = 0
    all_windows: int = 0
    queries: int = 0
    pooled: int = 0
    duplicates: int = 0
    shortened: int = 0
    failed: dict[Window, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.queries, 'query')} from {counted(self.windows, 'window')} of "
            f"{counted(self.documents, 'document')} ({counted(self.asked, 'model call')})."
        )
        if self.windows < self.all_windows:
            yield f"Drawn: {self.windows} of {counted(self.all_windows, 'window')}."
        yield from noted(self.pooled, "Pooled: {} of other files.", "query")
        yield from self.asked_again("queries")
        yield from noted(
            self.duplicates, "Dropped: {} that repeat another one or an example, or nearly so.", "query"
        )
        shortened = "{} too long for the model and shortened; use a lower -S window-tokens."
        yield from noted(self.shortened, shortened, "window was", "windows were")
        for window, reason in self.failed.items():
            span = f"characters {window.start} to {window.end}"
            yield f"No queries from {window.document_id!r} ({span}): {reason}."
        yield from self.written()


def query_id(text: str) -> str:
    """The id of a generated query: ``q`` and twelve digits of the SHA-256 of its normalised text.

    Ids depend on nothing else, so files of several models can be pooled.
    """
    return "q" + hashlib.sha256(normalised_text(text).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def generate_queries(
    windows: Sequence[Window],
    answer: Answer,
    *,
    model: str,
    provenance: Mapping[str, Any],
    options: QueryOptions,
    examples: Iterable[str] = (),
    pool: Iterable[Query] = (),
    summary: QueriesSummary | None = None,
) -> list[Query]:
    """The queries of ``pool`` and then those that a model writes about the windows, without near duplicates.

    A query that repeats an earlier one or an example is dropped. Texts with different numbers, such as those
    of products, are no duplicates. ``summary`` lists the windows without queries.

    Source: Rackauckas et al., "Evaluating RAG-Fusion with RAGElo", LLM4Eval 2024, section 4.
    """
    counts = summary if summary is not None else QueriesSummary()
    counts.windows = len(windows)
    counts.documents = len({window.document_id for window in windows})
    prompt = options.prompt()
    requester = ListRequester(
        "question",
        prompt,
        prompt.repaired_by(QUESTIONS_REPAIR),
        QUERIES_TOP_UP,
        options.repairs,
        options.top_ups,
    )
    examples = [" ".join(text.split()) for text in examples]
    shared = {"count": str(options.per_window), EXAMPLES_SLOT: "\n".join(f"- {text}" for text in examples)}
    requested = options.per_window if requests_number(prompt) else None
    results = run_requests(
        (requester.run({**shared, CUT_SLOT: window.text.strip()}, requested) for window in windows), answer
    )
    queries = _Collected(counts)
    for number, text in enumerate(examples):
        queries.seen.add(f"example {number}", text)  # ids of queries have no blank
    for query in pool:
        counts.pooled += queries.add(query)
    record = {"model": model, "prompt_info": prompt_info(prompt), "llm_options": dict(provenance)}
    for window, result in zip(windows, results, strict=True):
        fresh = list(_fresh(window, result, record, queries, options.per_window))
        if not fresh:
            counts.failed[window] = result.reason or _ONLY_DUPLICATES
        counts.queries += len(fresh)
    return queries.kept


@dataclass
class _Collected:
    """The queries so far, and their texts and those of the examples."""

    counts: QueriesSummary
    kept: list[Query] = field(default_factory=list)
    seen: SeenTexts = field(default_factory=SeenTexts)

    def add(self, query: Query) -> bool:
        """Add a query unless it repeats another one or an example; returns whether it was added."""
        if self.seen.duplicate_of(query.query_text) is not None:
            self.counts.duplicates += 1
            return False
        self.kept.append(query)
        self.seen.add(query.query_id, query.query_text)
        return True


def _fresh(
    window: Window, result: Generated, record: Mapping[str, Any], queries: _Collected, limit: int
) -> Iterator[Query]:
    """The new queries of a reply, which are added to ``queries``."""
    counts = queries.counts
    counts.repaired += result.repaired
    counts.topped_up += bool(result.top_ups)
    counts.shortened += result.tokens_cut > 0
    for text in result.texts[:limit]:
        query = GeneratedQuery(
            query_id=query_id(text),
            query_text=text,
            **record,
            document_id=window.document_id,
            start=window.start,
            end=window.end,
        )
        if queries.add(query):
            yield query


def generate_queries_file(
    documents: Path,
    output: Path,
    model: ModelOptions,
    options: QueryOptions,
    *,
    journal: Path | None = None,
    retry_failed: bool = False,
    advance: Advance = lambda _steps, _total: None,
) -> QueriesSummary:
    """Write queries about the documents of a file as JSON lines; an interrupted run continues.

    Raises :class:`exam_pp.errors.ExamError`, for example if no document gets a query.
    """
    files = GradeFiles(documents, output, None, journal, retry_failed, queries=options.examples)
    inputs = [*files.inputs, *options.pool]
    check_output(output, inputs)
    options.prompt()  # an unsuitable prompt is refused before anything is read
    texts = read_documents(documents)
    every = all_windows(texts, options.window_tokens)
    if not every:
        raise DataError("has no passage texts.", file=str(documents))
    windows = _drawn(every, options)
    examples = (
        [query.query_text for query in read_queries(options.examples).values()] if options.examples else []
    )
    pool = _pooled(options.pool)
    summary = QueriesSummary(output=str(output), all_windows=len(every))
    advance(0, len(windows))
    with answering(files, model, advance, summary) as (llm, answer):
        queries = generate_queries(
            windows, answer, model=llm.name, provenance=llm.provenance(), options=options,
            examples=examples, pool=pool, summary=summary,
        )  # fmt: skip
        if not summary.queries:
            what = f"queries for {counted(len(windows), 'window')}"
            raise nothing_written(llm.name, what, summary.failed.values())
        write_query_lines(queries, output, inputs=inputs)
    return summary


def _drawn(windows: Sequence[Window], options: QueryOptions) -> list[Window]:
    """A random sample of the windows, in their order; it depends only on the seed and the windows."""
    by_chance = sorted(windows, key=lambda each: random_key(options.seed, each.document_id, str(each.start)))
    chosen = set(by_chance[: options.max_windows])
    return [window for window in windows if window in chosen]


def _pooled(files: Iterable[Path]) -> list[Query]:
    """The queries of several files; raises :class:`DataError` for an id with two different texts."""
    queries: dict[str, Query] = {}
    for file in files:
        for query in read_queries(file).values():
            known = queries.setdefault(query.query_id, query)
            if normalised_text(known.query_text) != normalised_text(query.query_text):
                raise DataError(
                    f"the query id {query.query_id!r} has another text in an earlier file of --pool.",
                    file=str(file),
                )
    return list(queries.values())


# A Chinese, Japanese or Korean character, a piece of a word, or another sign.
_TOKEN = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W぀-ヿ㐀-鿿가-힯]{1,8}|[^\w\s]")


class Window(NamedTuple):
    """A stretch of a document, from the character ``start`` up to ``end``, which does not belong to it."""

    document_id: str
    start: int
    end: int
    text: str


def count_tokens(text: str) -> int:
    """The approximate number of tokens, independent of a model.

    A token is a sign, a Chinese, Japanese or Korean character, or up to eight characters of a word. English
    texts have about as many tokens for language models.
    """
    return sum(1 for _ in _TOKEN.finditer(text))


def windows_of(document_id: str, text: str, limit: int) -> Iterator[Window]:
    """Divide a document into windows of at most ``limit`` tokens (:func:`count_tokens`).

    The windows have about equal length, so that the last is not much shorter. They end with sentences;
    sentences longer than a window are divided. Documents without tokens have no windows.
    """
    pieces = list(_pieces(text, limit))
    total = sum(count for _, count in pieces)
    if not total:
        return
    share = total / ceil(total / limit)
    start = end = done = tokens = 0
    goal = share
    for piece_end, count in pieces:
        if tokens and (tokens + count > limit or done + count / 2 > goal):
            yield Window(document_id, start, end, text[start:end])
            start, tokens, goal = end, 0, goal + share
        end, tokens, done = piece_end, tokens + count, done + count
    if tokens:
        yield Window(document_id, start, len(text), text[start:])


def _pieces(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """The ends and tokens of sentences, of which those longer than a window are divided."""
    position = 0
    for sentence in sentences(text):
        ends = [match.end() for match in _TOKEN.finditer(sentence)]
        for first in range(limit, len(ends), limit):
            yield position + ends[first - 1], limit
        position += len(sentence)
        yield position, len(ends) % limit or min(len(ends), limit)


def read_documents(path: Path) -> dict[str, str]:
    """Read document texts by id, in file order."""
    form = known_format(path)
    if form is None or form.content != "passages" or form.read is None:
        return read_texts(path, None)
    return _texts(form.read(Source(path, DroppedFields())), path)


def _texts(queries: Iterable[QueryPassages], path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for query in queries:
        for passage in query.passages:
            if is_part_of_answer(passage):
                continue
            if texts.setdefault(passage.passage_id, passage.text) != passage.text:
                raise DataError(
                    f"the passage {passage.passage_id!r} occurs twice, with different texts.", file=str(path)
                )
    if not any(text.strip() for text in texts.values()):
        raise DataError("has no passage texts.", file=str(path))
    return texts


def all_windows(documents: Mapping[str, str], limit: int) -> list[Window]:
    """The windows of all documents, in order."""
    return [window for key, text in documents.items() for window in windows_of(key, text, limit)]
