"""The grades and queries of an evaluation: threshold, notes on skipped data, depth of the rankings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from exam_pp.banks import EntryKind, TestBank, written_by
from exam_pp.data_model import CANARY, QueryView, Role, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery, gather
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
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import Provenance, file_names, graded_by, reviewed_by
from exam_pp.store.passages.graded_file import without_garbage_collection
from exam_pp.text.wording import counted

DEFAULT_MIN_GRADE = 4
"""The default threshold, as in the examples of the workbench paper (Dietz, SIGIR 2024)."""

_UNRATED_MIN_GRADE = 1


@dataclass(frozen=True)
class SelectedGrades:
    """The selected grades of a file, the queries to evaluate, and the threshold.

    ``provenance`` has the grader, the bank and the number of queries.
    """

    source: PathLike
    file: GradedFile
    queries: list[GradedQuery]
    min_grade: int
    selector: GradeSelector
    notes: list[str]
    bank: TestBank | None
    provenance: Provenance

    @property
    def highest_grade(self) -> int:
        """The highest grade of the prompt's scale; for an unknown prompt, the highest grade in the file."""
        return highest_grade(self.selector, self.file)


def selectors(
    queries: Iterable[QueryView], criteria: GradeFilter, file: object
) -> dict[GradeKey, GradeSelector]:
    """Model and prompt class to a selector of their grades, for all matching grades, sorted.

    Raises :class:`SelectionError` if no grades match.
    """
    selector = GradeSelector(criteria)
    for query in queries:
        for passage in query.passages:
            selector.select(passage)
    selector.check_any(str(file))
    return {
        key: GradeSelector(replace(criteria, model=key.model, prompt_class=key.prompt_class))
        for key in sorted(selector.selected)
    }


@without_garbage_collection()
def read_selected(
    graded: Passages,
    bank_source: Bank | None,
    grade_filter: GradeFilter | None,
    min_grade: int | None,
    queries_source: Queries | None,
    *,
    soft: bool = False,
    role: Role | None = None,
    ranks: bool = True,
    canaries: bool = False,
    reviewed: bool = True,
) -> SelectedGrades:
    """Read the grades that pass the filter, for the queries to evaluate.

    ``role`` selects passages and ranks; without ``ranks``, the ranks are not used, so a system may have both
    roles. Canary systems are left out, unless ``canaries`` is True. Ratings of people stand in place of
    the judge's (``GradeFilter.for_scores``), unless ``reviewed`` is False.

    A filter for a prompt class, questions or nuggets also selects the entries of this kind in the bank.
    Raises :class:`~exam_pp.errors.DataError` for invalid files, and :class:`~exam_pp.errors.SelectionError`
    if no grades or several sets of grades match, or no selected query has a graded passage.
    """
    selected = query_ids(queries_source) if queries_source is not None else None
    passages = loaded(graded)
    criteria = with_aliases(grade_filter or GradeFilter())
    kind, criteria = entry_kind(criteria), criteria.for_scores if reviewed else criteria

    def read() -> tuple[GradedFile, GradeSelector, TestBank | None]:
        bank = None if bank_source is None else bank_of(bank_source)
        selector = GradeSelector(criteria)
        queries_read = views(passages, role, mixed=not ranks, canaries=canaries)
        return gather(queries_read, selector, bank, soft=soft, kind=kind), selector, bank

    of_bank = bank_source if isinstance(bank_source, PathLike) else id(bank_source)
    file, selector, bank = passages.once((criteria, of_bank, role, ranks, canaries, soft), read)
    name = name_of(passages, "the passages")
    selector.check(str(name))
    ids = [query_id for query_id in file.graded if selected is None or query_id in selected]
    queries = [file.queries[query_id] for query_id in ids]
    if not ids:
        source = name_of(bank_source, "the bank")
        _check_replies(views(passages, role, mixed=not ranks, canaries=canaries), selector, name)
        if queries_source is not None:
            source = name_of(queries_source, "the list of queries")
        elif bank is not None and not bank.queries.keys().isdisjoint(file.queries):
            raise SelectionError(
                f"No entry of {source} has a grade in {name}: name the bank that it was graded with."
            )
        raise SelectionError(f"None of the queries in {source} has a graded passage in {name}.")
    min_grade = threshold(selector, min_grade)
    notes = _query_notes(file, queries, bank, selected)
    if bank is not None:
        notes += _bank_notes(file, ids)
    provenance = replace(origin(selector, file, bank_source, bank), queries=len(ids))
    if canaries:
        notes += _canary_notes(queries)
    return SelectedGrades(name, file, queries, min_grade, selector, notes, bank, provenance)


def origin(
    selector: GradeSelector, file: GradedFile, bank_source: Bank | None, bank: TestBank | None
) -> Provenance:
    """Who graded and reviewed, and the bank and its writers."""
    graded_pairs = [
        (each.graded, each.by_people)
        for query in (file.queries.values() if selector.review.rated else ())
        for each in query.passages
    ]
    ratings = sum(of_all.bit_count() for of_all, _ in graded_pairs)
    partly = any(of_all & ~of_people for of_all, of_people in graded_pairs)
    return replace(
        reviewed_by(graded_by([selector.key]), selector.review, ratings, partly=partly),
        banks=file_names(bank_source),
        writers=written_by(bank),
    )


def _check_replies(queries: Iterable[QueryView], selector: GradeSelector, name: object) -> None:
    """Raise :class:`SelectionError` if the selected grades have failures only, with one of them."""
    selected = [grades for query in queries for each in query.passages for grades in selector.select(each)]
    failures = [failure for grades in selected for failure in grades.failures().values()]
    if failures and not any(grades.graded_ids() for grades in selected):
        reason, reply = (str(failures[0].get(key, "")) for key in ("failure_reason", "response"))
        shown = f", such as {shorten(reply, 80)!r}" if reply else ""
        raise SelectionError(
            f"None of the {counted(len(failures), 'pair')} in {name} has a grade: {reason}{shown}. Grade "
            "them with another model or prompt, or read the replies in another way with `exam-pp reread`."
        )


def judge_alone(data: SelectedGrades) -> GradeFilter:
    """The filter of the same grades without those of people."""
    key = data.selector.key
    return replace(data.selector.filter, model=key.judge, prompt_class=key.prompt_class, reviewed=False)


def _canary_notes(queries: Iterable[GradedQuery]) -> list[str]:
    """A note on canaries without grades, whose score of 0 would look like resistance to the attack."""
    graded: dict[str, bool] = {}
    for query in queries:
        for system, ranking in query.rankings.items():
            # Graders are never asked about the empty canary.
            if is_canary(system) and system != f"{CANARY}empty":
                levels = any(query.passages[index].levels for _, _, index in ranking)
                graded[system] = graded.get(system, False) or levels
    if not (missing := sorted(canary for canary in graded if not graded[canary])):
        return []
    canaries = counted_names(missing, "canary", "canaries")
    return [f"The grader did not grade {canaries}: grade the file again to see what it gives them."]


def entry_kind(criteria: GradeFilter) -> EntryKind | None:
    """The kind of the entries that the filter selects; None if it accepts both."""
    prompt = PROMPTS.find(criteria.prompt_class)
    if prompt is not None:
        return prompt.entry_kind
    return None if criteria.kind == "direct" else criteria.kind


def default_min_grade(selector: GradeSelector) -> int:
    """The default threshold: 4, the highest grade of a shorter scale, or 1 for a prompt without a scale."""
    if not selector.rated:
        return _UNRATED_MIN_GRADE
    return min(DEFAULT_MIN_GRADE, _highest_of_scale(selector) or DEFAULT_MIN_GRADE)


def threshold(selector: GradeSelector, min_grade: int | None) -> int:
    """The threshold that the user chose, or the default."""
    return default_min_grade(selector) if min_grade is None else min_grade


def highest_grade(selector: GradeSelector, file: GradedFile) -> int:
    """The highest grade of the prompt's scale; for an unknown prompt, the highest grade in the file."""
    if not selector.rated:
        return _UNRATED_MIN_GRADE
    return _highest_of_scale(selector) or file.best_grade or 0


def _highest_of_scale(selector: GradeSelector) -> int | None:
    """The highest grade of the prompt's scale; None if the prompt is unknown and grades do not record it."""
    prompt = PROMPTS.find(selector.key.prompt_class)
    return selector.max_rating if prompt is None else prompt.max_rating


def within_scale(data: SelectedGrades) -> SelectedGrades:
    """The grades with a threshold of at most the highest grade of their scale, for several graders."""
    highest = _highest_of_scale(data.selector) if data.selector.rated else _UNRATED_MIN_GRADE
    return data if highest is None else replace(data, min_grade=min(data.min_grade, highest))


def _query_notes(
    file: GradedFile,
    queries: Sequence[GradedQuery],
    bank: TestBank | None,
    selected: Collection[str] | None,
) -> list[str]:
    evaluated = {query.query_id for query in queries}
    expected = file.queries if bank is None else bank.queries
    ungraded = [q for q in expected if q not in evaluated and (selected is None or q in selected)]
    where = "file" if bank is None else "bank"
    notes = []
    if ungraded:
        skipped = counted_names(ungraded, "query", "queries")
        notes.append(f"Skipped {skipped} of the {where} without graded passages.")
    if bank is not None:
        unknown = [q for q in file.queries if q not in bank.queries and (selected is None or q in selected)]
        if unknown:
            notes.append(
                f"Skipped {counted_names(unknown, 'query', 'queries')} of the file: not in the bank."
            )
    if selected is not None:
        without_grades = [q for q in selected if q not in evaluated and q not in ungraded]
        if without_grades:
            skipped = counted_names(without_grades, "selected query", "selected queries")
            notes.append(f"Skipped {skipped} without grades.")
    return notes


def _bank_notes(file: GradedFile, query_ids: Sequence[str]) -> list[str]:
    notes = []
    ungraded = [entry for query_id in query_ids for entry in file.ungraded_entries.get(query_id, ())]
    foreign = [entry for query_id in query_ids for entry in file.foreign.get(query_id, ())]
    if ungraded:
        entries = counted_names(ungraded, "bank entry", "bank entries")
        notes.append(f"No passage has a grade for {entries}: counted as not covered.")
    if foreign:
        notes.append(f"Ignored {counted_names(foreign, 'graded entry', 'graded entries')}: not in the bank.")
    return notes


def threshold_notes(data: SelectedGrades) -> list[str]:
    """A note if the threshold is above every grade, or below all of them.

    Raises :class:`~exam_pp.errors.SelectionError` for a threshold that no grade of the scale can reach.
    """
    if within_scale(data).min_grade < data.min_grade:
        raise SelectionError(
            f"--min-grade {data.min_grade} is above all grades: the scale of "
            f"{data.selector.key.prompt_class} ends at {data.highest_grade}."
        )
    if data.min_grade <= 0:
        return [f"--min-grade {data.min_grade} covers every graded entry, because grades start at 0."]
    best = data.file.best_grade
    if best is None or best >= data.min_grade:
        return []
    return [f"No grade reaches --min-grade {data.min_grade}; the highest grade is {best}."]


@dataclass
class RankingDepth:
    """Depth of rankings down to a cutoff, counted from 1 for the first rank of each system.

    A file with pooled passages has all ranks of a system down to the depth of the pool. Below that depth it
    has only passages that another system ranked higher, so it lacks some ranks.

    ``complete``: Depth to which no ranking lacks a rank; None if no rank is missing. ``retrieved``: Whether
    any ranking is one of a run, and not the parts of a generated answer. ``whole``: Whether an answer counts
    with parts beyond the cutoff.
    """

    cutoff: int
    deepest: int
    complete: int | None = None
    missing: int = 0
    retrieved: bool = False
    whole: bool = False

    @classmethod
    def of(cls, files: Collection[GradedFile], cutoff: int) -> RankingDepth:
        """The depth of the rankings of all queries in files that hold the same rankings."""
        depth = cls(cutoff, max(file.depth for file in files))
        seen: set[str] = set()
        for file in files:
            for query in file.queries.values():
                if query.query_id not in seen:
                    seen.add(query.query_id)
                    depth.add(query, file.first_ranks)
        return depth

    def add(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> None:
        """Add the rankings of a query."""
        for system, places in query.rankings.items():
            ranks = sorted(rank - first_ranks[system] for rank, _, _ in places)
            # After ties the next rank is higher by their number, as in 1, 1, 3, so no rank is missing.
            hole = next((place for place, rank in enumerate(ranks[: self.cutoff]) if rank > place), None)
            if hole is not None:
                self.complete = hole if self.complete is None else min(self.complete, hole)
                known = set(ranks)
                self.missing += sum(rank not in known for rank in range(hole, min(ranks[-1], self.cutoff)))
            self.retrieved = self.retrieved or system not in query.answering
            self.whole = self.whole or len(query.top(system, first_ranks[system], self.cutoff)) > self.cutoff

    def notes(self, source: PathLike) -> list[str]:
        """A note if rankings in ``source`` end before the cutoff, or lack ranks above it.

        Files with judged passages only lack first ranks too, whatever the cutoff, so they have no note.
        Neither have files of generated answers, which end where the answers end.
        """
        if self.complete:
            ranks = counted(self.missing, "lower rank is", "lower ranks are")
            return [
                f"The rankings in {source} are complete only to rank {self.complete}: {ranks} missing down "
                f"to the cutoff {self.cutoff} and cannot cover entries. Use --cutoff {self.complete}, or "
                "import with a larger --top."
            ]
        if self.whole:
            return [f"The cutoff {self.cutoff} limits rankings; all parts of the answers in {source} count."]
        if self.retrieved and self.deepest < self.cutoff:
            return [
                f"The cutoff {self.cutoff} is deeper than the rankings in {source}, which end at rank "
                f"{self.deepest}: scores are those of @{self.deepest}."
            ]
        return []
