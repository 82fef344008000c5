"""Notes on ungraded, missing and skipped data that affect nugget scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exam_pp.banks import Entry
from exam_pp.grade_filter import GradeKey
from exam_pp.metrics.nuggets import LabelledNugget, MissingVital
from exam_pp.phases.evaluation.nugget_answers import LabelledAnswer, LabelledAnswers
from exam_pp.phases.evaluation.result import MissingQueries, counted_names
from exam_pp.text.wording import counted

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
    rule = "0 there" if missing_vital == "zero" else "undefined there, and not in their means"
    importances_of = {
        query_id: {entry.importance for entry in entries} for query_id, entries in items.items()
    }
    if without_vital := [
        query_id for query_id, importances in importances_of.items() if "vital" not in importances
    ]:
        of = counted_names(without_vital, "query", "queries")
        yield f"No vital nugget for {of}: V and V_strict are {rule}."
    if without_weight := [
        query_id for query_id, importances in importances_of.items() if not importances & {"vital", "okay"}
    ]:
        of = counted_names(without_weight, "query", "queries")
        yield f"No vital or okay nugget for {of}: W and W_strict are {rule}."
    all_nuggets = [entry for entries in items.values() for entry in entries]
    if unknown := sum(entry.importance not in ("vital", "okay") for entry in all_nuggets):
        are = counted(unknown, "nugget is", "nuggets are")
        yield f"{are} neither vital nor okay: only A and A_strict include them."
    if copies := len(all_nuggets) - len({(entry.query_id, entry.entry_id) for entry in all_nuggets}):
        duplicates = counted(copies, "duplicate nugget")
        yield f"{duplicates} in the bank: every copy counts, as in the published scores."
