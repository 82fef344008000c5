"""Evaluate: nugget assignments to the scores of answers, for every grader that a file holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from exam_pp.data_model import GradesView, PassageView
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, grader_names
from exam_pp.metrics.nuggets import (
    LENGTH,
    NUGGET_METRICS,
    LabelledNugget,
    answer_length,
    is_label,
)
from exam_pp.metrics.nuggets import nugget_scores as scores_of_answer
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, bank_of, name_of, query_ids, views
from exam_pp.phases.evaluation.result import Evaluation, PathLike, check_names, some
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import under_all_names
from exam_pp.results import Score, Scores
from exam_pp.test_bank import ASSIGNMENT_RATINGS, Entry, TestBank

_LABELS = {rating: label for label, rating in ASSIGNMENT_RATINGS.items()}

Labels = dict[str, list[str | None]]
"""Nugget id to its labels: one, or one for every time that a bank repeats the nugget (None: ungraded)."""


@dataclass
class _Answer:
    """What a system answered to a query: the words, and each grader's labels."""

    words: int = 0
    passages: set[str] = field(default_factory=set)
    labels: dict[GradeKey, Labels] = field(default_factory=dict)


@dataclass
class _Answers:
    """The answers of a file.

    ``graders`` has the systems that each grader assigned nuggets to, ``hashes`` the versions of its prompt,
    ``seen`` whatever grades there are.
    """

    by_query: dict[str, dict[str, _Answer]] = field(default_factory=dict)
    graders: dict[GradeKey, dict[str, None]] = field(default_factory=dict)
    hashes: dict[GradeKey, set[str]] = field(default_factory=dict)
    seen: dict[GradeKey, None] = field(default_factory=dict)


def nugget_scores(
    answers: Passages,
    bank: Bank,
    *,
    grade_filter: GradeFilter | None = None,
    queries: Queries | None = None,
) -> dict[str, Evaluation]:
    """Nugget scores of generated answers, from the nuggets that a grader assigned to them.

    Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the
    AutoNuggetizer Framework" (2024), section 3.5.

    Args:
        answers: Answers as passages with nugget assignments: a file, or queries. The response of a system is
            all passages that it ranks; a nugget has the best label that any of them got.
        bank: The nuggets with their importance; also the queries that means are over.
        grade_filter: Which grades count.
        queries: Query file or query ids to restrict the evaluation to.

    Returns:
        Grader (model, prompt class, or both) to the scores of all systems: V_strict, V, W_strict, W, A_strict
        and A in 0..1, and L, the number of words. A query that a system did not answer scores 0; a
        metric that a query leaves undefined has no score there. ``best_case`` takes ungraded nuggets for
        supported.

    Raises:
        SelectionError: There are no assignments, or none for the nuggets of the bank.
        DataError: A file is not in its format.
    """
    read = bank_of(bank)
    bank_name = name_of(bank, "the bank")
    read.require_kind("nugget", "A nugget score")
    items = bank_items(read)
    if queries is not None:
        wanted = query_ids(queries)
        items = {query_id: entries for query_id, entries in items.items() if query_id in wanted}
        if not items:
            listed = name_of(queries, "the list of queries")
            raise SelectionError(f"None of the queries in {listed} has nuggets in {bank_name}.")
    given = _gather(answers, under_all_names(grade_filter or GradeFilter()))
    _check_ids(given, items, name_of(answers, "the passages"), bank_name)
    name = grader_names(list(given.graders))
    return {name(key): _evaluate(key, list(systems), given, items) for key, systems in given.graders.items()}


def bank_items(bank: TestBank) -> dict[str, list[Entry]]:
    """The nuggets of every query, repeated ones included: published scores count them."""
    items: dict[str, list[Entry]] = {}
    for line in bank.lines:
        items.setdefault(line.query_id, []).extend(line.items)
    return {query_id: entries for query_id, entries in items.items() if entries}


def _gather(graded: Passages, criteria: GradeFilter) -> _Answers:
    answers = _Answers()
    silent: dict[str, bool] = {}
    for line in views(graded):
        systems = answers.by_query.setdefault(line.query_id, {})
        for passage in line.passages:
            labels = _labels(passage, criteria, answers)
            for method in dict.fromkeys(ranking.method for ranking in passage.rankings):
                answer = systems.setdefault(method, _Answer())
                silent[method] = silent.get(method, True) and not passage.text.strip()
                if passage.passage_id not in answer.passages:
                    answer.passages.add(passage.passage_id)
                    answer.words += answer_length(passage.text)
                for key, found in labels.items():
                    answer.labels[key] = better_labels(answer.labels.get(key, {}), found)
                    answers.graders[key][method] = None
    _check_selection(answers, name_of(graded, "the passages"), criteria)
    for methods in answers.graders.values():
        methods |= {method: None for method, nothing in silent.items() if nothing}
    return answers


def _labels(passage: PassageView, criteria: GradeFilter, answers: _Answers) -> dict[GradeKey, Labels]:
    """Each grader's labels of a passage; later ones of a nugget win."""
    found: dict[GradeKey, Labels] = {}
    for grades in passage.grade_sets():
        key = GradeKey.of(grades, criteria)
        answers.seen[key] = None
        pairs = assigned_labels(grades) if criteria.accepts(grades) else None
        if pairs is None:
            continue
        answers.graders.setdefault(key, {})
        if grades.prompt_hash is not None:
            answers.hashes.setdefault(key, set()).add(grades.prompt_hash)
        labels: Labels = {}
        for nugget_id, label in pairs:
            labels.setdefault(nugget_id, []).append(label)
        if criteria.choice == "unite" or key not in found:
            found.setdefault(key, {}).update(labels)
    return found


def assigned_labels(grades: GradesView) -> list[tuple[str, str | None]] | None:
    """Nugget id and label of grades that assign nuggets, else None.

    Of a nugget that repeats, an unknown label is None in its place.

    Ratings of an assignment prompt without labels beside them are labels too: that is how a person's
    corrections may be written.
    """
    pairs = grades.nugget_labels()
    if pairs is not None:
        times = Counter(nugget_id for nugget_id, _ in pairs)
        return [
            (nugget_id, label if is_label(label) else None)
            for nugget_id, label in pairs
            if is_label(label) or times[nugget_id] > 1
        ]
    prompt = PROMPTS.find(grades.prompt_class)
    if prompt is None or prompt.kind != "assignment":
        return None
    return [(entry, _LABELS[rating]) for entry, rating in grades.entry_ratings().items() if rating in _LABELS]


def better_labels(one: Labels, other: Labels) -> Labels:
    """The better label of each nugget, for answers in several passages."""
    united = dict(one)
    for nugget_id, labels in other.items():
        united[nugget_id] = [
            max(pair, key=_rating) for pair in zip_longest(united.get(nugget_id, ()), labels)
        ]
    return united


def _rating(label: str | None) -> int:
    return -1 if label is None else ASSIGNMENT_RATINGS[label]


def _check_selection(answers: _Answers, graded: PathLike, criteria: GradeFilter) -> None:
    if not any(answers.graders.values()):
        if answers.graders:
            raise SelectionError(f"No system in {graded} ranks a passage with nugget assignments.")
        held = f"; it holds: {'; '.join(map(str, sorted(answers.seen)))}" if answers.seen else ""
        raise SelectionError(
            f"No nugget assignments in {graded} match{held}. Make them with `exam-pp grade --prompt-class "
            "NuggetAssignment`, or import them with `exam-pp import --assignments`."
        )
    for key, hashes in answers.hashes.items():
        if len(hashes) > 1 and criteria.choice == "unite":
            raise SelectionError(
                f"The assignments in {graded} with {key} were made with {len(hashes)} versions of the "
                f"prompt's words; choose one with --prompt-hash: {', '.join(sorted(hashes))}."
            )


def _check_ids(
    answers: _Answers, items: Mapping[str, Sequence[Entry]], graded: PathLike, bank: PathLike
) -> None:
    labelled = {
        (query_id, nugget_id)
        for query_id, systems in answers.by_query.items()
        for answer in systems.values()
        for labels in answer.labels.values()
        for nugget_id in labels
    }
    known = {(query_id, entry.entry_id) for query_id, entries in items.items() for entry in entries}
    if labelled and not labelled & known:
        raise SelectionError(f"None of the nuggets that {graded} assigns is in {bank}.")


def _evaluate(
    key: GradeKey, systems: Sequence[str], answers: _Answers, items: Mapping[str, Sequence[Entry]]
) -> Evaluation:
    check_names(items, systems)
    evaluation = Evaluation()
    counts = _Counts(key, systems)
    for query_id, entries in items.items():
        given = answers.by_query.get(query_id, {})
        for system in systems:
            answer = given.get(system)
            words = answer.words if answer else 0
            labels = answer.labels.get(key, {}) if answer and words else None
            nuggets = _labelled(entries, labels)
            counts.add(query_id, system, nuggets, answer)
            _add_rows(evaluation.scores, system, query_id, scores_of_answer(nuggets), words)
            best = scores_of_answer(nuggets, ungraded="support")
            evaluation.best_case.extend(Score(system, query_id, metric, best[metric]) for metric in best)
    if not counts.ungraded:
        evaluation.best_case = []
    evaluation.notes = list(counts.notes(answers, items))
    return evaluation


def _labelled(entries: Sequence[Entry], labels: Labels | None) -> list[LabelledNugget]:
    """The bank's nuggets with their labels; without an answer, nothing is supported."""
    if labels is None:
        return [LabelledNugget(entry.importance, "not_support") for entry in entries]
    given = labels_in_order(entries, labels)
    return [LabelledNugget(entry.importance, label) for entry, label in zip(entries, given, strict=True)]


def labels_in_order(entries: Sequence[Entry], labels: Labels) -> list[str | None]:
    """The label of every entry, None for those without one; a repeated entry has its own, where it has."""
    place: dict[str, int] = {}
    found: list[str | None] = []
    for entry in entries:
        given = labels.get(entry.entry_id, ())
        occurrence = place[entry.entry_id] = place.get(entry.entry_id, -1) + 1
        found.append(given[min(occurrence, len(given) - 1)] if given else None)
    return found


def _add_rows(
    rows: list[Score] | Scores, system: str, query_id: str, scores: Mapping[str, float], words: int
) -> None:
    rows.extend(
        Score(system, query_id, metric, scores[metric]) for metric in NUGGET_METRICS if metric in scores
    )
    rows.extend([Score(system, query_id, LENGTH, float(words))])


@dataclass
class _Counts:
    """What a reader of the scores has to know."""

    key: GradeKey
    systems: Sequence[str]
    ungraded: int = 0
    in_pieces: dict[str, None] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)

    def add(
        self, query_id: str, system: str, nuggets: Iterable[LabelledNugget], answer: _Answer | None
    ) -> None:
        self.ungraded += sum(nugget.assignment is None for nugget in nuggets)
        if answer is None or not answer.words:
            self.missing.setdefault(query_id, []).append(system)
        elif len(answer.passages) > 1:
            self.in_pieces[system] = None

    def notes(self, answers: _Answers, items: Mapping[str, Sequence[Entry]]) -> Iterator[str]:
        """One sentence for each thing that is out of the ordinary."""
        yield from _bank_notes(items)
        yield from self._label_notes(answers, items)
        yield from self._missing_notes()
        if self.in_pieces:
            words = some(list(self.in_pieces), "system", "systems")
            yield f"Answers are in several passages for {words}: the best label of a nugget counts."
        if outside := [query_id for query_id in answers.by_query if query_id not in items]:
            yield f"Left out: {some(outside, 'query', 'queries')} of the file without nuggets in the bank."
        left = {system for systems in answers.by_query.values() for system in systems} - set(self.systems)
        if left:
            words = some(sorted(left), "system", "systems")
            yield f"Left out: {words} without an assignment by this grader."

    def _label_notes(self, answers: _Answers, items: Mapping[str, Sequence[Entry]]) -> Iterator[str]:
        if self.ungraded:
            pairs, are = ("pair", "is") if self.ungraded == 1 else ("pairs", "are")
            yield f"{self.ungraded} {pairs} of an answer and a nugget {are} ungraded: 0 for each."
        untouched: list[str] = []
        foreign: set[tuple[str, str]] = set()
        for query_id, entries in items.items():
            ids = {entry.entry_id for entry in entries}
            given = answers.by_query.get(query_id, {})
            answered = [given[system] for system in self.systems if system in given and given[system].words]
            labels = [answer.labels[self.key] for answer in answered if self.key in answer.labels]
            if answered and not labels:
                untouched.append(query_id)
            foreign.update((query_id, nugget) for found in labels for nugget in found if nugget not in ids)
        if untouched:
            words = some(untouched, "query", "queries")
            yield f"This grader labelled no answer to {words}: all score 0 there (restrict with --queries)."
        if foreign:
            are = _number(len(foreign), "assigned nugget that is", "assigned nuggets that are")
            yield f"Ignored: {are} not in the bank."

    def _missing_notes(self) -> Iterator[str]:
        nobody = [q for q, systems in self.missing.items() if len(systems) == len(self.systems)]
        if nobody:
            words = some(nobody, "query", "queries")
            yield f"No system answers {words} of the bank: all score 0 there (restrict with --queries)."
        by_system: dict[str, list[str]] = {}
        for query_id, systems in self.missing.items():
            for system in systems if query_id not in nobody else ():
                by_system.setdefault(system, []).append(query_id)
        for system, queries in by_system.items():
            yield f"{system} has no answer to {some(queries, 'query', 'queries')}: 0 there."


def _bank_notes(items: Mapping[str, Sequence[Entry]]) -> Iterator[str]:
    kinds = {query_id: {entry.importance for entry in entries} for query_id, entries in items.items()}
    if no_vital := [query_id for query_id, found in kinds.items() if "vital" not in found]:
        words = some(no_vital, "query", "queries")
        yield f"No vital nugget for {words}: left out of the means of V and V_strict, undefined there."
    if unweighted := [query_id for query_id, found in kinds.items() if not found & {"vital", "okay"}]:
        words = some(unweighted, "query", "queries")
        yield f"No vital and no okay nugget for {words}: left out of the means of W and W_strict."
    every = [entry for entries in items.values() for entry in entries]
    if unknown := sum(entry.importance not in ("vital", "okay") for entry in every):
        are = _number(unknown, "nugget is", "nuggets are")
        yield f"{are} neither vital nor okay: counted in A and A_strict alone."
    if repeated := len(every) - len({(entry.query_id, entry.entry_id) for entry in every}):
        repeat = _number(repeated, "nugget repeats", "nuggets repeat")
        yield f"{repeat} another one of the query: each counts, as published."


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
