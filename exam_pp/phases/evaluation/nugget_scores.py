"""Nugget scores of answers from nugget assignments, for every grader in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from exam_pp.banks import ASSIGNMENT_RATINGS, Entry, TestBank, written_by
from exam_pp.data_model import AnyGrades, PassageView, Role, is_human
from exam_pp.decided_grades import Review
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, grader_names, judges_of
from exam_pp.judges import REVIEWED
from exam_pp.metrics.nuggets import (
    LENGTH,
    NUGGET_METRICS,
    LabelledNugget,
    MissingVital,
    answer_length,
    is_label,
)
from exam_pp.metrics.nuggets import nugget_scores as scores_of_answer
from exam_pp.phases.evaluation.inputs import (
    Bank,
    Passages,
    Queries,
    bank_of,
    loaded,
    name_of,
    query_ids,
    views,
)
from exam_pp.phases.evaluation.result import (
    Corrections,
    Evaluation,
    MissingQueries,
    PathLike,
    check_names,
    counted_names,
)
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import file_names, graded_by, reviewed_by
from exam_pp.results import Score, Scores
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.metrics.fair_sample import DecidedUnits

Labels = dict[str, list[str | None]]
"""Nugget id to its labels, one for each copy of the nugget in the bank; None is ungraded."""

_LABELS = {rating: label for label, rating in ASSIGNMENT_RATINGS.items()}


def assigned_labels(grades: AnyGrades) -> list[tuple[str, str | None]] | None:
    """Pairs of nugget id and label of grades that assign nuggets; None for other grades.

    An unknown label is skipped; for a duplicate nugget it is None, so that the labels of the copies stay in
    order. Ratings of an assignment prompt without labels are converted to labels, because corrections of
    reviewers are stored as ratings.
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


def better_labels(left: Labels, right: Labels) -> Labels:
    """The better label of each nugget, copy by copy, for an answer in several passages."""
    merged = dict(left)
    for nugget_id, labels in right.items():
        merged[nugget_id] = [
            max(pair, key=_rating) for pair in zip_longest(merged.get(nugget_id, ()), labels)
        ]
    return merged


def _rating(label: str | None) -> int:
    return -1 if label is None else ASSIGNMENT_RATINGS[label]


def labels_in_order(entries: Sequence[Entry], labels: Labels) -> list[str | None]:
    """The label of every entry, or None; the n-th copy of an entry has the n-th label, or the last."""
    occurrences: dict[str, int] = {}
    ordered: list[str | None] = []
    for entry in entries:
        of_entry = labels.get(entry.entry_id, ())
        occurrence = occurrences[entry.entry_id] = occurrences.get(entry.entry_id, -1) + 1
        ordered.append(of_entry[min(occurrence, len(of_entry) - 1)] if of_entry else None)
    return ordered


@dataclass(frozen=True)
class _Part:
    """A passage of an answer: its id, its length in words, and the labels of each grader.

    ``by_people`` are the labels of these by people.
    """

    passage_id: str
    length: int
    labels: Mapping[GradeKey, Labels]
    by_people: Mapping[GradeKey, Labels]


@dataclass
class LabelledAnswer:
    """A system's answer to a query: its length in words, its passages, and the labels of each grader.

    ``texts`` are the passages that are not empty. ``by_people`` are the best labels by people,
    ``checked`` the passages that they labelled. ``ranked`` are its parts in rank order with their
    ranks and negative scores, until the cutoff is known.
    """

    length: int = 0
    texts: set[str] = field(default_factory=set)
    passages: set[str] = field(default_factory=set)
    labels: dict[GradeKey, Labels] = field(default_factory=dict)
    by_people: dict[GradeKey, Labels] = field(default_factory=dict)
    checked: dict[tuple[GradeKey, str], set[str]] = field(default_factory=dict)
    ranked: list[tuple[int, float, _Part]] = field(default_factory=list)

    def add(self, part: _Part) -> None:
        """Add a passage; for each nugget the best label counts."""
        if part.passage_id not in self.passages:
            self.passages.add(part.passage_id)
            self.length += part.length
            if part.length:
                self.texts.add(part.passage_id)
        for labels, of_part in ((self.labels, part.labels), (self.by_people, part.by_people)):
            for key, of_grader in of_part.items():
                labels[key] = better_labels(labels.get(key, {}), of_grader)
        for key, of_people in part.by_people.items():
            for nugget in of_people:
                self.checked.setdefault((key, nugget), set()).add(part.passage_id)

    def decided(self, key: GradeKey, nugget_id: str) -> bool:
        """Whether people found a nugget supported by one passage, or labelled it in all of them."""
        labels = self.by_people.get(key, {}).get(nugget_id, ())
        return "support" in labels or self.checked.get((key, nugget_id), set()) >= self.texts

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

    ``graders`` maps each grader to the systems that it graded, ``hashes`` to the versions of its prompt,
    ``labels`` to the number of its labels, and ``reviews`` to what people changed of them. ``available`` are
    the models and prompt classes of all grades in the file.
    """

    by_query: dict[str, dict[str, LabelledAnswer]] = field(default_factory=dict)
    graders: dict[GradeKey, dict[str, None]] = field(default_factory=dict)
    hashes: dict[GradeKey, set[str]] = field(default_factory=dict)
    labels: Counter[GradeKey] = field(default_factory=Counter)
    reviews: dict[GradeKey, Review] = field(default_factory=dict)
    available: dict[GradeKey, None] = field(default_factory=dict)

    def are_partly_checked(self, key: GradeKey) -> bool:
        """Whether people did not decide all labels of a judge."""
        answers = [answer for systems in self.by_query.values() for answer in systems.values()]
        return not all(each.decided(key, nugget) for each in answers for nugget in each.labels.get(key, ()))

    def keep_judges(self) -> None:
        """Drop people who rated in the place of a judge, here of parts that the judge did not label."""
        judges = judges_of(self.graders)
        self.graders = {key: systems for key, systems in self.graders.items() if key in judges}

    def shown(self, key: GradeKey) -> GradeKey:
        """The name of a grader, which is not the judge's own if people changed its labels."""
        return key._replace(model=f"{REVIEWED}{key.model}") if key in self.reviews else key


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
            labels, by_people = _labels(passage, criteria, answers)
            part = _Part(passage.passage_id, answer_length(passage.text), labels, by_people)
            for method in dict.fromkeys(ranking.method for ranking in passage.rankings):
                answer = systems.setdefault(method, LabelledAnswer())
                empty_answers[method] = empty_answers.get(method, True) and not part.length
                # With a cutoff, parts wait: a later query may show that the ranks of their system begin at 0.
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
    if criteria.reviewed:
        answers.keep_judges()
    for methods in answers.graders.values():
        methods |= {method: None for method, is_empty in empty_answers.items() if is_empty}
    return answers


def _labels(
    passage: PassageView, criteria: GradeFilter, answers: LabelledAnswers
) -> tuple[dict[GradeKey, Labels], dict[GradeKey, Labels]]:
    """The labels of a passage by grader, and those of these by people.

    If a grader has several sets, the last label of a nugget wins; with the choice ``first``, the first set.
    """
    labels_by_grader: dict[GradeKey, Labels] = {}
    by_people: dict[GradeKey, Labels] = {}
    sets_by_grader: dict[GradeKey, list[AnyGrades]] = {}
    for grades in passage.grade_sets():
        key = GradeKey.of(grades, criteria)
        answers.available[key] = None
        if not criteria.accepts(grades) or assigned_labels(grades) is None:
            continue
        answers.graders.setdefault(key, {})
        if grades.prompt_hash is not None:
            answers.hashes.setdefault(key, set()).add(grades.prompt_hash)
        if criteria.choice == "merge" or key not in sets_by_grader:
            sets_by_grader.setdefault(key, []).append(grades)
    if criteria.reviewed:
        sets_by_grader = _reviewed(sets_by_grader, answers)
    for key, sets in sets_by_grader.items():
        merged = labels_by_grader.setdefault(key, {})
        for grades in sets:
            labels: Labels = {}
            for nugget_id, label in assigned_labels(grades) or ():
                labels.setdefault(nugget_id, []).append(label)
            merged.update(labels)
            if is_human(grades.model):
                by_people.setdefault(key, {}).update(labels)
        answers.labels[key] += sum(map(len, merged.values()))
    return labels_by_grader, by_people


def _reviewed(
    sets: Mapping[GradeKey, list[AnyGrades]], answers: LabelledAnswers
) -> dict[GradeKey, list[AnyGrades]]:
    """The sets of each judge, followed by those of people with the same prompt class."""
    reviewed = {}
    for key in judges_of(sets):
        people = [
            grades
            for other, of_other in sets.items()
            if other.is_reviewer and other != key and other.prompt_class == key.prompt_class
            for grades in of_other
        ]
        in_place: list[AnyGrades] = []
        if people and not key.is_reviewer:
            in_place = [*answers.reviews.setdefault(key, Review()).of_people(sets[key], people)]
        reviewed[key] = [*sets[key], *in_place]
    return reviewed


def _check_selection(answers: LabelledAnswers, graded: PathLike, criteria: GradeFilter) -> None:
    if not any(answers.graders.values()):
        if answers.graders:
            raise SelectionError(f"No system in {graded} has a passage with nugget assignments.")
        listed = f" (it has: {'; '.join(map(str, sorted(answers.available)))})" if answers.available else ""
        raise SelectionError(
            f"No nugget assignments in {graded} match the selection{listed}. Make them with `exam-pp grade "
            "--prompt nugget-assignment`, or import them with `exam-pp import --from "
            "nuggetizer-assignments`."
        )
    for key, hashes in answers.hashes.items():
        if len(hashes) > 1 and criteria.choice == "merge":
            raise SelectionError(
                f"The assignments in {graded} with {key} were made with {len(hashes)} versions of the "
                f"prompt; select one with --grades hash: {', '.join(sorted(hashes))}."
            )


ALL_NUGGETS = "_all_nuggets_"
"""Name of the artificial run whose answers support every nugget: the highest possible scores."""
EMPTY_ANSWERS = "_empty_answers_"
"""Name of the artificial run of empty answers: the lowest possible scores."""


def nugget_scores(
    answers: Passages,
    bank: Bank,
    *,
    grade_filter: GradeFilter | None = None,
    queries: Queries | None = None,
    cutoff: int | None = None,
    missing_queries: MissingQueries = "zero",
    missing_vital: MissingVital = "zero",
    role: Role | None = None,
    canaries: bool = False,
    reviewed: bool = True,
) -> dict[str, Evaluation]:
    """Nugget scores of generated answers, from nugget assignments.

    Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the
    AutoNuggetizer Framework" (2024), section 3.5.

    Args:
        answers: Answers as passages with nugget assignments: a file, or queries. A system's answer consists
            of all passages that it ranks; the best label of these passages counts for each nugget.
        bank: The nuggets with their importance. Means are over the queries of the bank.
        grade_filter: Selects grades. Default: all grades.
        queries: Query file or query ids to restrict the evaluation to.
        cutoff: Number of ranks of each system that count, for retrieved passages. None: all passages.
        missing_queries: ``zero``: a query without an answer of a system scores 0. ``skip``: it is not in the
            means of the system, as in the track's own code. An empty answer scores 0 in both cases.
        missing_vital: ``zero``: V and V_strict are 0 for a query without vital nuggets, as in the track's own
            code. ``skip``: they have no score for it. So are W and W_strict without vital and okay nuggets.
        role: Evaluate only what systems ``retrieved``, or only each ``answer``. None: as for
            :func:`exam_pp.cover`.
        canaries: Whether canaries are systems of the evaluation, like any other.
        reviewed: Whether labels of people count in place of a judge's; False: every grader has its scores.

    Returns:
        Grader (model, prompt class, or both) to the scores of all systems: V_strict, V, W_strict, W, A_strict
        and A in 0..1, and L, the number of words. In ``best_case``, ungraded nuggets count as supported.

    Raises:
        SelectionError: There are no assignments, or no assigned nugget is in the bank.
        DataError: A file is not in its format.
    """
    nuggets = bank_of(bank)
    items = _selected_items(nuggets, queries, bank)
    answers = loaded(answers)
    criteria = with_aliases(grade_filter or GradeFilter())
    criteria = criteria.for_scores if reviewed else criteria
    assigned = labelled_answers(answers, criteria, cutoff, role, canaries=canaries)
    _check_ids(assigned, items, name_of(answers, "the passages"), name_of(bank, "the bank"))
    rules = MissingRules(missing_queries, missing_vital)

    @cache
    def of_judge(key: GradeKey) -> LabelledAnswers:
        alone = replace(criteria, model=key.model, prompt_class=key.prompt_class, reviewed=False)
        return labelled_answers(answers, alone, cutoff, role, canaries=canaries)

    name = grader_names([assigned.shown(key) for key in assigned.graders])
    return {
        name(assigned.shown(key)): replace(
            _evaluate(key, list(systems), assigned, items, rules),
            of_answers=True,
            provenance=replace(
                reviewed_by(
                    graded_by([assigned.shown(key)]),
                    assigned.reviews.get(key),
                    assigned.labels[key],
                    partly=assigned.are_partly_checked(key),
                ),
                banks=file_names(bank),
                queries=len(items),
                cutoff=cutoff,
                writers=written_by(nuggets),
            ),
            corrections=Corrections(
                assigned.reviews[key].by,
                list(systems),
                cache(partial(_alone, key, list(systems), partial(of_judge, key), items, rules)),
                cache(partial(_units, key, list(systems), assigned, partial(of_judge, key), items)),
            )
            if key in assigned.reviews
            else None,
        )
        for key, systems in assigned.graders.items()
    }


def _alone(
    key: GradeKey,
    systems: Sequence[str],
    of_judge: Callable[[], LabelledAnswers],
    items: Mapping[str, Sequence[Entry]],
    rules: MissingRules,
) -> Evaluation:
    return _evaluate(key, systems, of_judge(), items, rules)


def _units(
    key: GradeKey,
    systems: Sequence[str],
    answers: LabelledAnswers,
    of_judge: Callable[[], LabelledAnswers],
    items: Mapping[str, Sequence[Entry]],
    metric: str,
) -> list[DecidedUnits]:
    """The units of a measure: the nuggets of a query, which count as they do in the measure."""
    from exam_pp.metrics.fair_sample import DecidedUnits  # noqa: PLC0415 - numpy is slow to import

    alone, units = of_judge(), []
    for query_id, entries in items.items():
        ids = [entry.entry_id for entry in entries]
        judged, people, checked = [], [], []
        for system in systems:
            answer, by_judge = (
                of.by_query.get(query_id, {}).get(system, LabelledAnswer()) for of in (answers, alone)
            )
            labels = labels_in_order(entries, by_judge.labels.get(key, {}))
            judged.append([_value(metric, label) for label in labels])
            labels = labels_in_order(entries, answer.by_people.get(key, {}))
            people.append(
                [
                    _value(metric, label) if not answer.texts or answer.decided(key, nugget) else float("nan")
                    for nugget, label in zip(ids, labels, strict=True)
                ]
            )
            rated = sum(len(answer.checked.get((key, nugget), set()) & answer.texts) for nugget in ids)
            checked.append((rated, len(ids) * len(answer.texts)))
        weights = [_worth(metric, entries, position) for position in range(len(ids))]
        units.append(DecidedUnits.drawn(query_id, ids, weights, judged, people, checked))
    return units


def _worth(metric: str, entries: Sequence[Entry], position: int) -> float:
    """What a nugget counts: the score of an answer that supports no other."""
    labels = ["support" if place == position else "not_support" for place in range(len(entries))]
    nuggets = [LabelledNugget(entry.importance, label) for entry, label in zip(entries, labels, strict=True)]
    return scores_of_answer(nuggets)[metric]


def _value(metric: str, label: str | None) -> float:
    """What a label of a nugget counts, from 0 to 1."""
    return scores_of_answer([LabelledNugget("vital", label)])[metric]


def sanity_scores(bank: Bank, *, queries: Queries | None = None) -> list[Score]:
    """The scores of two artificial runs that bound all scores: every nugget supported, and empty answers.

    The length of the first is that of all nuggets together. They correspond to the runs all_nuggets and
    test_empty_list of the coordinators in Table 8 of Pradeep et al. (2024). Raises
    :class:`~exam_pp.errors.ExamError` as :func:`nugget_scores` does.
    """
    rows: list[Score] = []
    for query_id, entries in _selected_items(bank_of(bank), queries, bank).items():
        words = sum(answer_length(entry.text) for entry in entries)
        for system, label, length in ((ALL_NUGGETS, "support", words), (EMPTY_ANSWERS, "not_support", 0)):
            nuggets = [LabelledNugget(entry.importance, label) for entry in entries]
            _add_rows(rows, system, query_id, scores_of_answer(nuggets), length)
    return rows


def _selected_items(nuggets: TestBank, queries: Queries | None, bank: Bank) -> dict[str, list[Entry]]:
    """The nuggets of each query, or of the selected ones; raises :class:`SelectionError` if none remain.

    ``bank`` names the bank in messages.
    """
    nuggets.require_kind("nugget", "A nugget score", " For questions, use `exam-pp evaluate cover`.")
    items = bank_items(nuggets)
    if queries is None:
        return items
    selected = query_ids(queries)
    items = {query_id: entries for query_id, entries in items.items() if query_id in selected}
    if not items:
        listed, bank_name = name_of(queries, "the list of queries"), name_of(bank, "the bank")
        raise SelectionError(f"None of the queries in {listed} has nuggets in {bank_name}.")
    return items


def bank_items(bank: TestBank) -> dict[str, list[Entry]]:
    """Query id to nuggets, with duplicates, because published scores count every duplicate."""
    items: dict[str, list[Entry]] = {}
    for line in bank.lines:
        items.setdefault(line.query_id, []).extend(line.items)
    return {query_id: entries for query_id, entries in items.items() if entries}


def _check_ids(
    answers: LabelledAnswers, items: Mapping[str, Sequence[Entry]], graded: PathLike, bank: PathLike
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
        raise SelectionError(f"None of the nuggets assigned in {graded} is in {bank}.")


def _evaluate(
    key: GradeKey,
    systems: Sequence[str],
    answers: LabelledAnswers,
    items: Mapping[str, Sequence[Entry]],
    rules: MissingRules,
) -> Evaluation:
    check_names(items, systems)
    evaluation = Evaluation()
    counts = NuggetCounts(key, systems, rules)
    for query_id, entries in items.items():
        of_query = answers.by_query.get(query_id, {})
        for system in systems:
            answer = of_query.get(system)
            length = answer.length if answer else 0
            labels = answer.labels.get(key, {}) if answer and length else None
            nuggets = _labelled(entries, labels)
            counts.add(query_id, system, nuggets, answer)
            if answer is None and rules.missing_queries == "skip":
                continue
            scores = scores_of_answer(nuggets, missing_vital=rules.missing_vital)
            _add_rows(evaluation.scores, system, query_id, scores, length)
            best = scores_of_answer(nuggets, ungraded="support", missing_vital=rules.missing_vital)
            evaluation.best_case.extend(Score(system, query_id, metric, best[metric]) for metric in best)
    if not counts.ungraded:
        evaluation.best_case = []
    evaluation.notes = list(counts.notes(answers, items))
    if rules.missing_queries == "zero":
        evaluation.lacking = Counter(
            system
            for query_id in items
            for system in systems
            if system not in answers.by_query.get(query_id, {})
        )
    return evaluation


def _labelled(entries: Sequence[Entry], labels: Labels | None) -> list[LabelledNugget]:
    """The bank's nuggets with their labels; all are ``not_support`` without an answer (None)."""
    if labels is None:
        return [LabelledNugget(entry.importance, "not_support") for entry in entries]
    ordered = labels_in_order(entries, labels)
    return [LabelledNugget(entry.importance, label) for entry, label in zip(entries, ordered, strict=True)]


def _add_rows(
    rows: list[Score] | Scores, system: str, query_id: str, scores: Mapping[str, float], length: int
) -> None:
    rows.extend(
        Score(system, query_id, metric, scores[metric]) for metric in NUGGET_METRICS if metric in scores
    )
    rows.extend([Score(system, query_id, LENGTH, float(length))])


_HINT = "Exclude such queries with --queries."


class MissingRules(NamedTuple):
    """The scores of queries without an answer, and without a vital nugget."""

    missing_queries: MissingQueries
    missing_vital: MissingVital


@dataclass
class NuggetCounts:
    """Counts of ungraded pairs, split answers, empty and missing answers, for the notes."""

    key: GradeKey
    systems: Sequence[str]
    rules: MissingRules
    ungraded: int = 0
    split_answers: dict[str, None] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)

    def add(
        self, query_id: str, system: str, nuggets: Iterable[LabelledNugget], answer: LabelledAnswer | None
    ) -> None:
        """Count an answer to a query; None is no answer."""
        self.ungraded += sum(nugget.assignment is None for nugget in nuggets)
        if answer is None and self.rules.missing_queries == "skip":
            self.skipped.setdefault(system, []).append(query_id)
        elif answer is None or not answer.length:
            self.missing.setdefault(query_id, []).append(system)
        elif len(answer.passages) > 1:
            self.split_answers[system] = None

    def notes(self, answers: LabelledAnswers, items: Mapping[str, Sequence[Entry]]) -> Iterator[str]:
        """Notes on skipped, missing and ungraded data that affect the scores."""
        yield from _bank_notes(items, self.rules.missing_vital)
        yield from self._label_notes(answers, items)
        yield from self._missing_notes()
        if self.split_answers:
            systems = counted_names(list(self.split_answers), "system", "systems")
            yield f"Answers of {systems} have several passages: the best label of each nugget counts."
        if outside := [query_id for query_id in answers.by_query if query_id not in items]:
            yield f"Skipped {counted_names(outside, 'query', 'queries')} without nuggets in the bank."
        ungraded_systems = {system for systems in answers.by_query.values() for system in systems} - set(
            self.systems
        )
        if ungraded_systems:
            skipped = counted_names(sorted(ungraded_systems), "system", "systems")
            yield f"Skipped {skipped} without assignments by this grader."

    def _label_notes(self, answers: LabelledAnswers, items: Mapping[str, Sequence[Entry]]) -> Iterator[str]:
        if self.ungraded:
            pairs, are = counted(self.ungraded, "pair"), "is" if self.ungraded == 1 else "are"
            yield f"{pairs} of an answer and a nugget {are} ungraded: each scores 0."
        untouched: list[str] = []
        foreign: set[tuple[str, str]] = set()
        for query_id, entries in items.items():
            ids = {entry.entry_id for entry in entries}
            of_query = answers.by_query.get(query_id, {})
            answered = [
                of_query[system] for system in self.systems if system in of_query and of_query[system].length
            ]
            labels = [answer.labels[self.key] for answer in answered if self.key in answer.labels]
            if answered and not labels:
                untouched.append(query_id)
            foreign.update(
                (query_id, nugget) for of_answer in labels for nugget in of_answer if nugget not in ids
            )
        if untouched:
            of = counted_names(untouched, "query", "queries")
            yield f"This grader labelled no answer to {of}: all systems score 0 there. {_HINT}"
        if foreign:
            are = counted(len(foreign), "assigned nugget that is", "assigned nuggets that are")
            yield f"Ignored {are} not in the bank."

    def _missing_notes(self) -> Iterator[str]:
        unanswered = [q for q, systems in self.missing.items() if len(systems) == len(self.systems)]
        if unanswered:
            of = counted_names(unanswered, "query", "queries")
            yield f"No system answers {of} of the bank: all systems score 0 there. {_HINT}"
        by_system: dict[str, list[str]] = {}
        for query_id, systems in self.missing.items():
            for system in systems if query_id not in unanswered else ():
                by_system.setdefault(system, []).append(query_id)
        for system, queries in by_system.items():
            of = counted_names(queries, "query", "queries")
            yield f"{system} has no answer with text to {of} and scores 0 there."
        for system, queries in self.skipped.items():
            yield f"{system} has no answer to {counted_names(queries, 'query', 'queries')}: not in its means."


def _bank_notes(items: Mapping[str, Sequence[Entry]], missing_vital: MissingVital) -> Iterator[str]:
    all_nuggets = [entry for entries in items.values() for entry in entries]
    unknown = sum(entry.importance not in ("vital", "okay") for entry in all_nuggets)
    if unknown == len(all_nuggets):
        yield "No nugget of the bank is vital or okay: only A_strict and A compare answers."
    else:
        yield from _missing_importance(items, missing_vital)
        if unknown:
            are = counted(unknown, "nugget is", "nuggets are")
            yield f"{are} neither vital nor okay: only A and A_strict include them."
    if copies := len(all_nuggets) - len({(entry.query_id, entry.entry_id) for entry in all_nuggets}):
        duplicates = counted(copies, "duplicate nugget")
        yield f"{duplicates} in the bank: every copy counts, as in the published scores."


def _missing_importance(items: Mapping[str, Sequence[Entry]], missing_vital: MissingVital) -> Iterator[str]:
    rule = "0 there" if missing_vital == "zero" else "undefined there, and not in their means"
    for importances, labels, metrics in (
        ({"vital"}, "vital", "V and V_strict"),
        ({"vital", "okay"}, "vital or okay", "W and W_strict"),
    ):
        without = [
            query_id
            for query_id, entries in items.items()
            if importances.isdisjoint(entry.importance for entry in entries)
        ]
        if without:
            of = counted_names(without, "query", "queries")
            yield f"No {labels} nugget for {of}: {metrics} are {rule}."
