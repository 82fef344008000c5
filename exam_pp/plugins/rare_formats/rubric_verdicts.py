"""Verdicts on the criteria of rubrics, or on expected answers, as labels of nuggets.

JSON, JSON lines or CSV of ResearchRubrics, RAGDoll, DRAGUN and the package rubric. An object or row has a
verdict, or all verdicts on an answer; :data:`exam_pp.formats.rubrics.RUBRIC` has the names of its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.banks import CONTRADICT, LABEL_RATINGS, TestBank, label_of
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, register
from exam_pp.formats.rubrics import Part, parts, roles_of
from exam_pp.formats.sample import Fit, fits
from exam_pp.plugins.rare_formats.nugget_assignments import (
    AssignedNugget,
    AssignmentForm,
    AssignmentLine,
    import_assignments,
)
from exam_pp.prompts.entry_list import plain_label
from exam_pp.prompts.requirements import CRITERION, EXPECTED_ANSWERS
from exam_pp.store.banks.bank_json import read_bank_lines
from exam_pp.store.tables import stem_of
from exam_pp.text.wording import counted

_RATINGS: Mapping[str, int] = {
    **LABEL_RATINGS,
    **dict.fromkeys(("satisfied", "true", "yes", "supports"), 2),
    **dict.fromkeys(("partially_met", "partially_satisfied", "partial"), 1),
    **dict.fromkeys(("unmet", "not_satisfied", "false", "no", "none"), 0),
    "contradicts": LABEL_RATINGS[CONTRADICT],
}
"""The words of judges; a criterion with another word is ungraded."""
_OF_VERDICTS = {"verdict", "text", "entry_id", "list"}


def import_verdicts(
    files: Sequence[Path],
    output: Path,
    *,
    bank: Path,
    grader_name: str | None = None,
    passages: Path | None = None,
) -> list[str]:
    """Write a graded file, with the labels of the prompt for the entries of the bank; return the summary.

    Verdicts without a criterion are in the order of the bank. Without a query they are of its only query. If
    the files name no systems, ``grader_name`` is that of the system, and None the name of the file. The label
    of a failed call is ``failed``, and that of an unknown word the word. Raises
    :class:`~exam_pp.errors.ExamError` as :func:`import_assignments` does.
    """
    test_bank = TestBank.from_lines(read_bank_lines(bank))
    of_answers = any(item.group_text for line in test_bank.lines for item in line.items)
    prompt = EXPECTED_ANSWERS if of_answers else CRITERION
    is_named = all("system" in part.values for file in files for part in islice(parts(file), 1))
    system = None if is_named else grader_name
    read = partial(_read_verdicts, bank=test_bank, labels=prompt.choices, system=system)
    return import_assignments(
        files,
        output,
        grader_name=grader_name if is_named and grader_name else "rubric-verdicts",
        passages=passages,
        bank=bank,
        form=AssignmentForm(read, prompt.name, prompt.choices, has_texts=False),
    )


def _read_verdicts(
    path: Path, bank: TestBank, labels: tuple[str, ...], system: str | None
) -> Iterator[tuple[int | None, AssignmentLine]]:
    answers: dict[tuple[str, str], list[Part]] = {}
    for part in parts(path):
        if "query_id" not in part.values and len(bank.queries) > 1:
            raise DataError("is missing.", file=str(path), line=part.line, field="query_id")
        run = str(part.values.get("system") or system or stem_of(path))
        query_id = str(part.values.get("query_id") or next(iter(bank.queries)))
        answers.setdefault((run, query_id), []).append(part)
    if not any("verdict" in part.values for verdicts in answers.values() for part in verdicts):
        raise DataError("has no verdicts.", file=str(path))
    for (run, query_id), verdicts in answers.items():
        names = [part.values.get("entry_id") or part.values.get("text") for part in verdicts]
        if None in names:
            names = [item.entry_id for line in bank.lines if line.query_id == query_id for item in line.items]
        if len(names) != len(verdicts):
            number, entries = counted(len(verdicts), "verdict"), counted(len(names), "entry")
            problem = f"has {number} on {run!r} for the query {query_id!r}, but the bank has {entries} there."
            raise DataError(problem, file=str(path), line=verdicts[0].line)
        nuggets = [
            AssignedNugget(text=str(name), assignment=_label(part.values, labels))
            for name, part in zip(names, verdicts, strict=True)
        ]
        others = {k: v for part in verdicts for k, v in {**part.of_query, **part.of_entry}.items()}
        known = {"qid": query_id, "answer_text": "", "run_id": run, "nuggets": nuggets}
        yield verdicts[0].line, AssignmentLine(**{**others, **known})


def _label(values: Mapping[str, Any], labels: tuple[str, ...]) -> str:
    if str(values.get("success", True)).lower() == "false":
        return "failed"
    word = str(values.get("verdict", ""))
    rating = _RATINGS.get(plain_label(word))
    return word if rating is None else label_of(rating, labels)


register(
    Format(
        "rubric-verdicts", "passages", "verdicts of ResearchRubrics, RAGDoll, DRAGUN and rubric",
        fits(lambda sample: {"verdict"} < _OF_VERDICTS & roles_of(sample), Fit.FAINT), parts, "verdict",
        read_by="exam-pp import --from rubric-verdicts", imports=import_verdicts,
    ),
)  # fmt: skip
