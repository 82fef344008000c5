"""The ratings of people in edits files become grades of a graded file, beside those of the models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import DIRECT_ID, HUMAN, DirectGrade, Passage, RubricGrades, is_human
from exam_pp.edits import Edits, HumanRating
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.evaluation.result import some
from exam_pp.phases.passages.transform import rewrite
from exam_pp.phases.review.human_grades import RatedClass, add_ratings
from exam_pp.phases.review.rating_scale import rating_scale
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.banks.edits import check_reviewed, read_edits
from exam_pp.store.files import check_output, is_stream
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import RawQuery
from exam_pp.test_bank import EntryKind
from exam_pp.wording import counted

Pair = tuple[str, str, str]
"""Query id, passage id, entry id."""


@dataclass
class AppliedRatings:
    """Counts for the closing lines."""

    prompt_class: str = ""
    ratings: Counter[str] = field(default_factory=Counter)
    comments: int = 0
    replaced: int = 0
    differing: int = 0
    compared: int = 0
    bank_edits: int = 0

    def lines(self) -> Iterator[str]:
        """What was done, for people."""
        for grader, count in self.ratings.items():
            yield f"{counted(count, 'rating')} added as {grader} with the prompt class {self.prompt_class}."
        if self.replaced:
            gave = counted(self.replaced, "time", "times")
            yield f"{gave} a person gave two ratings of a passage for one entry: the later one counts."
        if self.comments:
            yield f"{counted(self.comments, 'of them has', 'of them have')} a comment."
        if self.compared:
            yield f"{self.differing} of {self.compared} differ from the rating of a model."
        if self.bank_edits:
            are = counted(self.bank_edits, "edit of the bank is", "edits of the bank are")
            yield f"{are} applied with `exam-pp bank apply`."


def apply_ratings(
    graded: Path,
    edits: Sequence[Path],
    output: Path,
    *,
    prompt_class: str | None = None,
    bank: Path | None = None,
    reviewer: str | None = None,
    prompts: Mapping[str, Prompt] | None = None,
    force: bool = False,
) -> AppliedRatings:
    """Write GRADED with the ratings of the edits files as grades by ``human:REVIEWER``.

    They get the prompt class that they correct, so that models and people are compared: the only rated
    one of the file that has the rated entries, or ``prompt_class``. Grades of models stay as they are;
    a person's later rating takes the place of the same person's earlier one, so that applying edits
    twice gives the same file. All ratings are applied, or none.

    Args:
        graded: Graded file.
        edits: Edits files with ratings.
        output: Graded file to write.
        prompt_class: Prompt class of the new grades. None: the only prompt class of the file that fits.
        bank: Test bank with further entries, for which the file has no grades yet.
        reviewer: Name of the reviewer. None: the name in the edits files.
        prompts: Prompts that are not registered, by name.
        force: Whether to apply edits that were made for another file, or another version of the file.

    Returns:
        Counts for the summary.

    Raises:
        DataError: The edits are for another file, a passage or entry is not in the file, or a rating is
            outside the scale.
        SelectionError: The prompt class is ambiguous.
    """
    inputs = [graded, *edits, *([bank] if bank else [])]
    check_output(output, inputs)
    if is_stream(graded):
        raise SelectionError("GRADED is read several times: name a file.")
    known = _Survey.of(graded, bank)
    summary = AppliedRatings()
    wanted: dict[str, dict[Pair, HumanRating]] = {}
    sources: list[tuple[Path, Sequence[HumanRating]]] = []
    for path in edits:
        given = read_edits(path)
        if not force:
            check_reviewed(given.graded_sha256, graded, path, "graded_sha256", "file", "passages")
        known.check(given, path, graded, bank)
        sources.append((path, given.ratings))
        summary.bank_edits += len(given.bank)
        if given.ratings:
            grader = HUMAN + _name(reviewer, given, path)
            ratings = wanted.setdefault(grader, {})
            for rating in given.ratings:
                before = ratings.get(_pair(rating), rating)
                summary.replaced += before.rating != rating.rating
                ratings[_pair(rating)] = rating
    if not wanted:
        more = "; its edits of the bank are applied with `exam-pp bank apply`" if summary.bank_edits else ""
        raise SelectionError(f"{', '.join(map(str, edits))} has no ratings{more}.")
    rated = _rated_class(
        graded, known, {pair for ratings in wanted.values() for pair in ratings}, prompt_class, prompts or {}
    )
    for path, of_file in sources:
        _check_entries(of_file, rated, known, path)
        _check_scale(of_file, rated, path)
    summary.prompt_class = rated.name
    _write(graded, output, inputs, wanted, rated, summary)
    return summary


def _pair(rating: HumanRating) -> Pair:
    return rating.query_id, rating.passage_id, rating.entry_id


def _name(reviewer: str | None, edits: Edits, path: Path) -> str:
    name = " ".join((reviewer or edits.reviewer).split()).removeprefix(HUMAN).strip()
    if not name:
        raise DataError("is empty; say with --reviewer who rated.", file=str(path), field="reviewer")
    return name


@dataclass
class _Survey:
    """Which passages and entries a graded file (and a bank) has, and which prompt classes rate them."""

    passages: dict[str, set[str]] = field(default_factory=dict)
    entries: dict[str, set[str]] = field(default_factory=dict)
    classes: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    samples: dict[str, RubricGrades | DirectGrade] = field(default_factory=dict)
    best: dict[str, int] = field(default_factory=dict)
    kinds: set[EntryKind] = field(default_factory=set)

    @classmethod
    def of(cls, graded: Path, bank: Path | None) -> _Survey:
        found = cls()
        for query in read_passages(graded):
            ids = found.passages.setdefault(query.query_id, set())
            for passage in query.passages:
                ids.add(passage.passage_id)
                for grades in passage.grade_sets():
                    found._add(query.query_id, grades)
        if bank is not None:
            test_bank = read_bank(bank)
            found.kinds = test_bank.kinds
            for entries in test_bank:
                found.entries.setdefault(entries.query_id, set()).update(entries.entries)
        return found

    def _add(self, query_id: str, grades: RubricGrades | DirectGrade) -> None:
        name = GradeKey.of(grades).prompt_class
        ratings = grades.entry_ratings()
        failed = grades.errors if isinstance(grades, RubricGrades) else None
        asked = [*ratings, *(failed if isinstance(failed, dict) else ())]
        self.entries.setdefault(query_id, set()).update(asked)
        self.classes.setdefault(name, set()).update((query_id, entry_id) for entry_id in asked)
        self.samples.setdefault(name, grades)
        self.best[name] = max([self.best.get(name, 0), *ratings.values()])

    def kinds_of(self, rating: HumanRating) -> set[EntryKind]:
        """Whether the rated entry is a question or a nugget, as far as the grades and the bank tell."""
        pair = (rating.query_id, rating.entry_id)
        found = {
            _kind(PROMPTS.find(name), self.samples[name], self)
            for name, entries in self.classes.items()
            if pair in entries
        }
        return found or self.kinds

    def check(self, edits: Edits, path: Path, graded: Path, bank: Path | None) -> None:
        """Every rated passage and entry is there; raises :class:`DataError` with their names."""
        where = f"{graded}" if bank is None else f"{graded}, with {bank},"
        pairs = sorted(map(_pair, edits.ratings))
        absent = list(dict.fromkeys(f"{q}/{p}" for q, p, _ in pairs if p not in self.passages.get(q, ())))
        if absent:
            words = some(absent, "passage", "passages")
            raise DataError(f"{graded} does not have {words}.", file=str(path), field="ratings")
        absent = [e for q, _, e in pairs if e != DIRECT_ID and e not in self.entries.get(q, ())]
        if absent:
            words = some(list(dict.fromkeys(absent)), "bank entry", "bank entries")
            hint = "; name --bank if they are not graded yet" if bank is None else ""
            raise DataError(f"{where} does not have {words}{hint}.", file=str(path), field="ratings")


def _rated_class(
    graded: Path, known: _Survey, pairs: Iterable[Pair], asked: str | None, prompts: Mapping[str, Prompt]
) -> RatedClass:
    wanted = {(query_id, entry_id) for query_id, _, entry_id in pairs}
    if asked is None:
        names = [name for name, entries in known.classes.items() if wanted <= entries]
        scaled = [name for name in names if known.samples[name].is_rated]
        names = scaled or names
        if len(names) != 1:
            listed = ", ".join(sorted(names or known.classes)) or "none"
            raise SelectionError(
                f"The ratings may be for several prompt classes of {graded}, or for none; choose one with "
                f"--prompt-class ({listed})."
            )
        asked = names[0]
    prompt = prompts.get(asked) or PROMPTS.find(asked)
    name = asked if prompt is None else prompt.name
    sample = known.samples.get(name)
    if prompt is None and sample is None:
        PROMPTS.get(asked)  # says which names are known
    return RatedClass(
        name,
        rating_scale(prompt, known.best.get(name)),
        _kind(prompt, sample, known),
        is_rated=sample.is_rated if sample is not None else prompt is not None and prompt.is_rated,
        is_direct=isinstance(sample, DirectGrade) or (prompt is not None and prompt.kind == "direct"),
        assigns=prompt is not None and prompt.kind == "assignment",
    )


def _kind(prompt: Prompt | None, sample: RubricGrades | DirectGrade | None, known: _Survey) -> EntryKind:
    if prompt is not None and prompt.entry_kind is not None:
        return prompt.entry_kind
    nuggets = known.kinds == {"nugget"} if sample is None else sample.kind == "nugget"
    return "nugget" if nuggets else "question"


def _check_entries(ratings: Iterable[HumanRating], rated: RatedClass, known: _Survey, path: Path) -> None:
    """What was rated is what the prompt rates: passages as a whole, questions, or nuggets."""
    for rating in ratings:
        if (rating.entry_id == DIRECT_ID) != rated.is_direct:
            found, wanted = ("bank entries", "passages as a whole")
            if not rated.is_direct:
                found, wanted = wanted, found
        elif not rated.is_direct and (kinds := known.kinds_of(rating)) and rated.kind not in kinds:
            found, wanted = f"{min(kinds)}s", f"{rated.kind}s"
        else:
            continue
        raise DataError(
            f"{rating.entry_id} of {rating.query_id} is among the ratings of {found}, but the prompt class "
            f"{rated.name} rates {wanted}; name another --prompt-class.",
            file=str(path), field="ratings",
        )  # fmt: skip


def _check_scale(ratings: Iterable[HumanRating], rated: RatedClass, path: Path) -> None:
    allowed = {step.rating for step in rated.steps}
    for rating in ratings:
        if rating.rating not in allowed:
            words = ", ".join(str(step.rating) for step in rated.steps)
            raise DataError(
                f"the rating {rating.rating} of {rating.query_id}/{rating.passage_id} for {rating.entry_id} "
                f"is not on the scale of {rated.name} ({words}).",
                file=str(path), field="ratings",
            )  # fmt: skip


def _write(
    graded: Path,
    output: Path,
    inputs: Sequence[Path],
    wanted: Mapping[str, Mapping[Pair, HumanRating]],
    rated: RatedClass,
    summary: AppliedRatings,
) -> None:
    by_passage: dict[tuple[str, str], dict[str, list[HumanRating]]] = {}
    for grader, ratings in wanted.items():
        summary.ratings[grader] = len(ratings)
        summary.comments += sum(rating.comment is not None for rating in ratings.values())
        for rating in ratings.values():
            of_passage = by_passage.setdefault((rating.query_id, rating.passage_id), {})
            of_passage.setdefault(grader, []).append(rating)

    def change(query: RawQuery) -> RawQuery:
        for raw in query.passages:
            # A passage that the file has twice gets the ratings once.
            found = by_passage.pop((query.query_id, raw.passage_id), {})
            if found:
                passage = raw.full()
                for grader, given in found.items():
                    _compare(passage, rated, given, summary)
                    add_ratings(passage, grader, rated, given)
                raw.take_grades(passage)
        return query

    rewrite(graded, output, change, inputs=inputs)


def _compare(
    passage: Passage, rated: RatedClass, given: Sequence[HumanRating], summary: AppliedRatings
) -> None:
    models = [
        grades.entry_ratings()
        for grades in passage.grade_sets()
        if rated.holds(grades) and not is_human(grades.model)
    ]
    for rating in given:
        others = {ratings[rating.entry_id] for ratings in models if rating.entry_id in ratings}
        summary.compared += bool(others)
        summary.differing += bool(others - {rating.rating})
