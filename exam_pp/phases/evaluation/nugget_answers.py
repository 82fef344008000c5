"""Answers of a file with their length, and the labels that each grader gave the nuggets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exam_pp.data_model import PassageView, Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.metrics.nuggets import answer_length
from exam_pp.phases.evaluation.inputs import Passages, name_of, views
from exam_pp.phases.evaluation.nugget_labels import Labels, assigned_labels, better_labels
from exam_pp.phases.evaluation.result import PathLike


@dataclass(frozen=True)
class _Part:
    """A passage of an answer: its id, its length in words, and the labels of each grader."""

    passage_id: str
    length: int
    labels: Mapping[GradeKey, Labels]


@dataclass
class LabelledAnswer:
    """A system's answer to a query: its length in words, its passages, and the labels of each grader.

    ``ranked`` are its parts in rank order with their ranks and negative scores, until the cutoff is known.
    """

    length: int = 0
    passages: set[str] = field(default_factory=set)
    labels: dict[GradeKey, Labels] = field(default_factory=dict)
    ranked: list[tuple[int, float, _Part]] = field(default_factory=list)

    def add(self, part: _Part) -> None:
        """Add a passage; for each nugget the best label counts."""
        if part.passage_id not in self.passages:
            self.passages.add(part.passage_id)
            self.length += part.length
        for key, of_grader in part.labels.items():
            self.labels[key] = better_labels(self.labels.get(key, {}), of_grader)

    def add_top(self, first_rank: int, cutoff: int) -> None:
        """Add the ranked parts within the cutoff; a passage that is ranked twice counts once."""
        chosen: dict[str, list[_Part]] = {}
        for rank, _, part in sorted(self.ranked, key=lambda item: item[:2]):
            if rank < first_rank + cutoff and (part.passage_id in chosen or len(chosen) < cutoff):
                chosen.setdefault(part.passage_id, []).append(part)
        for parts in chosen.values():
            for part in parts:
                self.add(part)
        self.ranked = []


@dataclass
class LabelledAnswers:
    """The answers of a file.

    ``graders`` maps each grader to the systems that it graded, ``hashes`` to the versions of its prompt.
    ``available`` are the models and prompt classes of all grades in the file.
    """

    by_query: dict[str, dict[str, LabelledAnswer]] = field(default_factory=dict)
    graders: dict[GradeKey, dict[str, None]] = field(default_factory=dict)
    hashes: dict[GradeKey, set[str]] = field(default_factory=dict)
    available: dict[GradeKey, None] = field(default_factory=dict)


def labelled_answers(
    graded: Passages,
    criteria: GradeFilter,
    cutoff: int | None,
    role: Role | None = None,
    *,
    canaries: bool = False,
) -> LabelledAnswers:
    """The answers of all systems in a file, with the labels that the filter selects.

    Every grader has all systems whose answers are empty, because nothing is there to label. Canary systems
    are left out, unless ``canaries`` is True. Raises
    SelectionError if no labels are selected, or labels of several versions of a prompt.
    """
    answers = LabelledAnswers()
    empty_answers: dict[str, bool] = {}
    first_ranks: dict[str, int] = {}
    for line in views(graded, role, canaries=canaries):
        systems = answers.by_query.setdefault(line.query_id, {})
        for passage in line.passages:
            labels = _labels(passage, criteria, answers)
            part = _Part(passage.passage_id, answer_length(passage.text), labels)
            for method in dict.fromkeys(ranking.method for ranking in passage.rankings):
                answer = systems.setdefault(method, LabelledAnswer())
                empty_answers[method] = empty_answers.get(method, True) and not part.length
                if cutoff is None:
                    answer.add(part)
                for key in labels:
                    answers.graders[key][method] = None
            for ranking in passage.rankings if cutoff is not None else ():
                if ranking.rank == 0:
                    first_ranks[ranking.method] = 0
                systems[ranking.method].ranked.append((ranking.rank, -ranking.score, part))
    if cutoff is not None:
        for of_query in answers.by_query.values():
            for method, answer in of_query.items():
                answer.add_top(first_ranks.get(method, 1), cutoff)
    _check_selection(answers, name_of(graded, "the passages"), criteria)
    for methods in answers.graders.values():
        methods |= {method: None for method, is_empty in empty_answers.items() if is_empty}
    return answers


def _labels(passage: PassageView, criteria: GradeFilter, answers: LabelledAnswers) -> dict[GradeKey, Labels]:
    """The labels of a passage by grader.

    If a grader has several sets, the last label of a nugget wins; with the choice ``first``, the first set.
    """
    labels_by_grader: dict[GradeKey, Labels] = {}
    for grades in passage.grade_sets():
        key = GradeKey.of(grades, criteria)
        answers.available[key] = None
        pairs = assigned_labels(grades) if criteria.accepts(grades) else None
        if pairs is None:
            continue
        answers.graders.setdefault(key, {})
        if grades.prompt_hash is not None:
            answers.hashes.setdefault(key, set()).add(grades.prompt_hash)
        labels: Labels = {}
        for nugget_id, label in pairs:
            labels.setdefault(nugget_id, []).append(label)
        if criteria.choice == "merge" or key not in labels_by_grader:
            labels_by_grader.setdefault(key, {}).update(labels)
    return labels_by_grader


def _check_selection(answers: LabelledAnswers, graded: PathLike, criteria: GradeFilter) -> None:
    if not any(answers.graders.values()):
        if answers.graders:
            raise SelectionError(f"No system in {graded} has a passage with nugget assignments.")
        listed = f" (it has: {'; '.join(map(str, sorted(answers.available)))})" if answers.available else ""
        raise SelectionError(
            f"No nugget assignments in {graded} match the selection{listed}. Make them with `exam-pp grade "
            "--prompt-class NuggetAssignment`, or import them with `exam-pp import --from "
            "nuggetizer-assignments`."
        )
    for key, hashes in answers.hashes.items():
        if len(hashes) > 1 and criteria.choice == "merge":
            raise SelectionError(
                f"The assignments in {graded} with {key} were made with {len(hashes)} versions of the "
                f"prompt; select one with --grades hash: {', '.join(sorted(hashes))}."
            )
