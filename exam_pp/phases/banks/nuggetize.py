"""AutoNuggetizer: test banks of nuggets from relevant passages (Pradeep et al., 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from exam_pp.banks import BankLine, Nugget, entry_id
from exam_pp.errors import SelectionError
from exam_pp.graders.nuggetize import Nuggetizer, Nuggets, Segments
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.banks.generate import ModelSummary, answering, bank_info, nothing_written, prompt_info
from exam_pp.phases.banks.relevant_passages import Relevance, RelevantPassages, relevant_passages
from exam_pp.phases.grading.grading_run import Advance, GradeFiles, check_lists
from exam_pp.phases.grading.scheduler import Answer, Answerer, run_requests
from exam_pp.prompts import Prompt
from exam_pp.prompts.nuggets import IMPORTANCE
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.query_texts import stored_query_texts
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, noted


@dataclass(frozen=True)
class NuggetizeOptions:
    """Options: relevant passages, the nuggetizer, and the name of the collection that the bank stores."""

    relevance: Relevance = field(default_factory=Relevance)
    nuggetizer: Nuggetizer = field(default_factory=Nuggetizer)
    test_collection: str = ""
    max_queries: int | None = None


@dataclass
class NuggetizeSummary(ModelSummary):
    """Counts for the summary.

    ``windows`` counts windows by outcome, ``left_out`` listed nuggets that are dropped, by reason, and
    ``cut`` the nuggets beyond ``keep``. ``failed`` maps a query without nuggets to the reason.
    """

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
    for_editing: bool = False

    def add(self, nuggets: Nuggets) -> None:
        """Count the nuggets and windows of a query."""
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
        """The summary, line by line."""
        vital = "" if self.for_editing else f" ({self.vital} vital)"
        queries = counted(self.queries - len(self.failed), "query")
        yield (
            f"{counted(self.nuggets, 'nugget')}{vital} for {queries}, from "
            f"{counted(self.passages, 'passage')} in {counted(self.windows.total(), 'window')} "
            f"({counted(self.asked, 'model call')})."
        )
        kept = "{} without a list of nuggets; the previous list of the query was kept."
        yield from noted(self.windows["no list"], kept, "reply")
        for reason, count in self.errors.most_common():
            yield f"{counted(count, 'call')} failed ({reason}); the previous list of the query was kept."
        for reason, count in sorted(self.left_out.items()):
            yield f"Dropped: {counted(count, 'listed nugget')} ({reason})."
        yield from noted(self.cut, "Dropped: {} beyond --keep.", "nugget")
        unlabelled = "{} no importance, because its label could not be read."
        yield from noted(self.unlabelled, unlabelled, "nugget has", "nuggets have")
        shortened = "{} too long for the model, and the last passages were shortened."
        yield from noted(self.shortened, shortened, "window was", "windows were")
        yield from noted(self.without_text, "Skipped: {} without text.", "relevant passage")
        for query_id, reason in self.failed.items():
            yield f"No nuggets for {query_id!r}: {reason}."
        yield from self.written()


def nuggetizer_prompts(prompts: Iterable[Prompt]) -> dict[str, Any]:
    """The prompts as fields of :class:`Nuggetizer`; raises :class:`SelectionError` for other prompts."""
    fields: dict[str, Prompt] = {}
    for prompt in prompts:
        field_name = "importance" if prompt.parse is IMPORTANCE else "creation"
        if prompt.kind != "nuggetize":
            raise SelectionError(
                f"The prompt {prompt.name!r} does not make nuggets; it needs kind = 'nuggetize'."
            )
        if field_name in fields:
            raise SelectionError(
                f"The prompts {fields[field_name].name!r} and {prompt.name!r} have the same purpose; use one "
                "prompt with reading = 'nuggets' and one with reading = 'importance'."
            )
        fields[field_name] = prompt
    return fields


@dataclass(frozen=True)
class ImportanceModel:
    """The model that labels importance: its answers, its name and its settings."""

    answer: Answerer
    model: str
    provenance: Mapping[str, Any]


def importance_info(importance: ImportanceModel, prompt: Prompt) -> dict[str, Any]:
    """The record of the model and the prompt of importance in the ``info`` of a bank line."""
    return {
        "importance_model": importance.model,
        "importance_llm_options": dict(importance.provenance),
        "importance_prompt_info": prompt_info(prompt),
    }


def nuggetize(
    queries: Sequence[Segments],
    answer: Answer,
    *,
    model: str,
    provenance: Mapping[str, Any],
    options: NuggetizeOptions,
    summary: NuggetizeSummary | None = None,
) -> list[BankLine]:
    """Bank lines for the queries with nuggets, in input order; ``summary`` lists the queries without nuggets.

    The first windows of all queries are requested together, then the second windows, and so on. The ``info``
    of the lines has a record of every window.
    """
    counts = summary if summary is not None else NuggetizeSummary()
    counts.for_editing = options.nuggetizer.for_editing
    counts.queries += len(queries)
    lines = []
    nuggetizer = options.nuggetizer
    results = run_requests(map(nuggetizer.run, queries), answer)
    for query, nuggets in zip(queries, results, strict=True):
        counts.add(nuggets)
        if nuggets.nuggets:
            info = _info(query, nuggets, model, provenance, options)
            info["windows"] = [window.record() for window in nuggets.windows]
            lines.append(_line(query, nuggets, info, options))
        else:
            counts.failed[query.query_id] = _reason(query, nuggets, options.relevance)
    return lines


def _reason(query: Segments, nuggets: Nuggets, relevance: Relevance) -> str:
    if not query.passages and relevance.source == "all":
        return "no passage has a text"
    if not query.passages:
        return f"no passage has a judgment of {relevance.min_judgment} or more"
    errors = [window.error for window in nuggets.windows if window.error]
    return errors[0] if len(errors) == len(nuggets.windows) else "no reply lists a nugget"


def _info(
    query: Segments, nuggets: Nuggets, model: str, provenance: Mapping[str, Any], options: NuggetizeOptions
) -> dict[str, Any]:
    nuggetizer, relevance = options.nuggetizer, options.relevance
    info = bank_info(nuggetizer.creation, "nugget", model, provenance, options.test_collection)
    info["nuggetizer"] = {
        "judgments": relevance.source,
        **({"min_judgment": relevance.min_judgment} if relevance.source in ("human", "model") else {}),
        **(
            {"judge": relevance.judge, "judge_prompt": relevance.judge_prompt}
            if relevance.source == "model"
            else {}
        ),
        "ranking": relevance.ranking or "reciprocal rank fusion",
        "passages": len(query.passages),
        "window": nuggetizer.window_size or "all",
        "iterations": nuggetizer.iterations,
        "max_nuggets": nuggetizer.max_nuggets,
        **({} if nuggetizer.max_words is None else {"max_words": nuggetizer.max_words}),
        **(
            {"for_editing": True} if nuggetizer.for_editing else {"keep": nuggetizer.keep, "cut": nuggets.cut}
        ),
    }
    if not nuggetizer.for_editing:
        info["importance_prompt_info"] = prompt_info(nuggetizer.importance)
    if nuggets.unlabelled:
        info["unlabelled"] = nuggets.unlabelled
    return info


def _line(query: Segments, nuggets: Nuggets, info: dict[str, Any], options: NuggetizeOptions) -> BankLine:
    items = [
        Nugget(
            query_id=query.query_id,
            nugget_id=entry_id(query.query_id, text),
            nugget_text=text,
            **({} if importance is None else {"importance": importance}),
        )
        for text, importance in nuggets.nuggets
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
    advance: Advance = lambda _steps, _total: None,
) -> NuggetizeSummary:
    """Write a bank of nuggets for the queries of a passages file.

    ``files`` names the passages file and the file with the queries' texts. An interrupted run continues from
    its journal. The summary lists the queries without nuggets. Raises :class:`exam_pp.errors.ExamError`, for
    example if no query gets a nugget.
    """
    check_output(files.output, files.inputs)
    check_lists(model, [options.nuggetizer.creation])
    summary = NuggetizeSummary(output=str(files.output))
    options, queries = _read(files, options, summary)
    planned = sum(options.nuggetizer.count_windows(len(query.passages)) for query in queries)
    advance(0, planned)
    with answering(files, model, advance, summary) as (llm, answer):
        lines = nuggetize(
            queries,
            answer,
            model=llm.name,
            provenance=llm.provenance(),
            options=options,
            summary=summary,
        )
        advance(planned - summary.windows.total(), None)  # iterations that were not needed
        if not lines:
            what = f"nuggets for {counted(summary.queries, 'query')}"
            raise nothing_written(llm.name, what, summary.failed.values())
        write_bank(lines, files.output, inputs=files.inputs)
    return summary


def _read(
    files: GradeFiles, options: NuggetizeOptions, summary: NuggetizeSummary
) -> tuple[NuggetizeOptions, list[Segments]]:
    """The options with the model of the direct grades, and the queries with their relevant passages.

    Raises :class:`SelectionError` if no query has a text or a relevant passage.
    """
    if options.relevance.source == "references":
        return options, _references(files, options)
    texts = stored_query_texts(files.passages) if files.queries is None else read_query_texts(files.queries)
    source = files.queries or files.passages
    relevant = relevant_passages(
        islice(read_passages(files.passages), options.max_queries), options.relevance, str(files.passages)
    )
    summary.without_text = relevant.without_text
    known = {query_id: passages for query_id, passages in relevant.queries.items() if query_id in texts}
    for query_id in relevant.queries:
        if query_id not in texts:
            summary.failed[query_id] = f"{source} has no text for this query"
    summary.queries = len(summary.failed)
    if not known:
        raise SelectionError(
            f"{source} has no text for the queries in {files.passages}; name their texts with --queries."
        )
    _check_any(relevant, options, files)
    options = replace(options, relevance=replace(options.relevance, judge=relevant.judge))
    return options, [Segments(key, texts[key], passages) for key, passages in known.items()]


def _references(files: GradeFiles, options: NuggetizeOptions) -> list[Segments]:
    """The queries with their reference answers; raises :class:`SelectionError` for another bank."""
    bank = read_bank(files.passages)
    if not bank.has_references:
        raise SelectionError(
            f"{files.passages} has no reference answers: `exam-pp bank import` makes a bank of an export."
        )
    return [
        Segments(key, query.query_text, [(name, item.text) for name, item in query.entries.items()])
        for key, query in islice(bank.queries.items(), options.max_queries)
    ]


def _check_any(relevant: RelevantPassages, options: NuggetizeOptions, files: GradeFiles) -> None:
    if any(relevant.queries.values()):
        return
    if options.relevance.source == "all":
        raise SelectionError(f"{files.passages} has no passage with a text.")
    judged = counted(relevant.labelled, "passage has a judgment", "passages have a judgment")
    raise SelectionError(
        f"{files.passages} has no passage with a text and a judgment of at least "
        f"{options.relevance.min_judgment} ({judged}). Choose a lower --min-judgment."
    )
