"""AutoNuggets: a test bank of nuggets from the relevant passages of every query (Pradeep et al., 2024)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.errors import OutputError, SelectionError
from exam_pp.graders.nuggetize import Nuggetizer, Nuggets, Segments
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.banks.generate import bank_info
from exam_pp.phases.banks.relevant_passages import Relevance, RelevantPassages, relevant_passages
from exam_pp.phases.grading.grading_run import GradeFiles, check_lists, open_journal
from exam_pp.phases.grading.scheduler import Answer, Answerer, run_requests
from exam_pp.prompts.nuggets import NUGGET_CREATION, NUGGET_IMPORTANCE, PER_CALL
from exam_pp.store.banks.bank_json import write_bank
from exam_pp.store.files import STDIO, atomic_output, check_output
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_queries
from exam_pp.test_bank import BankLine, Nugget, entry_id
from exam_pp.wording import counted

Advance = Callable[[int, int | None], None]


@dataclass(frozen=True)
class NuggetizeOptions:
    """Which passages are relevant, how nuggets are made of them, and what the bank's records say."""

    relevance: Relevance = field(default_factory=Relevance)
    nuggetizer: Nuggetizer = field(default_factory=Nuggetizer)
    test_collection: str = ""
    description: str = ""
    max_queries: int | None = None


@dataclass
class NuggetizeSummary:
    """Counts for the closing lines; ``failed`` maps a query to the reason why it got no nuggets."""

    queries: int = 0
    nuggets: int = 0
    vital: int = 0
    passages: int = 0
    windows: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    unlabelled: int = 0
    shortened: int = 0
    without_text: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    for_editing: bool = False
    output: str = ""

    def add(self, nuggets: Nuggets) -> None:
        """Count what one query got."""
        for window in nuggets.windows:
            self.windows[window.outcome] += 1
            self.passages += len(window.passages)
            self.shortened += window.tokens_cut > 0
            self.left_out.update({reason: len(texts) for reason, texts in window.left_out.items()})
            self.errors.update([window.error] if window.error else [])
        self.nuggets += len(nuggets.nuggets)
        self.vital += sum(importance == "vital" for _, importance in nuggets.nuggets)
        self.cut += len(nuggets.cut)
        self.unlabelled += len(nuggets.unlabelled)

    def lines(self) -> Iterator[str]:
        """The closing summary for people."""
        vital = "" if self.for_editing else f", {self.vital} of them vital,"
        queries = counted(self.queries - len(self.failed), "query")
        yield (
            f"{counted(self.nuggets, 'nugget')}{vital} for {queries}, from "
            f"{counted(self.passages, 'passage')} in {counted(self.windows.total(), 'window')} "
            f"({counted(self.asked, 'model call')})."
        )
        if self.windows["no list"]:
            replies = counted(self.windows["no list"], "reply", "replies")
            yield f"{replies} held no list of nuggets: the list before was kept."
        for reason, count in self.errors.most_common():
            yield f"{counted(count, 'call')} failed ({reason}): the list before was kept."
        for reason, count in sorted(self.left_out.items()):
            yield f"{counted(count, 'listed nugget was', 'listed nuggets were')} left out: {reason}."
        if self.cut:
            cut = counted(self.cut, "nugget")
            yield f"{cut} beyond the number to keep: cut."
        if self.unlabelled:
            without = counted(self.unlabelled, "nugget has", "nuggets have")
            yield f"{without} no importance, as no label could be read."
        if self.shortened:
            long = counted(self.shortened, "window was", "windows were")
            yield f"{long} too long for the model: the last passages were shortened."
        if self.without_text:
            yield f"Relevant passages without text: {self.without_text}."
        for query_id, reason in self.failed.items():
            yield f"No nuggets for {query_id}: {reason}."
        if self.output != STDIO:
            yield f"Written: {self.output}"


def nuggetize(
    queries: Sequence[Segments],
    answer: Answer,
    *,
    model: str,
    provenance: Mapping[str, Any],
    options: NuggetizeOptions,
    summary: NuggetizeSummary | None = None,
    trace: list[dict[str, Any]] | None = None,
) -> list[BankLine]:
    """Bank lines for the queries that got nuggets, in input order; the others are in ``summary``.

    All queries go forward side by side: the first windows of all are asked together, then the second ones.
    What every window did is recorded in ``trace``; without one, in the lines' ``info``.
    """
    counts = summary if summary is not None else NuggetizeSummary()
    counts.for_editing = options.nuggetizer.for_editing
    counts.queries += len(queries)
    lines = []
    for query, found in zip(queries, run_requests(map(options.nuggetizer.run, queries), answer), strict=True):
        counts.add(found)
        windows = [window.record() for window in found.windows]
        if trace is not None:
            trace += [{"query_id": query.query_id, "window": n} | w for n, w in enumerate(windows, 1)]
        if found.nuggets:
            info = _info(query, found, model, provenance, options)
            kept = {} if trace is not None else {"windows": windows}
            lines.append(_line(query, found, info | kept, options))
        else:
            counts.failed[query.query_id] = _reason(query, found, options.relevance)
    return lines


def _reason(query: Segments, found: Nuggets, relevance: Relevance) -> str:
    if not query.passages:
        return f"no passage is judged {relevance.min_judgment} or better"
    errors = [window.error for window in found.windows if window.error]
    return errors[0] if len(errors) == len(found.windows) else "no reply listed any"


def _info(
    query: Segments, found: Nuggets, model: str, provenance: Mapping[str, Any], options: NuggetizeOptions
) -> dict[str, Any]:
    how, relevance = options.nuggetizer, options.relevance
    info = bank_info(
        NUGGET_CREATION, "nugget", model, provenance, options.test_collection, options.description
    )
    info["nuggetizer"] = {
        "judgments": relevance.source,
        "min_judgment": relevance.min_judgment,
        **({"judge": relevance.judge} if relevance.judge else {}),
        "ranking": relevance.ranking or "reciprocal rank fusion",
        "passages": len(query.passages),
        "window": PER_CALL,
        "max_nuggets": how.max_nuggets,
        "max_words": how.max_words,
        **({"for_editing": True} if how.for_editing else {"keep": how.keep, "cut": found.cut}),
    }
    if not how.for_editing:
        info["importance_prompt_info"] = {
            "prompt_class": NUGGET_IMPORTANCE.name,
            "prompt_version": NUGGET_IMPORTANCE.version,
            "prompt_hash": NUGGET_IMPORTANCE.hash,
        }
    if found.unlabelled:
        info["unlabelled"] = found.unlabelled
    return info


def _line(query: Segments, found: Nuggets, info: dict[str, Any], options: NuggetizeOptions) -> BankLine:
    items = [
        Nugget(
            query_id=query.query_id,
            nugget_id=entry_id(query.query_id, text),
            nugget_text=text,
            **({} if importance is None else {"importance": importance}),
        )
        for text, importance in found.nuggets
    ]
    return BankLine(
        query_id=query.query_id,
        test_collection=options.test_collection,
        query_text=query.query_text,
        info=info,
        items=items,
    )


def nuggetize_file(
    files: GradeFiles,
    model: ModelOptions,
    options: NuggetizeOptions,
    *,
    trace: Path | None = None,
    advance: Advance = lambda _steps, _total: None,
) -> NuggetizeSummary:
    """Write a bank of nuggets for the queries of a passages file; ``files`` name it and the queries' texts.

    A run that was interrupted continues from its journal. Queries without nuggets are listed in the summary,
    and the others are written. Raises :class:`exam_pp.errors.ExamError`, also where no query got any.
    """
    check_output(files.output, files.inputs)
    if trace is not None:
        check_output(trace, files.inputs)
        if trace.resolve() == files.output.resolve():
            raise OutputError(f"{trace} is the output: name another file with --trace.")
    check_lists(model, [NUGGET_CREATION])
    summary = NuggetizeSummary(output=str(files.output))
    options, queries = _read(files, options, summary)
    advance(0, sum(-(-len(query.passages) // PER_CALL) for query in queries))
    llm = load_llm(model)
    traced: list[dict[str, Any]] | None = None if trace is None else []
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        lines = nuggetize(
            queries,
            answer,
            model=llm.name,
            provenance=llm.provenance(),
            options=options,
            summary=summary,
            trace=traced,
        )
        summary.asked = answer.asked
        if not lines:
            reason, count = Counter(summary.failed.values()).most_common(1)[0]
            raise SelectionError(
                f"The model {llm.name!r} gave no nuggets for {counted(summary.queries, 'query')}; "
                f"{counted(count, 'time')}: {reason}."
            )
        if trace is not None:
            _write_trace(traced or [], trace, files)
        write_bank(lines, files.output, inputs=files.inputs)
    return summary


def _read(
    files: GradeFiles, options: NuggetizeOptions, summary: NuggetizeSummary
) -> tuple[NuggetizeOptions, list[Segments]]:
    """The options with the judge that was found, and the queries with their relevant passages.

    Raises :class:`SelectionError` if no query has any.
    """
    texts = {} if files.queries is None else read_queries(files.queries)
    found = relevant_passages(
        islice(read_passages(files.passages), options.max_queries), options.relevance, str(files.passages)
    )
    summary.without_text = found.without_text
    known = {query_id: passages for query_id, passages in found.queries.items() if query_id in texts}
    for query_id in found.queries:
        if query_id not in texts:
            summary.failed[query_id] = f"{files.queries} has no text for it"
    summary.queries = len(summary.failed)
    if not known:
        raise SelectionError(f"None of the queries in {files.passages} has a text in {files.queries}.")
    _check_any(found, options, files)
    options = replace(options, relevance=replace(options.relevance, judge=found.judge))
    return options, [Segments(key, texts[key].query_text, passages) for key, passages in known.items()]


def _check_any(found: RelevantPassages, options: NuggetizeOptions, files: GradeFiles) -> None:
    if not any(found.queries.values()):
        raise SelectionError(
            f"No passage in {files.passages} is judged {options.relevance.min_judgment} or better "
            f"({found.labelled} are judged): see --min-judgment."
        )


def _write_trace(windows: Iterable[Mapping[str, Any]], path: Path, files: GradeFiles) -> None:
    with atomic_output(path, inputs=files.inputs) as stream:
        for window in windows:
            stream.write(json.dumps(window, ensure_ascii=False).encode() + b"\n")
