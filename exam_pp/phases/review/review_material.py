"""Data of the review page: grades, replies, judgments and ranks of a graded file."""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from exam_pp.banks import TestBank
from exam_pp.data_model import DIRECT_ID, DirectGrade, Passage, QueryPassages, RubricGrades, is_human
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.judges import REVIEWED
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.fair_sample import sample_order
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.measures import Measure, known_measures, measures_of
from exam_pp.phases.evaluation.cover import cover_of
from exam_pp.phases.evaluation.inputs import Bank, LoadedPassages, bank_of, loaded, name_of
from exam_pp.phases.evaluation.nugget_leaderboard import ScoringRules, graded_conditions
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.phases.evaluation.selected_grades import DEFAULT_MIN_GRADE, read_selected
from exam_pp.phases.evaluation.verdict import page_title
from exam_pp.phases.review.checked_passages import extracted_answers
from exam_pp.phases.review.content_keys import entry_keys, query_text_of, scale_of
from exam_pp.phases.review.rating_scale import ScaleStep, rating_scale
from exam_pp.phases.review.review_table import Cell, QueryTable, cells_of, citations_of
from exam_pp.plugins import needed
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.store.edits import file_sha256
from exam_pp.text.wording import counted, no_query

log = logging.getLogger(__name__)

_SLOTS = {"question", "nugget", "context", "query"}
"""The placeholders that the page can fill."""


@dataclass(frozen=True)
class ReviewOptions:
    """Options of a review page.

    ``answers_class`` is the prompt whose answers explain the ratings (default: any prompt without a scale).
    ``queries`` limits the page to some queries, ``limit`` each query to its first passages in the file.
    ``study`` is the name of the study, for the title. ``blind`` hides the grades of models and other
    reviewers, and the systems, until the reviewer has rated.
    ``min_grade`` is the threshold: by default 4, or the end of a shorter scale. With ``pairs``, a file of
    sampled pairs, the page asks only about these; ``force`` accepts pairs of another version of the file.
    ``measures``: In place of those that fit a bank of nuggets; the first is that of the leaderboard.
    """

    answers_class: str | None = None
    queries: Collection[str] = ()
    limit: int | None = None
    blind: bool = False
    reviewer: str = ""
    study: str = ""
    min_grade: int | None = None
    cutoff: int | None = None
    pairs: str | Path | None = None
    force: bool = False
    measures: Sequence[Measure] = ()


@dataclass(frozen=True)
class ReviewMaterial:
    """Data of a review page.

    ``head`` is JSON that the page shows at once: file names with SHA-256, graders, systems, prompt, scale,
    rating counts of every query, leaderboards with scores by query, and notes. ``tables`` has the passages
    with their grades, one table for every query of the head.
    """

    head: Mapping[str, Any]
    tables: Sequence[QueryTable]


@dataclass
class _Reading:
    """Data collected while the graded file is read."""

    tables: dict[str, QueryTable] = field(default_factory=dict)
    graders: list[str] = field(default_factory=list)
    best_seen: int | None = None
    rated: bool = False
    direct: bool = False
    answers_classes: set[str] = field(default_factory=set)
    unknown_queries: list[str] = field(default_factory=list)
    beyond_limit: int = 0


def review_material(
    graded: str | Path | LoadedPassages,
    grade_filter: GradeFilter,
    *,
    bank: Bank | None = None,
    prompts: Mapping[str, Prompt] | None = None,
    options: ReviewOptions | None = None,
) -> ReviewMaterial:
    """Collect the data of a review page.

    The page reviews one prompt class and shows all models and reviewers that graded with it. If the file has
    no grades of that prompt class but the prompt is known, the page collects ratings on the prompt's scale.
    A file without ratings gets a page for its citations, if its answers have some.
    ``prompts`` has prompts that are not registered, by name. Raises
    :class:`SelectionError` if the grades of no prompt class, or of several, match.
    """
    options = options or ReviewOptions()
    path = name_of(graded, "the passages")
    passages, graded = loaded(graded), path
    pairs = None
    if options.pairs is not None:
        # The plug-in offers the reader of a sample of pairs: which they are, and for what grades they hold.
        pairs = needed("pairs to label", "trust")(options.pairs, graded, force=options.force)
        grade_filter = pairs.restrict(grade_filter)
    test_bank = bank_of(bank) if bank is not None else None
    selector = GradeSelector(grade_filter.for_ratings(test_bank.kinds if test_bank else ()))
    material = _read(passages, test_bank, selector, options, pairs)
    # Before the prompt class: a mistyped query leaves no grades, from which the class is chosen.
    _check(graded, bank, material, options)
    cites = any(table.has_citations for table in material.tables.values())
    prompt_class = _prompt_class(graded, selector, grade_filter, prompts or {}, bank, cites)
    prompt = _known_prompt(prompt_class, prompts or {})
    direct = material.direct or (prompt is not None and prompt.kind == "direct")
    if direct:
        for table in material.tables.values():
            table.entries = [DIRECT_ID]  # which have no bank entries
    if pairs is not None:
        where = f"{graded}" if bank is None else f"{graded} or {name_of(bank, 'the bank')}"
        _ask_only(material, pairs, where, options)
    if options.blind:
        for table in material.tables.values():
            table.shuffle()
    known, asked = test_bank or TestBank({}), scale_of(prompt_class, prompt)
    for table in material.tables.values():
        table.keys = entry_keys(table.query_id, table.text, known, table.entries, asked)
    scale = rating_scale(prompt, material.best_seen)
    min_grade = options.min_grade
    if min_grade is None:
        min_grade = min(DEFAULT_MIN_GRADE, scale[-1].rating) if material.rated else 1
    head = _head(passages.path, bank, test_bank, material, options)
    of_nuggets = prompt is not None and prompt.kind == "assignment" and min_grade == scale[-1].rating
    head |= {
        "prompt": _prompt(prompt_class, prompt, selector.hashes),
        "scale": [list(step) for step in scale],
        "min_grade": min_grade,
        "cutoff": options.cutoff,
    }
    head["queries"] = [
        table.head([] if options.blind else material.graders, scale[-1].rating, min_grade)
        for table in material.tables.values()
    ]
    # Direct grades do not cover bank entries, so the bank does not count.
    cover_bank = None if direct else bank
    # Last, because the leaderboards read queries, prompt and threshold from the head.
    head["leaderboards"] = _leaderboards(
        passages, cover_bank, selector, head, material, options, of_nuggets=of_nuggets
    )
    head["notes"] = _notes(material, options)
    _warn_of_higher_ratings(material, scale)
    return ReviewMaterial(head, list(material.tables.values()))


def _read(
    queries: Iterable[QueryPassages],
    bank: TestBank | None,
    selector: GradeSelector,
    options: ReviewOptions,
    pairs: Any,
) -> _Reading:
    material = _Reading()
    for query in queries:
        if options.queries and query.query_id not in options.queries:
            continue
        if bank is not None and query.query_id not in bank.queries:
            material.unknown_queries.append(query.query_id)
            continue
        # A query may have several lines, whose passages share one table.
        table = material.tables.get(query.query_id)
        if table is None:
            text = query_text_of(query.query_id, query.query_text, bank or TestBank({}))
            entries = bank.entries(query.query_id) if bank else None
            table = material.tables[query.query_id] = QueryTable(query.query_id, text, entries)
        # A sampled pair is a passage and a bank entry, so citations are not asked about.
        citations = citations_of(query, selector.filter.model) if pairs is None else {}
        for passage in query.passages:
            if pairs is not None and passage.passage_id not in pairs.of(query.query_id):
                _graded(passage, selector, material, options)  # for the scale and the checks of the grades
            elif (
                # A passage of the table still gets grades of later lines, also beyond the limit.
                options.limit is not None and len(table) >= options.limit and passage.passage_id not in table
            ):
                material.beyond_limit += 1
            else:
                graded_by = _graded(passage, selector, material, options)
                table.add(passage, graded_by, citations.get(passage.passage_id))
    return material


def _graded(
    passage: Passage, selector: GradeSelector, material: _Reading, options: ReviewOptions
) -> list[tuple[str, dict[str, Cell]]]:
    """Pairs of grader and cells for the selected grades; collects graders and ratings in ``material``."""
    cells_by_grader: list[tuple[str, dict[str, Cell]]] = []
    # Of all grades, because answers are extracted with another prompt than the reviewed one.
    material.answers_classes.update(
        grades.prompt_class for grades in passage.rubric_grades or () if grades.prompt_class
    )
    for grades in selector.select(passage):
        assert isinstance(grades, RubricGrades | DirectGrade)
        grader = GradeKey.of(grades, selector.filter).model
        if grader not in material.graders:
            material.graders.append(grader)
        answers = extracted_answers(passage, grades.model, options.answers_class)
        cells = cells_of(grades)
        cells |= {key: cells[key]._replace(answer=answers[key]) for key in cells.keys() & answers.keys()}
        material.rated |= grades.is_rated
        material.direct |= isinstance(grades, DirectGrade)
        best = max((cell.rating for cell in cells.values() if cell.rating is not None), default=None)
        if best is not None:
            material.best_seen = max(best, material.best_seen or 0)
        cells_by_grader.append((grader, cells))
    return cells_by_grader


def _ask_only(material: _Reading, pairs: Any, where: str, options: ReviewOptions) -> None:
    """Drop all pairs that were not sampled; raises DataError if the file or the bank lacks a sampled pair."""
    for query_id in options.queries:
        if not pairs.of(query_id):
            raise SelectionError(f"{pairs.path} has no pairs of the query {query_id!r}.")
    known = {pair for table in material.tables.values() for pair in table.pairs()}
    pairs.check_all(known, where, options.queries)
    material.tables = {key: table for key, table in material.tables.items() if pairs.of(key)}
    for query_id, table in material.tables.items():
        table.ask_only(pairs.of(query_id))


def _prompt_class(
    graded: str | Path,
    selector: GradeSelector,
    chosen: GradeFilter,
    prompts: Mapping[str, Prompt],
    bank: Bank | None,
    cites: bool,
) -> str:
    """The prompt class that is reviewed; a known prompt may have no grades yet.

    It is empty if the page only reviews citations.
    """
    name = chosen.prompt_class
    if not selector.selected and name is not None and chosen.model is None:
        prompt = _known_prompt(name, prompts)
        if prompt is not None and (bank is not None or prompt.kind == "direct"):
            return name
    if not selector.seen and cites and bank is None and name is None:
        return ""
    if not selector.seen:
        raise SelectionError(
            f"{graded} has no grades; grade it first, or name --prompt and --bank to collect ratings."
        )
    selector.check(str(graded), prompts_only=True)
    return selector.key.prompt_class


def _known_prompt(name: str, prompts: Mapping[str, Prompt]) -> Prompt | None:
    return prompts.get(name) or PROMPTS.find(name)


def _check(graded: str | Path, bank: Bank | None, material: _Reading, options: ReviewOptions) -> None:
    for query_id in options.queries:
        if query_id not in material.tables and query_id not in material.unknown_queries:
            raise SelectionError(no_query(graded, query_id, [*material.tables, *material.unknown_queries]))
    if not material.tables and bank is None:
        raise SelectionError(f"{graded} has no queries.")
    if not material.tables:
        name = name_of(bank, "of the page")
        raise SelectionError(f"The bank {name} has no entries for the queries of {graded}.")
    answers_class = options.answers_class
    if answers_class is not None and answers_class not in material.answers_classes:
        raise SelectionError(
            f"{graded} has no grades of the prompt {answers_class!r} (--grades answers); its "
            f"prompts: {', '.join(sorted(material.answers_classes)) or 'none'}."
        )


def _head(
    graded: str | Path | None,
    bank: Bank | None,
    test_bank: TestBank | None,
    material: _Reading,
    options: ReviewOptions,
) -> dict[str, Any]:
    tables = material.tables.values()
    systems = dict.fromkeys(system for table in tables for system in table.systems)
    return {
        "title": page_title(options.study, () if options.blind else systems, Path(graded or "").name),
        "answers": bool(systems) and all(table.has_whole_answers for table in tables),
        "graded": _identity(graded),
        "bank": None if bank is None else _identity(bank),
        "kinds": sorted(test_bank.kinds) if test_bank else [],
        "criteria": test_bank is not None and test_bank.has_criteria,
        # Models before reviewers, because the page first shows the grades of the first grader.
        "graders": sorted(material.graders, key=is_human),
        "systems": list(systems),
        "blind": options.blind,
        "reviewer": options.reviewer,
    }


def _identity(source: object) -> dict[str, str | None]:
    """The name and digest of a file; of an object they are unknown."""
    if not isinstance(source, PathLike):
        return {"name": "", "sha256": None}
    return {"name": Path(source).name, "sha256": file_sha256(source)}


def _prompt(prompt_class: str, prompt: Prompt | None, hashes: Collection[str]) -> dict[str, Any]:
    """The prompt as pieces (text and placeholder); ``missing`` is the reason why a part cannot be shown."""
    shown = prompt_class if prompt is None else prompt.shown
    data: dict[str, Any] = {"name": prompt_class, "shown": shown, "pieces": None, "missing": ""}
    if not prompt_class:
        return data
    if prompt is None:
        return data | {"missing": "The template of this prompt is unknown; name its file with --prompt-file."}
    if not set(prompt.slots) <= _SLOTS:
        return data | {"missing": "This prompt asks about several entries at once."}
    pieces = prompt.render(dict.fromkeys(prompt.slots, ""))
    data["pieces"] = [[part.text + ("\n\n" if part.role == "system" else ""), part.slot] for part in pieces]
    if hashes and prompt.hash not in hashes:
        data["missing"] = (
            "The grades were made with another version of this prompt; this is the current text."
        )
    return data


def _leaderboards(
    passages: LoadedPassages,
    bank: Bank | None,
    selector: GradeSelector,
    head: Mapping[str, Any],
    material: _Reading,
    options: ReviewOptions,
    *,
    of_nuggets: bool,
) -> list[dict[str, Any]]:
    """The scores of every system on the page's queries, for every model, where people have not rated.

    These are Rubric-Cover, or with ``of_nuggets`` the first measure that fits the bank.

    Reviewers get no leaderboard: they rarely rate enough pairs. ``scores`` are by system and query, so that
    the page can move the leaderboard while the reviewer rates; for that, tables get the passages of each
    system, if the page shows all of them. Then the queries of the head get ``sample``, the indexes of their
    entries in the order of the fair sample; groups of entries have no sample.
    """
    if options.blind or not head["systems"]:
        return []
    leaderboards: list[dict[str, Any]] = []
    test_bank = None if bank is None else bank_of(bank)
    shown = {query["id"]: query for query in head["queries"]}
    # Queries of the bank that the file lacks count, unless the page shows selected queries only.
    shown_only = options.queries or (bank is None and options.pairs is None)
    counted_queries = set(shown) if shown_only else None
    for index, grader in enumerate(head["graders"]):
        counts = [query["graders"][index]["ratings"] for query in head["queries"]]
        if is_human(grader) or not any(map(sum, counts)):
            continue
        judge = f"{REVIEWED}{grader}"
        # With a prompt class, rated_only selects nothing; without it, a report has read these grades already.
        only = replace(selector.filter, model=judge, prompt_class=head["prompt"]["name"], rated_only=False)
        grades = read_selected(passages, bank, only, head["min_grade"], None)
        cutoff = options.cutoff or grades.file.cutoff
        evaluation = cover_of(grades, cutoff=cutoff)
        measure = Cover(head["min_grade"], cutoff).measure
        if of_nuggets and bank is not None and test_bank is not None:
            cutoff = options.cutoff or sys.maxsize
            measures = known_measures(options.measures or measures_of(test_bank))
            (condition,) = graded_conditions(
                passages, bank, grade_filter=only, rules=ScoringRules(options.cutoff), measures=measures
            )
            if not condition.metrics:
                continue
            evaluation = condition.evaluation.of_metrics(condition.metrics[0])
            measure = next(each for each in measures if each.name == condition.metrics[0])
        metric = evaluation.scores[0].metric
        scores = [
            score
            for score in evaluation.scores
            if score.metric == metric and (counted_queries is None or score.query_id in counted_queries)
        ]
        rows = standings(scores)
        by_system: dict[str, list[float]] = {row.system: [] for row in rows}
        for score in scores:
            by_system[score.system].append(score.value)
        leaderboards.append(
            {
                "grader": grader,
                "metric": metric,
                "steps": measure.by_grade,
                "rows": [[row.system, row.mean, row.stderr] for row in rows],
                "queries": list(dict.fromkeys(score.query_id for score in scores)),
                "scores": by_system,
                "notes": evaluation.notes,
            }
        )
        if not material.beyond_limit and options.pairs is None:
            for query in grades.file.queries.values():
                if query.query_id in material.tables:
                    tops = {
                        system: [
                            query.passages[place].passage_id for place in query.top(system, first, cutoff)
                        ]
                        for system, first in grades.file.first_ranks.items()
                    }
                    table = material.tables[query.query_id]
                    weights, entries = query.weights, list(query.entries)
                    if of_nuggets and test_bank is not None:
                        copies = test_bank.copies.get(query.query_id, {}).values()
                        weights, entries = measure.weights(copies), [entry.entry_id for entry in copies]
                    units = [
                        (weight, combine, [table.entries.index(entries[position]) for position in of_unit])
                        for weight, combine, of_unit in weights.units(len(entries))
                    ]
                    table.score_by(tops, None if bank is None else units)
                    sampled = {table.entries[first] for weight, _, (first, *_) in units if weight}
                    shown[query.query_id]["sample"] = [
                        table.entries.index(entry_id)
                        for entry_id in sample_order(query.query_id, () if weights.groups else sampled)
                    ]
    return leaderboards


def _notes(material: _Reading, options: ReviewOptions) -> list[str]:
    notes = []
    if material.unknown_queries:
        queries = counted_names(sorted(set(material.unknown_queries)), "query", "queries")
        notes.append(f"Skipped {queries} of the file: not in the bank.")
    foreign = sorted({entry for table in material.tables.values() for entry in table.foreign})
    if foreign:
        notes.append(f"Ignored {counted_names(foreign, 'graded entry', 'graded entries')}: not in the bank.")
    if material.beyond_limit:
        passages = counted(material.beyond_limit, "passage")
        notes.append(f"Skipped: {passages} beyond the first {options.limit} of a query.")
    for note in notes:
        log.info("%s", note)
    return notes


def _warn_of_higher_ratings(material: _Reading, scale: Sequence[ScaleStep]) -> None:
    if material.best_seen is not None and material.best_seen > scale[-1].rating:
        log.warning(
            "The file has a rating of %d, but the scale of the prompt ends at %d.",
            material.best_seen, scale[-1].rating,
        )  # fmt: skip
