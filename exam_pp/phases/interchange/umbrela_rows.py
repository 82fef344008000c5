"""UMBRELA's judge rows, which have no ids, from and to graded passages: joined by query and passage text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.data_model import DirectGrade, Passage, QueryPassages
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.umbrela import JudgeRow, read_judge_rows
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.prompts import UMBRELA
from exam_pp.prompts.reading import NOT_A_NUMBER
from exam_pp.store.files import check_output
from exam_pp.store.json_lines import write_records
from exam_pp.store.passages.graded_file import read_passages, write_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.wording import counted, listed

DEFAULT_MODEL = "umbrela"

_Texts = tuple[str, str]
"""Those of a query and a passage, as they are compared."""


@dataclass
class JudgeSummary:
    """Counts for the closing lines.

    ``unknown`` are the lines without a passage of that query and text, ``contradicting`` those with another
    label than the judge gave the same texts before.
    """

    rows: int = 0
    graded: int = 0
    ungraded: int = 0
    repeated: int = 0
    unknown: list[int] = field(default_factory=list)
    contradicting: list[int] = field(default_factory=list)
    dropped: DroppedFields = field(default_factory=DroppedFields)

    def lines(self) -> Iterator[str]:
        """What was imported, for people."""
        labelled = counted(self.graded, "passage")
        yield f"Read {counted(self.rows, 'judgment')}: {labelled} labelled, {self.ungraded} ungraded."
        if self.unknown:
            are = counted(len(self.unknown), "judgment is", "judgments are")
            yield f"{are} about no passage of the file ({_lines(self.unknown)})."
        if self.repeated:
            repeat = counted(self.repeated, "judgment repeats", "judgments repeat")
            yield f"{repeat} another one: used once."
        if self.contradicting:
            contradict = counted(len(self.contradicting), "judgment contradicts", "judgments contradict")
            lines = _lines(self.contradicting)
            yield f"{contradict} an earlier one of the same judge: the last one is used ({lines})."
        yield from self.dropped.lines()


def _lines(numbers: Sequence[int]) -> str:
    words = "line" if len(numbers) == 1 else "lines"
    return f"{words} {listed([str(number) for number in numbers])}"


def import_judge_rows(
    files: Sequence[Path], passages: Path, queries: Path, output: Path, *, model: str | None = None
) -> JudgeSummary:
    """Write the passages with the labels as direct grades.

    A row belongs to the passages of its query that have its text, white space aside. ``model`` names the
    judge of rows that do not. A label that UMBRELA could not read is ungraded, and no 0. Of several rows of
    a judge about the same texts the last label that was read is used. Raises
    :class:`~exam_pp.errors.SelectionError` if no row is about a passage.
    """
    inputs = [*files, passages, queries]
    check_output(output, inputs)
    lines = list(read_passages(passages))
    places = _places(lines, read_query_texts(queries))
    summary = JudgeSummary()
    for texts, row in _last_rows(files, places, summary):
        for passage in places[texts]:
            passage.add_grades([_grade(row, model)])
            summary.graded += not row.failed
            summary.ungraded += row.failed
    if len(summary.unknown) == summary.rows:
        raise SelectionError(f"No row has the query text and the passage text of a passage in {passages}.")
    write_passages(lines, output, inputs=inputs)
    return summary


def _last_rows(
    files: Sequence[Path], known: Collection[_Texts], summary: JudgeSummary
) -> list[tuple[_Texts, JudgeRow]]:
    """The row that is used of every judge and pair of texts that is known; the others are counted."""
    used: dict[tuple[_Texts, str | None], JudgeRow] = {}
    for file in files:
        for number, row in read_judge_rows(file):
            summary.rows += 1
            texts = _key(row.query), _key(row.passage)
            if texts not in known:
                summary.unknown.append(number)
                continue
            if not row.failed and not 0 <= (row.judgment or 0) <= (UMBRELA.max_rating or 0):
                raise DataError(
                    f"{row.judgment} is no label from 0 to {UMBRELA.max_rating}.",
                    file=str(file), line=number, field="judgment",
                )  # fmt: skip
            summary.dropped.keys(row.model_extra)
            summary.dropped.add("reasonings", bool(row.reasoning))
            summary.dropped.add("prompts", bool(row.prompt) and not row.failed)
            judge = texts, row.model
            used[judge] = _later(used.get(judge), row, number, summary)
    return [(texts, row) for (texts, _), row in used.items()]


def _later(before: JudgeRow | None, row: JudgeRow, number: int, summary: JudgeSummary) -> JudgeRow:
    """Which of two rows about the same texts is used: the later one, but a label before none."""
    if before is None:
        return row
    if row.failed or before.failed or row.judgment == before.judgment:
        summary.repeated += 1
    else:
        summary.contradicting.append(number)
    return before if row.failed else row


def _places(lines: Sequence[QueryPassages], texts: dict[str, str]) -> dict[_Texts, list[Passage]]:
    places: dict[_Texts, list[Passage]] = {}
    for line in lines:
        query = _key(texts.get(line.query_id, ""))
        for passage in line.passages if query else ():
            places.setdefault((query, _key(passage.text)), []).append(passage)
    return places


def _key(text: str) -> str:
    return " ".join(text.split())


def _grade(row: JudgeRow, model: str | None) -> DirectGrade:
    """The row as a direct grade; the words of the prompt were the judge's own, so no version is recorded."""
    grade: dict[str, Any] = {
        "correct": bool(row.judgment) and not row.failed,
        "answer": row.prediction or "",
        "model": row.model or model or DEFAULT_MODEL,
        "model_options": {},
        "prompt_info": {"prompt_class": UMBRELA.name, "is_self_rated": True},
        "prompt_type": "direct_grading",
    }
    if row.failed:
        error = {
            "response": row.prediction or "",
            "prompt": row.prompt or "",
            "failure_reason": NOT_A_NUMBER,
        }
        return DirectGrade(**grade, error=error)
    return DirectGrade(**grade, self_ratings=row.judgment, relevance_label=row.judgment)


def export_judge_rows(
    graded: Path, queries: Path, output: Path, grade_filter: GradeFilter | None = None
) -> list[str]:
    """Write a row for every passage with a direct grade of 0 to 3; returns what people have to know.

    A passage that was left ungraded has status 0 and no label. Raises
    :class:`~exam_pp.errors.SelectionError` unless the filter leaves one set of direct grades.
    """
    inputs = [graded, queries]
    check_output(output, inputs)
    texts = read_query_texts(queries)
    selector = GradeSelector(grade_filter or GradeFilter(prompt_class=UMBRELA.name))
    dropped = DroppedFields()
    rows: list[JudgeRow] = []
    for line in read_passages(graded):
        for passage in line.passages:
            direct = [grade for grade in selector.select(passage) if isinstance(grade, DirectGrade)]
            if not direct:
                continue
            if direct[-1].error is None and direct[-1].self_ratings is None:
                raise SelectionError(
                    f"The selected grades in {graded} are yes or no, not 0 to {UMBRELA.max_rating}."
                )
            if line.query_id not in texts:
                raise SelectionError(f"{queries} has no text for the query {line.query_id!r} of {graded}.")
            rows.append(_row(texts[line.query_id], passage, direct[-1]))
            dropped.add("passage ids")
            dropped.add("judgments of people", len(passage.judgments))
            dropped.add("places in rankings", len(passage.rankings))
    selector.check(str(graded))
    if not rows:
        raise SelectionError(f"The selected grades in {graded} are not direct grades.")
    write_records(rows, output, inputs=inputs)
    return [f"Wrote {counted(len(rows), 'judgment')}.", *dropped.lines()]


def _row(query: str, passage: Passage, grade: DirectGrade) -> JudgeRow:
    error = grade.error or {}
    return JudgeRow(
        model=grade.model,
        query=query,
        passage=passage.text,
        prompt=str(error.get("prompt", "")),
        prediction=grade.answer or str(error.get("response", "")),
        reasoning=None,
        judgment=grade.self_ratings,
        result_status=int(not error),
    )
