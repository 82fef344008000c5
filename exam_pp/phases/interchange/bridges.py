"""Conversion of files between formats, and of their contents, such as passages to qrels, runs or answers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from exam_pp.banks import BankLine, TestBank
from exam_pp.data_model import BeyondPool, QueryPassages, QueryView, Role
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import FORMATS, Content, Format, Source, Target, all_formats, format_of
from exam_pp.formats.dropped_fields import (
    DroppedFields,
    count_dropped_bank_fields,
    count_dropped_passage_fields,
    count_dropped_ranking_fields,
)
from exam_pp.formats.trec import Runs
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.interchange.answer_units import Unit
from exam_pp.results import OVERALL_SYSTEM, Qrel, RunLine, Score, best_first
from exam_pp.roles import choose_role, outputs_of
from exam_pp.store.files import check_output, write_text
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.store.trec.queries import Facet, Query, read_query_texts
from exam_pp.store.trec.runs import MethodName, run_files


@dataclass(frozen=True)
class Conversion:
    """A conversion of ``source`` to ``target``.

    ``source_format`` is detected from the content if None. ``unit`` is the part of an answer that becomes a
    passage, and ``measure`` the measure of official ranks. ``contexts`` is a passages file with the
    passages for Open RAG Eval. ``queries`` is a file of query texts, for sources
    without them.

    Of a passages file, only the rankings of ``role`` and ``systems`` (empty: all) and the grades that
    ``grades`` accepts are written. ``bank`` has the nuggets of assignments.
    """

    source: Path
    target: Path
    target_format: str
    source_format: str | None = None
    unit: Unit = "sentence"
    measure: str | None = None
    method_name: MethodName = "stem"
    contexts: Path | None = None
    queries: Path | None = None
    role: Role | None = None
    systems: Sequence[str] = ()
    bank: Path | None = None
    grades: GradeFilter = field(default_factory=GradeFilter)

    @property
    def inputs(self) -> list[Path]:
        """All input files."""
        files = run_files(self.source) if self.source.is_dir() else [self.source]
        return [*files, *(path for path in (self.contexts, self.queries, self.bank) if path is not None)]

    @cached_property
    def query_texts(self) -> Mapping[str, str]:
        """Query id to text, from the file of queries."""
        return {} if self.queries is None else read_query_texts(self.queries)


Bridge = Callable[[Any, DroppedFields, Conversion], Any]


def _counting_dropped(
    queries: Iterable[QueryPassages], keeps: frozenset[str], dropped: DroppedFields
) -> Iterator[QueryPassages]:
    """Yield the queries; count the fields that are not in ``keeps``."""
    for query in queries:
        count_dropped_passage_fields(query, keeps, dropped)
        yield query


def _passages_to_qrels(
    queries: Iterable[QueryPassages], dropped: DroppedFields, conversion: Conversion
) -> Iterator[Qrel]:
    """Yield the highest judgment of each passage, with ``query/facet`` for facets."""
    best: dict[tuple[str, str], int] = {}
    for query in _counting_dropped(queries, frozenset({"judgments"}), dropped):
        judged = [(passage.passage_id, each) for passage in query.passages for each in passage.judgments]
        outside = (query.beyond_pool or BeyondPool()).judgments
        for passage_id, judgment in [*judged, *((each.passage_id, each) for each in outside)]:
            key = (judgment.query_id, passage_id)
            titled = judgment.title_query not in (judgment.query_id, query.query_id)
            dropped.add("title queries of judgments", titled)
            dropped.add("passage ids of judgments", judgment.passage_id != passage_id)
            dropped.add("repeated judgments of a passage", key in best)
            best[key] = max(judgment.relevance, best.get(key, judgment.relevance))
    if not best:
        raise DataError("has no judgments.", file=str(conversion.source))
    for (query_id, passage_id), relevance in best.items():
        yield Qrel(query_id, passage_id, relevance)


def _passages_to_runs(
    queries: Iterable[QueryPassages], dropped: DroppedFields, conversion: Conversion
) -> Runs:
    def counting_dropped() -> Iterator[QueryPassages]:
        for query in _counting_dropped(queries, frozenset({"ranking entries"}), dropped):
            for passage in query.passages:
                count_dropped_ranking_fields(query.query_id, passage, dropped)
            yield query

    queries_of_role = choose_role(counting_dropped(), conversion.role, preferred="retrieved")
    return dict(sorted(_runs_of(queries_of_role, conversion.source).items()))


def _passages_to_answers(
    queries: Iterable[QueryPassages], dropped: DroppedFields, conversion: Conversion
) -> Iterator[Answer]:
    answers = _answers_of(queries, conversion.systems, dropped, count_others=not conversion.systems)
    if not (answers or conversion.systems):
        raise DataError("has no answers of systems.", file=str(conversion.source))
    yield from answers


def _runs_of(queries: Iterable[QueryView], passages: Path) -> dict[str, list[RunLine]]:
    """System to its run lines, best first for each query; ``passages`` is the file, for messages."""
    runs: dict[str, dict[str, dict[str, RunLine]]] = defaultdict(lambda: defaultdict(dict))
    for query in queries:
        for passage in query.passages:
            for entry in passage.rankings:
                line = RunLine(query.query_id, passage.passage_id, entry.rank, entry.score, entry.method)
                ranked = runs[entry.method][query.query_id]
                # A passage that the system ranks twice has its better rank.
                ranked[passage.passage_id] = best_first([ranked.get(passage.passage_id, line), line])[0]
    if not runs:
        raise DataError("has no rankings.", file=str(passages))
    return {
        system: [line for ranked in run.values() for line in best_first(ranked.values())]
        for system, run in runs.items()
    }


def _answers_of(
    passages: Iterable[QueryPassages],
    systems: Sequence[str],
    dropped: DroppedFields,
    *,
    count_others: bool = False,
) -> list[Answer]:
    """The answers in passages, with the texts of their references; empty ``systems`` selects all.

    A part that its system ranks twice has the better rank. Counts the fields that answers cannot hold, with
    ``count_others`` also all other passages.
    """
    answers: list[Answer] = []
    for query in passages:
        used: Counter[str] = Counter()
        for output in outputs_of(query).values():
            if not output.answered or (systems and output.system not in systems):
                continue
            # In files without roles, it is not known what the system retrieved for an answer.
            references = [
                passage
                for passage in output.retrieved
                if any(
                    entry.method == output.system and entry.role == "retrieved" for entry in passage.rankings
                )
            ]
            answers.append(
                Answer(
                    query.query_id,
                    output.system,
                    tuple(AnswerPart(part.text, cited) for part, cited in output.parts if part.text.strip()),
                    references=tuple(passage.passage_id for passage in references),
                    repeat=output.repeat,
                    texts=tuple((passage.passage_id, passage.text) for passage in references),
                )
            )
            used.update(passage.passage_id for passage, _ in output.parts)
            used.update(passage.passage_id for passage in references)
        for passage in query.passages:
            if passage.passage_id not in used:
                dropped.add("passages that are not parts of answers", count_others)
                continue
            kept = frozenset({"passage texts", "ranking entries", "citations"})
            count_dropped_passage_fields(QueryPassages(query.query_id, [passage]), kept, dropped)
            dropped.add("other ranking entries", max(0, len(passage.rankings) - used[passage.passage_id]))
    return answers


def _answers_to_passages(
    answers: Iterable[Answer], dropped: DroppedFields, conversion: Conversion
) -> Iterator[QueryPassages]:
    from exam_pp.phases.interchange.import_passages import passages_of_answers  # noqa: PLC0415 - slow

    return passages_of_answers(answers, conversion.unit, conversion.source, dropped)


def _bank_to_queries(
    lines: Iterable[BankLine], dropped: DroppedFields, _conversion: Conversion
) -> Iterator[Query]:
    bank = TestBank.from_lines(lines)
    without_entries = (line.model_copy(update={"items": []}) for line in bank.lines)
    count_dropped_bank_fields(
        without_entries, {"query texts", "facets", "facet texts", "queries without entries"}, dropped
    )
    facets: dict[str, dict[str, str]] = defaultdict(dict)
    for line in bank.lines:
        if line.facet_id is not None:
            facets[line.query_id].setdefault(line.facet_id, line.facet_text or "")
    for query in bank:
        dropped.add("bank entries", len(query.entries))
        if not query.query_text.strip():
            dropped.add("queries without text")
            continue
        query_facets = [Facet(facet_id=key, facet_text=text) for key, text in facets[query.query_id].items()]
        yield Query(
            query_id=query.query_id,
            query_text=query.query_text,
            **({"facets": query_facets} if query_facets else {}),
        )


def _answers_to_queries(
    answers: Iterable[Answer], dropped: DroppedFields, conversion: Conversion
) -> Iterator[Query]:
    seen: dict[str, None] = {}
    for answer in answers:
        dropped.add("answers")
        if answer.query_text.strip() and answer.query_id not in seen:
            seen[answer.query_id] = None
            yield Query(query_id=answer.query_id, query_text=answer.query_text)
    if not seen:
        raise DataError("has no query texts.", file=str(conversion.source))


def _scores_to_ranks(
    scores: Iterable[Score], dropped: DroppedFields, conversion: Conversion
) -> Mapping[str, float]:
    """System to rank by the means of one measure, best first; tied systems get the average rank."""
    from exam_pp.metrics.correlation import ranks_of  # noqa: PLC0415 - scipy is slow to import
    from exam_pp.metrics.leaderboard import standings  # noqa: PLC0415

    scores = list(scores)
    rows = standings(scores)
    measures = list(dict.fromkeys(row.metric for row in rows))
    measure = conversion.measure or (measures[0] if len(measures) == 1 else None)
    if measure not in measures:
        raise SelectionError(
            f"Ranks need one measure; name it with --measure. The file has: {', '.join(measures)}."
        )
    dropped.add("scores", len(scores))
    return ranks_of(
        {row.system: row.mean for row in rows if row.metric == measure and row.system != OVERALL_SYSTEM}
    )


BRIDGES: Mapping[tuple[Content, Content], Bridge] = {
    ("passages", "qrels"): _passages_to_qrels,
    ("passages", "runs"): _passages_to_runs,
    ("passages", "answers"): _passages_to_answers,
    ("answers", "passages"): _answers_to_passages,
    ("answers", "queries"): _answers_to_queries,
    ("bank", "queries"): _bank_to_queries,
    ("scores", "ranks"): _scores_to_ranks,
}
"""(Source content, target content) to conversion; formats of the same content need no conversion."""


def bridge_of(source: Format, target: Format) -> Bridge | None:
    """The conversion of the content of a format to that of another; None if it is impossible."""
    if part := target.of_passages:
        return part if source.content == "passages" else None
    if source.content == target.content:
        return lambda value, _dropped, _conversion: value
    return BRIDGES.get((source.content, target.content))


def convert(conversion: Conversion, dropped_fields_output: Path | None = None) -> DroppedFields:
    """Write the target, and return the dropped fields; ``dropped_fields_output`` gets them as JSON.

    Raises :class:`~exam_pp.errors.SelectionError` for formats that cannot be read, written or converted into
    each other, and :class:`~exam_pp.errors.DataError` for an invalid source.
    """
    name = conversion.source_format
    source_format = FORMATS.get(name) if name else format_of(conversion.source, "--from")
    target_format = FORMATS.get(conversion.target_format)
    bridge = _possible(source_format, target_format)
    if conversion.source.is_dir() and source_format.content != "runs":
        raise SelectionError(
            f"{conversion.source} is a folder, but the format {source_format.name} needs a file; "
            "only runs can be read from a folder."
        )
    inputs = conversion.inputs
    if target_format.content != "runs" and not conversion.target.is_dir():
        check_output(conversion.target, inputs)
    if dropped_fields_output is not None:
        check_output(dropped_fields_output, inputs)
        if dropped_fields_output.resolve() == conversion.target.resolve():
            raise SelectionError(
                f"--also dropped-fields and -o name the same file, {dropped_fields_output}; name two files."
            )
    dropped = DroppedFields()
    assert source_format.read is not None
    assert target_format.write is not None
    source: Any = source_format.read(Source(conversion.source, dropped, conversion.method_name))
    value = bridge(source, dropped, conversion)
    if target_format.content == "runs" and conversion.systems:
        _check_systems(value, conversion)
        value = {system: run for system, run in value.items() if system in conversion.systems}
    if target_format.content == "answers" and (conversion.systems or conversion.queries):
        value = _answers_of_systems(value, conversion)
    contexts = _contexts(conversion.contexts) if conversion.contexts else {}
    target_format.write(value, Target(conversion.target, dropped, inputs, contexts))
    if dropped_fields_output is not None:
        _write_report(conversion, source_format, dropped, dropped_fields_output)
    return dropped


def _possible(source: Format, target: Format) -> Bridge:
    """The conversion between two formats; raises :class:`SelectionError` if it is impossible."""
    if source.read is None:
        hint = f"; use {source.read_by}" if source.read_by else ""
        raise SelectionError(f"convert cannot read the format {source.name}{hint}.")
    if target.write is None:
        hint = f"; use {target.written_by}" if target.written_by else ""
        raise SelectionError(f"convert cannot write the format {target.name}{hint}.")
    if (bridge := bridge_of(source, target)) is None:
        reachable = [form.name for form in all_formats() if form.write and bridge_of(source, form)]
        raise SelectionError(
            f"{source.name} ({source.content}) cannot be converted to {target.name} ({target.content}); "
            f"possible targets: {', '.join(reachable)}."
        )
    return bridge


def _answers_of_systems(answers: Iterable[Answer], conversion: Conversion) -> list[Answer]:
    """The answers of the selected systems, with the texts of their queries."""
    selected = [a for a in answers if not conversion.systems or a.system in conversion.systems]
    _check_systems({answer.system for answer in selected}, conversion)
    texts = conversion.query_texts
    return [
        answer if answer.query_text.strip() else replace(answer, query_text=texts.get(answer.query_id, ""))
        for answer in selected
    ]


def _check_systems(known: Collection[str], conversion: Conversion) -> None:
    for system in conversion.systems:
        if system not in known:
            raise SelectionError(f"{conversion.source} has no rankings or answers of the system {system!r}.")


def _contexts(path: Path) -> dict[str, dict[str, str]]:
    """Read query id to passage id to text."""
    return {
        query.query_id: {passage.passage_id: passage.text for passage in query.passages}
        for query in read_passages(path)
        if query.passages
    }


def _write_report(conversion: Conversion, source: Format, dropped: DroppedFields, path: Path) -> None:
    report = {
        "input": str(conversion.source),
        "from": source.name,
        "output": str(conversion.target),
        "to": conversion.target_format,
        "dropped_fields": dropped.counts,
    }
    write_text(path, json.dumps(report, ensure_ascii=False, indent=2) + "\n", inputs=conversion.inputs)
