"""Nugget assignments of AutoNuggetizer, one line per answer, from passages and to passages.

Nuggets have no ids in these files; they are identified by query and text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.banks import ASSIGNMENT_LABELS, LABEL_RATINGS, BankLine, Entry, entry_id
from exam_pp.data_model import (
    AnyGrades,
    Id,
    Integer,
    NuggetAssignment,
    Passage,
    PassageData,
    QueryPassages,
    RankingEntry,
    RubricGrades,
    SelfRating,
    is_human,
)
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, Source, make_writer, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import with_keys
from exam_pp.grade_filter import GradeKey, check_one
from exam_pp.metrics.grade_masks import copy_ratings, ids_of_copies
from exam_pp.metrics.measures import answer_length
from exam_pp.models import Record
from exam_pp.phases.evaluation.nugget_scores import assigns_nuggets
from exam_pp.plugins.rare_formats.nuggetizer import NuggetText, bank_line
from exam_pp.prompts.entry_list import plain_label
from exam_pp.prompts.reading import NOT_A_LABEL
from exam_pp.roles import DistinctNames, outputs_of
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.store.parsing import read_records, write_records
from exam_pp.store.passages.graded_file import read_passages, write_passages
from exam_pp.store.trec.queries import write_queries
from exam_pp.text.wording import counted, listed, noted

DEFAULT_GRADER = "nuggetizer"
"""The grader of the assignments unless --grader names another."""


class AssignedNugget(NuggetText):
    """A nugget with its assignment for the answer; unknown labels occur and are kept."""

    assignment: str | None = None


class AssignmentLine(Record):
    """An answer with the assignments of its query's nuggets."""

    query: str = ""
    qid: Id
    answer_text: str
    response_length: Integer | None = None
    run_id: Id
    nuggets: list[AssignedNugget]


def read_assignments(path: str | Path) -> Iterator[tuple[int, AssignmentLine]]:
    """Read the lines with their numbers, in file order; raises :class:`~exam_pp.errors.DataError`."""
    return read_records(AssignmentLine, path, "assignments")


class AssignmentForm(NamedTuple):
    """A form of files with the labels of a prompt; ``has_texts`` is false if answers are only named there."""

    read: Callable[[Path], Iterable[tuple[int | None, AssignmentLine]]] = read_assignments
    prompt_class: str = "NuggetAssignment"
    labels: Sequence[str] = ASSIGNMENT_LABELS
    has_texts: bool = True


NUGGETIZER = AssignmentForm()


NuggetIds = Mapping[tuple[str, str], Sequence[str]]
"""Query and text to the ids of the nuggets with this text, of which several facets may have one each.

In place of a text may stand an id, or its last part.
"""


def _nugget_ids(line: AssignmentLine, known: NuggetIds) -> Iterator[str]:
    """The id of each nugget of an answer; the digest of its text if it is not known.

    A text that occurs several times gets its ids in order.
    """
    seen: Counter[str] = Counter()
    for text in (nugget.text.strip() for nugget in line.nuggets):
        ids = known.get((line.qid, text), [entry_id(line.qid, text)])
        yield ids[min(seen[text], len(ids) - 1)]
        seen[text] += 1


@dataclass
class Assigned:
    """The nuggets of each query, and the grades of each answer, by system and query."""

    bank: dict[str, BankLine] = field(default_factory=dict)
    answers: dict[tuple[str, str], RubricGrades] = field(default_factory=dict)

    @property
    def nuggets(self) -> set[str]:
        """The ids of all assigned nuggets."""
        return {key for of in self.answers.values() for key in (*of.entry_ratings(), *of.failures())}

    def lines(self, labels: Sequence[str], foreign: int) -> Iterator[str]:
        """The lines of the summary; ``foreign`` is the number of nuggets that a bank lacks."""
        graded = sum(len(of.self_ratings or ()) for of in self.answers.values())
        answers, systems = counted(len(self.answers), "answer"), len({system for system, _ in self.answers})
        yield f"Imported {answers} (systems: {systems}), {counted(graded, 'assignment')}."
        ungraded = Counter(
            error["response"] for of in self.answers.values() for error in of.failures().values()
        )
        unread = listed([repr(label) for label, _ in ungraded.most_common()])
        not_read = f"{{}} not one of {', '.join(labels)}: {unread}"
        are = "nugget is ungraded, as its label is", "nuggets are ungraded, as their labels are"
        yield from noted(ungraded.total(), not_read, *are)
        no_match = "{} no match in the bank by query and text; the assignments are imported anyway."
        yield from noted(foreign, no_match, "nugget has", "nuggets have")


def add_assignments(
    queries: dict[str, QueryPassages],
    files: Iterable[Path],
    grader: str,
    dropped: DroppedFields,
    form: AssignmentForm = NUGGETIZER,
    known: NuggetIds | None = None,
    *,
    is_named: bool = False,
) -> Assigned:
    """Add the assignments of the files to the passages of the queries, which must have answers only named."""
    assigned = Assigned()
    for file in files:
        for number, line in form.read(file):
            if (line.run_id, line.qid) in assigned.answers:
                raise DataError(
                    f"the run {line.run_id!r} answers the query {line.qid!r} twice.",
                    file=str(file), line=number,
                )  # fmt: skip
            grades = _grades(line, grader, form, known or {})
            _passage_of(line, queries, file, number, is_named=is_named).add_grades([grades])
            assigned.answers[line.run_id, line.qid] = grades
            current = bank_line(line.qid, line.query, line.nuggets)
            of_query = assigned.bank.setdefault(line.qid, current)
            ids = {item.entry_id for item in of_query.items}
            of_query.items += [item for item in current.items if item.entry_id not in ids]
            dropped.keys(line.model_extra)
            dropped.add(
                "response lengths that differ from the word count",
                line.response_length not in (None, answer_length(line.answer_text)),
            )
    return assigned


def _passage_of(
    line: AssignmentLine,
    queries: dict[str, QueryPassages],
    file: Path,
    number: int | None,
    *,
    is_named: bool,
) -> Passage:
    """The existing passage of the answer, or a new passage that its system ranks first.

    An answer that is only named must exist, and its first part is the passage.
    """
    query = queries.setdefault(line.qid, QueryPassages(line.qid, []))
    ranked = [p for p in query.passages if any(entry.method == line.run_id for entry in p.rankings)]
    if not (ranked or is_named):
        passage_id = f"{line.run_id}/{line.qid}"
        entry = RankingEntry(method=line.run_id, passage_id=passage_id, query_id=line.qid, rank=1, score=1.0)
        data = PassageData(judgments=[], rankings=[entry])
        query.passages.append(Passage(passage_id=passage_id, text=line.answer_text, data=data))
        return query.passages[-1]
    same = next((p for p in ranked if is_named or p.text.split() == line.answer_text.split()), None)
    if same is None:
        differences = {0: "is not", 1: "has another text"}
        difference = differences.get(len(ranked), f"is split into {len(ranked)} passages")
        raise DataError(
            f"the answer of the run {line.run_id!r} to the query {line.qid!r} {difference} in the passages "
            "file; import the answers first (--unit whole), with the same names of systems and queries.",
            file=str(file), line=number, field="answer_text",
        )  # fmt: skip
    return same


def _grades(line: AssignmentLine, grader: str, form: AssignmentForm, known: NuggetIds) -> RubricGrades:
    """The labels as grades, in the order of the file; a repeated nugget keeps every label."""
    given = [nugget.assignment or "" for nugget in line.nuggets]
    read = [plain_label(label) if plain_label(label) in form.labels else label for label in given]
    ids = list(_nugget_ids(line, known))
    in_order = list(zip(ids, read, strict=True))
    labels = [(nugget_id, label) for nugget_id, label in in_order if label in form.labels]
    ratings = {nugget_id: LABEL_RATINGS[label] for nugget_id, label in labels}
    correct = [nugget_id for nugget_id, rating in ratings.items() if rating > 0]
    source: dict[str, Any] = {"source": "human"} if is_human(grader) else {}
    return RubricGrades(
        model=grader,
        model_options={},
        prompt_info={"prompt_class": form.prompt_class, "is_self_rated": True},
        prompt_type="nugget",
        correct=correct,
        wrong=[nugget_id for nugget_id, rating in ratings.items() if rating <= 0],
        answers=[] if source else labels,
        errors={
            nugget_id: {"response": label, "prompt": "", "failure_reason": NOT_A_LABEL}
            for nugget_id, label in in_order
            if label not in form.labels
        },
        exam_ratio=len(correct) / len(ratings) if ratings else 0.0,
        self_ratings=[
            SelfRating(nugget_id=nugget_id, self_rating=LABEL_RATINGS[label], **source)
            for nugget_id, label in labels
        ],
        relevance_label=max(ratings.values(), default=0),
        # An unknown label keeps its position, or that of another occurrence would count for this occurrence.
        assignments=[
            NuggetAssignment(nugget_id=nugget_id, assignment=label)
            for nugget_id, label in in_order
            if label in form.labels or ids.count(nugget_id) > 1
        ],
    )


def assignments_of(queries: Iterable[QueryPassages], dropped: DroppedFields, of: Any) -> list[AssignmentLine]:
    """A line for every whole answer with assignments of the grader; ``of`` is the conversion.

    An ungraded nugget is written with its unparsed label. Raises :class:`~exam_pp.errors.SelectionError`
    unless the filter selects the assignments of one grader, and the bank has some of their nuggets.
    """
    if of.bank is None:
        raise SelectionError("Nugget assignments need a test bank; name it with --bank.")
    bank = read_bank(of.bank)
    graders: dict[GradeKey, None] = {}
    lines: list[AssignmentLine] = []
    distinct = DistinctNames()
    for query in queries:
        items = bank.copies.get(query.query_id, {})
        labels: dict[str, dict[str, str]] = {}
        for passage in [each for each in query.passages if items and each.rankings]:
            sets = list(passage.grade_sets())
            selected = [grades for grades in sets if of.grades.accepts(grades) and assigns_nuggets(grades)]
            dropped.add("judgments", len(passage.judgments))
            dropped.add("other sets of grades", len(sets) - len(selected))
            if selected:
                labels[passage.passage_id] = _labels(selected, items)
                known = items.keys() & labels[passage.passage_id].keys()
                graders |= dict.fromkeys(GradeKey.of(grades, of.grades) for grades in selected if known)
        for system, output in outputs_of(query).items():
            passages = [part for part, _ in output.parts] if output.answered else output.retrieved
            answers = [passage for passage in passages if passage.passage_id in labels]
            if len(answers) > 1:
                raise SelectionError(
                    f"The answer of {str(system)!r} to the query {query.query_id!r} in {of.source} has "
                    "several passages; assign nuggets to whole answers (import --unit whole)."
                )
            lines += [
                AssignmentLine(
                    query=bank.queries[query.query_id].query_text,
                    qid=query.query_id,
                    answer_text=passage.text,
                    response_length=len(passage.text.split()),
                    run_id=distinct(system),
                    nuggets=[
                        AssignedNugget(
                            text=entry.text,
                            **({} if entry.importance is None else {"importance": entry.importance}),
                            assignment=labels[passage.passage_id].get(name, ""),
                        )
                        for name, entry in items.items()
                    ],
                )
                for passage in answers
            ]
            dropped.add("citations", sum(len(cited) for _, cited in output.parts) if answers else 0)
    if not graders:
        raise SelectionError(
            f"{of.source} has no assignments of nuggets of {of.bank} that match the filter: name the bank "
            "with which the answers were graded."
        )
    check_one(graders, f"The filter selects assignments of {len(graders)} graders in {of.source}")
    dropped.add("graders", len(graders))
    return lines


def _labels(selected: Sequence[AnyGrades], items: Mapping[str, Entry]) -> dict[str, str]:
    """The key of an item to its label, also one that could not be read."""
    copies, words = ids_of_copies(items), dict(enumerate(ASSIGNMENT_LABELS))
    labels: dict[str, str] = {}
    for key, error in ((key, error) for grades in selected for key, error in grades.failures().items()):
        response = str(error.get("response", "")) if isinstance(error, dict) else ""
        labels |= dict.fromkeys(copies.get(key, ()), response)
    for grades in selected:
        labels |= {key: words[rating] for key, rating in copy_ratings(grades, copies).items()}
    return labels


def import_assignments(
    files: Sequence[Path],
    output: Path,
    *,
    grader_name: str | None = None,
    passages: Path | None = None,
    bank: Path | None = None,
    bank_output: Path | None = None,
    queries_output: Path | None = None,
    form: AssignmentForm = NUGGETIZER,
) -> list[str]:
    """Write a graded file, and the nuggets and the texts of the queries if they have files.

    Returns the lines of the summary.

    Answers in ``passages`` get the assignments as additional grades; all other answers become passages.
    Nuggets get the ids of ``bank``, joined by query and text; without a bank, ids are digests of both. Labels
    are read as in replies ("Not Support" is valid); a nugget with an unknown label is ungraded and keeps the
    label. Raises :class:`~exam_pp.errors.DataError` for an answer that occurs twice, differs from its text in
    ``passages`` or, without a text in its ``form``, is not there, and
    :class:`~exam_pp.errors.SelectionError` if no nugget is in ``bank``.
    """
    inputs = [*files, *filter(None, (passages, bank))]
    for path in filter(None, (output, bank_output, queries_output)):
        check_output(path, inputs)
    dropped = DroppedFields()
    queries: dict[str, QueryPassages] = {}
    for query in read_passages(passages) if passages else ():
        known = queries.setdefault(query.query_id, QueryPassages(query.query_id, []))
        known.passages += query.passages
    ids: dict[tuple[str, str], list[str]] = {}
    for line in read_bank(bank).lines if bank is not None else ():
        for item in line.items:
            for name in {item.text.strip(), item.entry_id, item.entry_id.rpartition("/")[2]}:
                ids.setdefault((line.query_id, name), []).append(item.entry_id)
    assigned = add_assignments(
        queries, files, grader_name or DEFAULT_GRADER, dropped, form, ids,
        is_named=passages is not None and not form.has_texts,
    )  # fmt: skip
    known_ids = {key for of_name in ids.values() for key in of_name}
    foreign = assigned.nuggets - known_ids if bank is not None else set()
    if foreign and foreign == assigned.nuggets:
        raise SelectionError(
            f"No nugget is in {bank} (compared by query and text); name the bank that was assigned."
        )
    if bank_output is not None:
        write_bank(assigned.bank.values(), bank_output, inputs=inputs)
    if queries_output is not None:
        texts = {query_id: line.query_text for query_id, line in assigned.bank.items() if line.query_text}
        write_queries(texts, queries_output, inputs=inputs)
    write_passages(queries.values(), output, inputs=inputs)
    return [*assigned.lines(form.labels, len(foreign)), *dropped.lines()]


def _read(source: Source) -> list[QueryPassages]:
    """Read answers with their grades; nuggets are counted as dropped, because a passages file has none."""
    queries: dict[str, QueryPassages] = {}
    bank = add_assignments(queries, [source.path], DEFAULT_GRADER, source.dropped).bank
    source.dropped.add("query texts", sum(bool(line.query_text) for line in bank.values()))
    source.dropped.add("nuggets", sum(len(line.items) for line in bank.values()))
    return list(queries.values())


register(
    Format(
        "nuggetizer-assignments", "passages", "answers with nugget assignments of AutoNuggetizer",
        with_keys("qid", "nuggets", "answer_text"), read_assignments, "answer", _read,
        make_writer(write_records),
        of_passages=assignments_of,
        imports=import_assignments,
    ),
)  # fmt: skip
