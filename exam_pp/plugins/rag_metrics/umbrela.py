"""Relevance labels of UMBRELA as JSON lines, one for each pair of query text and passage text.

The lines have no ids; `exam-pp import --from umbrela` joins them to passages by the texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.data_model import DirectGrade, Integer, Passage, QueryPassages
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import with_keys
from exam_pp.models import Record
from exam_pp.prompts.reading import NOT_A_NUMBER
from exam_pp.store.files import check_output
from exam_pp.store.parsing import lists_of, read_objects, valid
from exam_pp.store.passages.graded_file import read_passages, write_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed, noted

PROMPT_CLASS = "UMBRELA"
"""The prompt class of labels that another tool made with the prompt of UMBRELA."""
HIGHEST_LABEL = 3


class JudgeRow(Record):
    """A line of UMBRELA: the label of a passage with prompt and reply.

    ``prediction`` is the reply and ``judgment`` the label read from it. ``result_status`` is 0 if no label
    could be read; ``judgment`` is then a default.
    """

    model: str | None = None
    query: str
    passage: str
    prompt: str | None = None
    prediction: str | None = None
    reasoning: str | None = None
    judgment: Integer | None = None
    result_status: Integer | None = None

    @property
    def failed(self) -> bool:
        """Whether no label could be read."""
        return self.judgment is None or self.result_status == 0


def read_judge_rows(path: str | Path) -> Iterator[tuple[int, JudgeRow]]:
    """Read the rows with their line numbers, in file order; raises :class:`~exam_pp.errors.DataError`.

    A file that is one JSON document has them in a list, such as ``{"judgments": [...]}``; their lines are
    their numbers.
    """
    values = list(read_objects(path, "a judgment"))
    whole = [value for line, value in values if line is None]
    if whole:
        rows = next((each for each in lists_of(whole) if "judgment" in each[0]), whole)
        values = list(enumerate(rows, 1))
    if not values:
        raise DataError("has no judgments.", file=str(path))
    for line, value in values:
        yield line or 0, valid(JudgeRow.model_validate, value, path, line)


DEFAULT_MODEL = "umbrela"

_Texts = tuple[str, str]
"""The texts of a query and a passage, with normalized whitespace."""


@dataclass
class JudgeSummary:
    """Counts for the summary of an import.

    ``unknown`` are the lines whose query and passage texts match no passage. ``contradicting`` are the lines
    whose label differs from an earlier label of the same model for the same texts.
    """

    rows: int = 0
    graded: int = 0
    ungraded: int = 0
    repeated: int = 0
    unknown: list[int] = field(default_factory=list)
    contradicting: list[int] = field(default_factory=list)
    dropped: DroppedFields = field(default_factory=DroppedFields)

    def lines(self) -> Iterator[str]:
        """The lines of the summary."""
        labelled = counted(self.graded, "passage")
        yield f"Read {counted(self.rows, 'label')}: {labelled} labelled, {self.ungraded} ungraded."
        unknown = f"{{}} a passage of the passages file ({_lines(self.unknown)})."
        yield from noted(len(self.unknown), unknown, "label does not match", "labels do not match")
        yield from noted(self.repeated, "{} and used once.", "label is a duplicate", "labels are duplicates")
        lines = _lines(self.contradicting)
        contradicting = f"{{}} an earlier label of the same model; the last label is used ({lines})."
        yield from noted(len(self.contradicting), contradicting, "label contradicts", "labels contradict")
        yield from self.dropped.lines()


def _lines(numbers: Sequence[int]) -> str:
    noun = "line" if len(numbers) == 1 else "lines"
    return f"{noun} {listed([str(number) for number in numbers])}"


def import_judge_rows(
    files: Sequence[Path],
    output: Path,
    *,
    passages: Path,
    queries: Path,
    grader_name: str | None = None,
) -> JudgeSummary:
    """Write the passages with the labels as direct grades.

    A row is joined to the passages of its query with the same text, apart from whitespace. ``grader_name`` is
    the grader of rows that do not name a model. A label that UMBRELA could not read is ungraded, not 0. Of
    several rows of a model for the same texts, the last row with a label is used. Raises
    :class:`~exam_pp.errors.SelectionError` if no row matches a passage.
    """
    inputs = [*files, passages, queries]
    check_output(output, inputs)
    lines = list(read_passages(passages))
    known = _passages_by_texts(lines, read_query_texts(queries))
    summary = JudgeSummary()
    for texts, row in _last_rows(files, known, summary):
        for passage in known[texts]:
            passage.add_grades([_grade(row, grader_name)])
            summary.graded += not row.failed
            summary.ungraded += row.failed
    if len(summary.unknown) == summary.rows:
        raise SelectionError(
            f"No label matches a passage in {passages} by query text and passage text; check that the labels "
            "are for these passages."
        )
    write_passages(lines, output, inputs=inputs)
    return summary


def _last_rows(
    files: Sequence[Path], known: Collection[_Texts], summary: JudgeSummary
) -> list[tuple[_Texts, JudgeRow]]:
    """The row that is used for each model and pair of texts in ``known``; counts all other rows."""
    used: dict[tuple[_Texts, str | None], JudgeRow] = {}
    for file in files:
        for number, row in read_judge_rows(file):
            summary.rows += 1
            texts = _key(row.query), _key(row.passage)
            if texts not in known:
                summary.unknown.append(number)
                continue
            if not row.failed and not 0 <= (row.judgment or 0) <= HIGHEST_LABEL:
                raise DataError(
                    f"'{row.judgment}' is not a label from 0 to {HIGHEST_LABEL}.",
                    file=str(file), line=number, field="judgment",
                )  # fmt: skip
            summary.dropped.keys(row.model_extra)
            summary.dropped.add("reasonings", bool(row.reasoning))
            summary.dropped.add("prompts", bool(row.prompt) and not row.failed)
            key = texts, row.model
            used[key] = _later(used.get(key), row, number, summary)
    return [(texts, row) for (texts, _), row in used.items()]


def _later(before: JudgeRow | None, row: JudgeRow, number: int, summary: JudgeSummary) -> JudgeRow:
    """The later of two rows for the same texts, unless only the earlier row has a label."""
    if before is None:
        return row
    if row.failed or before.failed or row.judgment == before.judgment:
        summary.repeated += 1
    else:
        summary.contradicting.append(number)
    return before if row.failed else row


def _passages_by_texts(lines: Sequence[QueryPassages], texts: dict[str, str]) -> dict[_Texts, list[Passage]]:
    passages: dict[_Texts, list[Passage]] = {}
    for line in lines:
        query = _key(texts.get(line.query_id, ""))
        for passage in line.passages if query else ():
            passages.setdefault((query, _key(passage.text)), []).append(passage)
    return passages


def _key(text: str) -> str:
    return " ".join(text.split())


def _grade(row: JudgeRow, model: str | None) -> DirectGrade:
    """The row as a direct grade, without prompt hash, because another tool sent the prompt."""
    grade: dict[str, Any] = {
        "correct": bool(row.judgment) and not row.failed,
        "answer": row.prediction or "",
        "model": row.model or model or DEFAULT_MODEL,
        "model_options": {},
        "prompt_info": {"prompt_class": PROMPT_CLASS, "is_self_rated": True, "max_rating": HIGHEST_LABEL},
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


register(
    Format(
        "umbrela", "passages", "labels of UMBRELA, JSON lines", with_keys("query", "passage", "judgment"),
        read_judge_rows, "judgment",
        imports=lambda files, output, **options: import_judge_rows(files, output, **options).lines(),
        read_by="exam-pp import --from umbrela",
    ),
)  # fmt: skip
