"""The grades and queries of an evaluation: threshold, notes on skipped data, depth of the rankings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from exam_pp.banks import EntryKind, TestBank, changes_while_looking, written_by
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
from exam_pp.phases.evaluation.result import PathLike, noted_names
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import Provenance, file_names, graded_by, reviewed_by
from exam_pp.store.passages.graded_file import without_garbage_collection
from exam_pp.text.wording import counted

DEFAULT_MIN_GRADE = 4
"""The default threshold, as in the examples of the workbench paper (Dietz, SIGIR 2024)."""


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
    passages, name = loaded(graded), name_of(graded, "the passages")
    criteria = with_aliases(grade_filter or GradeFilter())
    kind, criteria = entry_kind(criteria), criteria.for_scores if reviewed else criteria

    def read() -> tuple[GradedFile, GradeSelector, TestBank | None]:
        bank = None if bank_source is None else bank_of(bank_source)
        selector = GradeSelector(criteria)
        queries_read = views(passages, role, mixed=not ranks, canaries=canaries)
        return gather(queries_read, selector, bank, soft=soft, kind=kind), selector, bank

    of_bank = bank_source if isinstance(bank_source, PathLike) else id(bank_source)
    file, selector, bank = passages.once((criteria, of_bank, role, ranks, canaries, soft), read)
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
    notes = [*_query_notes(file, queries, bank, selected)]
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
        edited=changes_while_looking(bank),
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


def _canary_notes(queries: Iterable[GradedQuery]) -> Iterator[str]:
    """A note on canaries without grades, whose score of 0 would look like resistance to the attack."""
    # Graders are never asked about the empty canary.
    passages = [
        (system, query.passages[index])
        for query in queries
        for system, ranking in query.rankings.items()
        if is_canary(system) and system != f"{CANARY}empty"
        for _, _, index in ranking
    ]
    missing = {system for system, _ in passages} - {system for system, passage in passages if passage.levels}
    text = "The grader did not grade {}: grade the file again to see what it gives them."
    yield from noted_names(sorted(missing), text, "canary", "canaries")


def entry_kind(criteria: GradeFilter) -> EntryKind | None:
    """The kind of the entries that the filter selects; None if it accepts both."""
    prompt = PROMPTS.find(criteria.prompt_class)
    if prompt is not None:
        return prompt.entry_kind
    return None if criteria.kind == "direct" else criteria.kind


def threshold(selector: GradeSelector, min_grade: int | None) -> int:
    """The threshold that the user chose, or the default: at most 4, or the highest grade of the scale."""
    if min_grade is not None:
        return min_grade
    return min(DEFAULT_MIN_GRADE, _highest_of_scale(selector) or DEFAULT_MIN_GRADE)


def highest_grade(selector: GradeSelector, file: GradedFile) -> int:
    """The highest grade of the prompt's scale; for an unknown prompt, the highest grade in the file."""
    return _highest_of_scale(selector) or file.best_grade or 0


def _highest_of_scale(selector: GradeSelector) -> int | None:
    """The highest grade of the prompt's scale: 1 without ratings; None if nothing is known of the scale."""
    if not selector.rated:
        return 1
    prompt = PROMPTS.find(selector.key.prompt_class)
    return selector.max_rating if prompt is None else prompt.max_rating


def within_scale(data: SelectedGrades) -> SelectedGrades:
    """The grades with a threshold of at most the highest grade of their scale, for several graders."""
    highest = _highest_of_scale(data.selector)
    return data if highest is None else replace(data, min_grade=min(data.min_grade, highest))


def _query_notes(
    file: GradedFile,
    queries: Sequence[GradedQuery],
    bank: TestBank | None,
    selected: Collection[str] | None,
) -> Iterator[str]:
    evaluated = {query.query_id for query in queries}
    expected = file.queries if bank is None else bank.queries
    ungraded = [q for q in expected if q not in evaluated and (selected is None or q in selected)]
    where = "file" if bank is None else "bank"
    unknown = [q for q in file.queries if q not in expected and (selected is None or q in selected)]
    without_grades = [q for q in selected or () if q not in evaluated and q not in ungraded]
    yield from noted_names(
        ungraded, f"Skipped {{}} of the {where} without graded passages.", "query", "queries"
    )
    yield from noted_names(unknown, "Skipped {} of the file: not in the bank.", "query", "queries")
    yield from noted_names(without_grades, "Skipped {} without grades.", "selected query", "selected queries")


def _bank_notes(file: GradedFile, query_ids: Sequence[str]) -> Iterator[str]:
    ungraded = [entry for query_id in query_ids for entry in file.ungraded_entries.get(query_id, ())]
    foreign = [entry for query_id in query_ids for entry in file.foreign.get(query_id, ())]
    not_covered = "No passage has a grade for {}: counted as not covered."
    yield from noted_names(ungraded, not_covered, "bank entry", "bank entries")
    yield from noted_names(foreign, "Ignored {}: not in the bank.", "graded entry", "graded entries")


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


def depth_notes(
    file: GradedFile, cutoff: int, source: PathLike, queries: Iterable[GradedQuery] | None = None
) -> list[str]:
    """A note if rankings in ``source`` end before the cutoff, or lack ranks above it; default: all queries.

    Depth is counted from 1 for the first rank of each system. A file with pooled passages has all ranks of a
    system down to the depth of the pool. Below that depth it has only passages that another system ranked
    higher, so it lacks some ranks. Files with judged passages only lack first ranks too, whatever the cutoff,
    so they have no note. Neither have files of generated answers, which end where the answers end.
    """
    holes: list[int] = []
    missing = 0
    evaluated = list(file.queries.values() if queries is None else queries)
    rankings = [(query, system) for query in evaluated for system in query.rankings]
    without_holes = list(range(max((len(query.passages) for query in evaluated), default=0)))
    for query, system in rankings:
        first = file.first_ranks[system]
        ranks = [rank - first for rank, _, _ in query.rankings[system]]
        # After ties the next rank is higher by their number, as in 1, 1, 3, so no rank is missing.
        if ranks == without_holes[: len(ranks)]:
            continue
        hole = next((place for place, rank in enumerate(ranks[:cutoff]) if rank > place), None)
        if hole is not None:
            holes.append(hole)
            missing += len(set(range(hole, min(ranks[-1], cutoff))).difference(ranks))
    if complete := min(holes, default=0):
        ranks_are = counted(missing, "lower rank is", "lower ranks are")
        return [
            f"The rankings in {source} are complete only to rank {complete}: {ranks_are} missing down to "
            f"the cutoff {cutoff} and cannot cover entries. Use --cutoff {complete}, or import with a larger "
            "--top."
        ]
    if any(len(query.top(system, file.first_ranks[system], cutoff)) > cutoff for query, system in rankings):
        return [f"The cutoff {cutoff} limits rankings; all parts of the answers in {source} count."]
    if file.depth < cutoff and any(system not in query.answering for query, system in rankings):
        return [
            f"The cutoff {cutoff} is deeper than the rankings in {source}, which end at rank {file.depth}: "
            f"scores are those of @{file.depth}."
        ]
    return []
