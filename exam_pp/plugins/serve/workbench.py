"""What a live workbench shows: the leaderboard of a study with changes of people, and the impact of drafts.

Nothing is computed here: changes are applied, scored and worded by the functions of ``exam-pp bank apply``,
``apply``, ``grade`` and ``evaluate``, on a study in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from exam_pp.banks import Entry, TestBank
from exam_pp.data_model import Passage, QueryPassages
from exam_pp.errors import DataError
from exam_pp.grade_filter import GradeFilter
from exam_pp.judges import E5, LEXICAL
from exam_pp.phases.banks.edit import edit_lines
from exam_pp.phases.evaluation.inputs import LoadedPassages
from exam_pp.phases.evaluation.leaderboards import Standings, Statistics, leaderboard
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, read_selected
from exam_pp.phases.evaluation.verdict import verdict
from exam_pp.phases.review.apply_ratings import Add, Survey, decisions
from exam_pp.phases.review.content_keys import entry_keys, passage_key, query_text_of, scale_of
from exam_pp.phases.review.rating_scale import rating_scale
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.plugins.serve.log import BANK_OPS, Event, folded, undoable
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.records import replace as copy_of
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import BankEdit, Edits, Span, file_sha256
from exam_pp.studies.boards import Board
from exam_pp.studies.engine import Grading

T = TypeVar("T")

_SHOWN = 10
"""Maximum number of passages of an impact."""


class _Rated(LoadedPassages):
    """Passages with ratings of people, which share what is known of the judge's grades alone."""

    def __init__(self, queries: Sequence[QueryPassages], of_judge: dict[tuple[object, ...], Any]) -> None:
        super().__init__(queries)
        self._of_judge = of_judge

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """What ``make`` returned for an equal key, of the judge's grades also for earlier ratings."""
        criteria = key[0]
        if not isinstance(criteria, GradeFilter) or criteria.reviewed:
            return super().once(key, make)
        if key not in self._of_judge:
            self._of_judge[key] = make()
        known: T = self._of_judge[key]
        return known


@dataclass(frozen=True)
class State:
    """A study with changes: what people decided, the bank, graded and rated passages.

    The bank has graded entries only; ``pending`` are those that are not graded yet, by query.
    """

    edits: Edits
    bank: TestBank
    passages: LoadedPassages
    pending: Mapping[str, Collection[str]]
    board: Board

    def alone(self, query_id: str, entry_id: str) -> State:
        """The same with one entry as the bank; raises DataError if it has no such entry.

        What an answer should avoid counts as what it should have, so that scores say who has it.
        """
        for line in self.bank.lines:
            for entry in line.items:
                if (line.query_id, entry.entry_id) == (query_id, entry_id):
                    worth = {} if entry.weight > 0 else {"weight": -entry.weight or 1.0}
                    only = line.model_copy(update={"items": [entry.model_copy(update=worth)]})
                    # What is known of the grades of one entry is not kept.
                    return replace(
                        self, bank=TestBank.from_lines([only]), passages=LoadedPassages(self.passages)
                    )
        raise DataError("This entry is not graded yet, or somebody removed or reworded it.", field="entry")

    @cached_property
    def standings(self) -> Standings:
        """The leaderboard by the measure of the verdict, with places."""
        evaluation = self.board.evaluation(self.passages, self.bank)
        first = evaluation.scores[0].metric
        return leaderboard(evaluation, Statistics(places=True), metrics=(first,))

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """System to mean and places, best first."""
        standings = self.standings
        metric = standings.metrics[0]
        places = standings.claims.uncertainty.systems
        rows: dict[str, dict[str, Any]] = {}
        for system in standings.systems:
            if system != OVERALL_SYSTEM:
                place = places.get((system, standings.claims.metrics[0]))
                rows[system] = {
                    "system": system,
                    "mean": standings.rows[system, metric].mean,
                    "places": [place and place.first, place and place.last],
                }
        return rows


@dataclass
class Workbench:
    """A board of a study, as its judge left it, and what people make of it."""

    board: Board
    grading: Grading | None
    _graded: dict[str, list[tuple[frozenset[str], QueryPassages]]] = field(default_factory=dict)
    """Query to new entries that are graded and its passages with their grades, the last time first."""

    def __post_init__(self) -> None:
        assert self.board.bank is not None
        self.bank = read_bank(self.board.bank)
        self.bank_sha256 = file_sha256(self.board.bank)
        passages = LoadedPassages(self.board.graded)
        self.queries = {query.query_id: query for query in passages if query.query_id in self.bank.queries}
        self.passages = LoadedPassages(passages)
        selected = self.selected(self.passages, self.bank)
        self.judge, self.prompt_class = selected.selector.key
        self.cutoff = selected.file.cutoff
        named = () if self.grading is None else self.grading.prompts
        of_file = [prompt for prompt in named if prompt.name == self.prompt_class]
        self.prompt = of_file[0] if of_file else PROMPTS.find(self.prompt_class)
        self.scale = rating_scale(self.prompt, selected.file.best_grade)
        self.min_grade = min(selected.min_grade, self.scale[-1].rating)
        self.systems = [system for system in selected.file.first_ranks if system != OVERALL_SYSTEM]
        self.texts = {
            (query_id, passage.passage_id): passage.text
            for query_id, query in self.queries.items()
            for passage in query.passages
        }
        entries = [entry for line in self.bank.lines for entry in line.items]
        self.needs_importance = any(entry.importance is not None for entry in entries)
        self._bank: tuple[Sequence[BankEdit], TestBank] = ([], self.bank)
        self._rated: tuple[list[object], Survey, dict[tuple[object, ...], Any]] = ([], Survey(self.bank), {})
        self.start = self.state(folded([], self.bank_sha256))

    @property
    def criteria(self) -> GradeFilter:
        """The filter of the board's grades."""
        model, prompt = self.board.grader or (None, None)
        return with_aliases(GradeFilter(model, prompt, self.board.kind))

    def selected(self, passages: LoadedPassages, bank: TestBank) -> SelectedGrades:
        """The grades behind the scores of a bank."""
        return read_selected(passages, bank, self.criteria, None, None)

    # What changes come to

    def changed(self, edits: Edits) -> TestBank:
        """The bank with changes; raises DataError for a change that does not fit it."""
        known, bank = self._bank
        if known != edits.bank:
            bank = TestBank.from_lines(edit_lines(self.bank.lines, edits, "changes"))
            self._bank = edits.bank, bank
        return bank

    def new_entries(self, bank: TestBank, query_id: str) -> frozenset[str]:
        """The entries of a query that the judge has not graded with the study."""
        return frozenset(bank.entries(query_id)) - frozenset(self.bank.entries(query_id))

    def take(self, new: frozenset[str], query: QueryPassages) -> None:
        """Keep the grades of the new entries of a query."""
        known = self._graded.get(query.query_id, [])
        self._graded[query.query_id] = [(new, query), *(each for each in known if not each[0] <= new)]

    def state(
        self,
        edits: Edits,
        graded: tuple[frozenset[str], QueryPassages] | None = None,
        *,
        keep: bool = False,
    ) -> State:
        """The study with changes; ``graded`` are further grades of new entries of a query.

        With ``keep``, what is known of the judge's grades alone stays for the next one.
        """
        bank = of_all = self.changed(edits)
        pending: dict[str, Collection[str]] = {}
        queries: list[QueryPassages] = []
        for query in self.passages:
            new = self.new_entries(bank, query.query_id) if query.query_id in self.queries else frozenset()
            further = [graded] if graded is not None and graded[1].query_id == query.query_id else []
            known = [*further, *self._graded.get(query.query_id, ()), (frozenset[str](), query)]
            of_entries, of_query = min(known, key=lambda each: len(new - each[0]))
            queries.append(of_query)
            if missing := new - of_entries:
                pending[query.query_id] = missing
        if pending:
            bank = _without(bank, frozenset(chain(*pending.values())))
        if edits.ratings:
            basis = [of_all, *queries]
            rated = self._rated  # another thread may put those of another bank in its place
            if list(map(id, rated[0])) != list(map(id, basis)):
                rated = basis, Survey.of(queries, of_all), {}
                self._rated = rated if keep else self._rated
            _, survey, of_judge = rated
            _, decided = decisions(survey, [(Path("log"), edits)], graded=Path(self.board.graded))
            passages = _Rated(_with_decisions(queries, decided), of_judge)
            return State(edits, bank, passages, pending, self.board)
        return State(edits, bank, LoadedPassages(queries), pending, self.board)

    # What pages show

    def shown(self, state: State) -> dict[str, Any]:
        """The board for the page."""
        said, basis = verdict(state.standings), state.standings.uncertainty.basis
        start = self.start.rows
        rows = [{**row, "start": start.get(row["system"], row)} for row in state.rows.values()]
        return {
            "headline": "" if said is None else said.headline,
            "verdict": "" if said is None else said.sentence,
            "metric": state.standings.metrics[0],
            "basis": "people" if basis is None else basis.kind,
            "rows": rows,
            "pending": sum(map(len, state.pending.values())),
        }

    def impact(self, change: BankEdit, before: State, after: State) -> dict[str, Any]:
        """What a change of the bank would move: places, who covers the entry, scores."""
        rows, now = before.rows, after.rows
        new = self._entry_of(change, before, after)
        covering, ratings, scores = self._covering(change.query_id, new, after)
        known = before.bank.entries(change.query_id).get(str(change.entry_id))
        _, old, _ = self._covering(change.query_id, known if change.op == "reword" else None, before)
        table: list[dict[str, Any]] = [
            {"system": system, "before": rows[system], "after": row, "covers": covering.get(system)}
            for system, row in now.items()
        ]
        reached = {key for of in (ratings, old) for key, rating in of.items() if rating >= self.min_grade}
        best = sorted(reached, key=lambda key: (-ratings.get(key, -1), key))
        return {
            "rows": table,
            "separates": len(scores) > 1,
            "moved": [row["system"] for row in table if row["before"]["places"] != row["after"]["places"]],
            "covers": None if new is None else len(covering),
            "systems": len(table),
            "passages": [
                {"id": key, "rating": ratings.get(key), "old": old.get(key)} for key in best[:_SHOWN]
            ],
            "covered": sum(rating >= self.min_grade for rating in ratings.values()),
            "asked": len(ratings),
            "avoid": new is not None and new.to_avoid,
        }

    def _entry_of(self, change: BankEdit, before: State, after: State) -> Entry | None:
        """The entry that a change adds or makes of another one."""
        entries = after.bank.entries(change.query_id)
        new = [entries[key] for key in entries.keys() - before.bank.entries(change.query_id).keys()]
        return new[0] if new else entries.get(str(change.entry_id))

    def _covering(
        self, query_id: str, entry: Entry | None, state: State
    ) -> tuple[dict[str, str], dict[str, int], set[float]]:
        """System to its first passage that covers an entry, passage to its rating, scores by it alone."""
        if entry is None:
            return {}, {}, set()
        of_query = LoadedPassages([query for query in state.passages if query.query_id == query_id])
        alone = replace(state.alone(query_id, entry.entry_id), passages=of_query)
        data = self.selected(of_query, alone.bank)
        graded = data.file.queries[query_id]
        reached = graded.reached(self.min_grade)
        systems = {
            system: graded.passages[hits[0]].passage_id
            for system, first in data.file.first_ranks.items()
            if (hits := [index for index in graded.top(system, first, self.cutoff) if reached[index]])
        }
        ratings = {each.passage_id: max(each.levels) for each in graded.passages if each.graded}
        rows = alone.rows
        scores = {round(rows[system]["mean"] if system in rows else 0.0, 9) for system in self.systems}
        return systems, ratings, scores

    def page(self, state: State, options: ReviewOptions, queries: Collection[str] = ()) -> Any:
        """The material of the review page, of all queries or some, with entries that are not graded yet."""
        chosen = [query for query in state.passages if query.query_id in (queries or self.queries)]
        options = replace(options, min_grade=self.min_grade, cutoff=self.cutoff)
        prompts = {} if self.prompt is None else {self.prompt.name: self.prompt}
        only = replace(self.criteria, prompt_class=self.prompt_class)
        passages = LoadedPassages(chosen)
        return review_material(
            passages, only, bank=self.changed(state.edits), prompts=prompts, options=options
        )

    def disputes(self, state: State) -> list[dict[str, Any]]:
        """Pairs of the bank on which people disagree, with all ratings; resolved ones come last."""
        bank = self.changed(state.edits)
        pairs: dict[str, list[Any]] = {}
        for rating in state.edits.ratings:
            pairs.setdefault(str(rating.key), []).append(rating)
        rows = [
            {
                **ratings[0].model_dump(by_alias=True, include={"query_id", "passage_id", "entry_id"}),
                "ratings": [
                    rating.model_dump(include={"by", "rating", "comment", "resolves"}) for rating in ratings
                ],
                "resolved": any(rating.resolves for rating in ratings),
            }
            for key, ratings in pairs.items()
            if (len({rating.rating for rating in ratings}) > 1 or any(rating.resolves for rating in ratings))
            and self.has_pair(bank, ratings[0], key)
        ]
        return sorted(rows, key=lambda row: row["resolved"])

    # Checks of what a browser sends

    def check(self, events: Sequence[Event], new: Sequence[Event]) -> list[Event]:
        """New events, ratings with the keys of their texts; raises DataError for one that does not fit."""
        bank = self.changed(folded(events, self.bank_sha256))
        checked: list[Event] = []
        for event in new:
            item = event.item
            if event.op in ("rate", "resolve", "unrate"):
                key = self.key(bank, item)
                if item.key not in (None, key):
                    raise DataError("is of another text, which somebody changed.", field="key")
                item = item.model_copy(update={"key": key})
                allowed = [step.rating for step in self.scale]
                if event.op != "unrate" and item.rating not in allowed:
                    raise DataError(f"must be one of {', '.join(map(str, allowed))}.", field="rating")
            elif event.op == "undo":
                if item.of not in {each.seq for each in undoable([*events, *checked], event.by)}:
                    raise DataError("must be the number of a change of yours that counts.", field="of")
            elif event.op in ("preview", "discard"):
                self.check_draft(item.change)
            elif event.op in BANK_OPS:
                self.check_draft(item)
            checked.append(replace(event, item=item))
        try:
            self.changed(folded([*events, *checked], self.bank_sha256))
        except DataError as error:
            if all(event.op != "undo" for event in new):
                raise
            raise DataError("is what a later change rests on, which has to go first.", field="of") from error
        return checked

    def key(self, bank: TestBank, pair: Any) -> str:
        """The key of the texts of a pair; raises DataError for a pair that the study does not have."""
        query_id, passage_id, entry_id = pair.query_id, pair.passage_id, pair.entry_id
        if (query_id, passage_id) not in self.texts:
            raise DataError("is not a passage of this study.", field="passage_id")
        if entry_id not in bank.entries(query_id):
            raise DataError(
                "is not in the bank; perhaps somebody has just removed or reworded it.", field="id"
            )
        text = query_text_of(query_id, self.queries[query_id].query_text, bank)
        scale = scale_of(self.prompt_class, self.prompt)
        of_entry = entry_keys(query_id, text, bank, [entry_id], scale)[entry_id]
        return f"{of_entry}:{passage_key(text, self.texts[query_id, passage_id])}"

    def has_pair(self, bank: TestBank, pair: Any, key: str) -> bool:
        """Whether a pair still has the texts of its key."""
        try:
            return self.key(bank, pair) == key
        except DataError:
            return False

    def check_draft(self, change: BankEdit) -> None:
        """Raise DataError for a change of the bank that this study cannot have."""
        op, weight = change.op, change.weight if change.op == "add" else change.value
        if op in ("add", "reword") and self.grading is None:
            raise DataError("This study has no judge for new entries: grade it with `exam-pp run --model`.")
        if op == "add" and self.needs_importance and change.importance is None:
            raise DataError("is vital or okay in this bank, and scores need it.", field="importance")
        if op in ("add", "weight") and isinstance(weight, float) and weight < 0:
            pipeline = self.grading and self.grading.model.pipeline
            if self.judge in (E5, LEXICAL) or pipeline == "sentence-similarity":
                problem = f"below 0 is to avoid, and {self.judge} cannot see what an answer denies."
                raise DataError(problem, field="weight")
            if self.bank.kinds == {"nugget"} and not self.bank.has_criteria:
                raise DataError("below 0 is to avoid, which needs a bank of criteria.", field="weight")
        for span in change.spans or ():
            if not self.has(change.query_id, span):
                raise DataError("is not at its place in the passage.", field="spans")

    def has(self, query_id: str, span: Span) -> bool:
        """Whether a selected text is still at its place."""
        return self.texts.get((query_id, span.passage_id), "")[span.start : span.end] == span.text


def masked(query_id: str, passage_id: str) -> str:
    """A name of a passage that does not show its system."""
    return blake2b(f"{query_id}\0{passage_id}".encode(), digest_size=6).hexdigest()


def _without(bank: TestBank, entries: Collection[str]) -> TestBank:
    """The bank without some entries."""
    return TestBank.from_lines(
        line.model_copy(update={"items": [item for item in line.items if item.entry_id not in entries]})
        for line in bank.lines
    )


def _with_decisions(
    queries: Sequence[QueryPassages], decided: Sequence[tuple[str, str, Add]]
) -> list[QueryPassages]:
    """Queries with what people decided, whose passages are copies; of two with an id, the first one's."""
    found = {(query.query_id, each.passage_id): each for query in queries for each in query.passages[::-1]}
    copies: dict[tuple[str, str], Passage] = {}
    for query_id, passage_id, add in decided:
        place = query_id, passage_id
        add(copies.setdefault(place, copy_of(found[place])))
    return [
        replace(query, passages=[copies.pop((query.query_id, p.passage_id), p) for p in query.passages])
        for query in queries
    ]
