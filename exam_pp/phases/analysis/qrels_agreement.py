"""Relevance labels of a model (qrels, direct grades) for comparison with judgments on the same scale."""

from __future__ import annotations

from itertools import chain

from exam_pp.errors import SelectionError
from exam_pp.formats.umbrela import HIGHEST_LABEL
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.analysis.agreement import RatedPassage, RatedPassages
from exam_pp.phases.evaluation.judgments import fraction_notes
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.prompts import PROMPTS
from exam_pp.provenance import Provenance, file_names
from exam_pp.roles import without_canaries
from exam_pp.store.files import is_read_once
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.runs import read_qrels

_SCALE = ("direct_grading", HIGHEST_LABEL)
"""Type and highest grade of direct grades on the scale of TREC judgments."""


def labelled_passages(labels: PathLike, qrels: PathLike) -> RatedPassages:
    """Return the judged passages of the queries in both qrels files, with the labels of the model.

    A judged passage without a label has no ratings.

    Raises :class:`~exam_pp.errors.SelectionError` if the files have no passage in common.
    """
    files = {name: read_qrels(name) for name in (labels, qrels)}
    predicted = {(label.query_id, label.passage_id): label.whole for label in files[labels]}
    queries = {query_id for query_id, _ in predicted}
    population = [
        RatedPassage(
            judged.query_id,
            [predicted[key]] if key in predicted else [],
            frozenset([judged.whole]),
        )
        for judged in files[qrels]
        if judged.query_id in queries
        for key in [(judged.query_id, judged.passage_id)]
    ]
    if not any(passage.ratings for passage in population):
        raise SelectionError(f"{labels} and {qrels} have no passage in common.")
    notes = [
        note
        for name, lines in files.items()
        for note in fraction_notes((line.relevance for line in lines), f"{name}: ")
    ]
    return RatedPassages(population, Provenance(judgments=file_names(labels, qrels)), notes)


def is_on_the_scale_of_judgments(graded: PathLike, grade_filter: GradeFilter) -> bool:
    """Whether the first grades that match the filter are direct grades from 0 to 3, as TREC judgments are.

    If a direct prompt is unknown and its scale is not recorded, the highest grade in the file decides. For a
    stream, which can be read only once, the prompt class of the filter decides.
    """
    if is_read_once(graded):
        return _scale_of(grade_filter.prompt_class) == _SCALE
    accepted = (
        grades
        for query in without_canaries(read_passages(graded))
        for passage in query.passages
        for grades in passage.grade_sets()
        if grade_filter.accepts(grades)
    )
    first = next(accepted, None)
    if first is None:
        return False
    scale = _scale_of(first.prompt_class) or (first.prompt_type, first.max_rating)
    if scale == (_SCALE[0], None):
        ratings = (
            rating for grades in chain([first], accepted) for rating in grades.entry_ratings().values()
        )
        scale = (_SCALE[0], max(ratings, default=None))
    return scale == _SCALE


def _scale_of(prompt_class: str | None) -> tuple[str, int | None] | None:
    """The type and the highest grade of a prompt; None if the prompt is unknown."""
    prompt = PROMPTS.find(prompt_class)
    return None if prompt is None else (f"{prompt.kind}_grading", prompt.max_rating)
