"""Human ratings and labels of citations from edits files, added as grades by ``human:REVIEWER``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Generic, TypeVar

from exam_pp.banks import EntryKind, TestBank
from exam_pp.data_model import (
    DIRECT_ID,
    SUPPORT_CLASS,
    AnyGrades,
    CitationSupport,
    DirectGrade,
    Passage,
    QueryPassages,
    RubricGrades,
    SupportGrades,
)
from exam_pp.decided_grades import RESOLVES, decided_grades, merged, put
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.phases.review.content_keys import digest, entry_keys, query_text_of, scale_of
from exam_pp.phases.review.rating_scale import rating_scale
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.roles import role_of
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import (
    Edits,
    HumanRating,
    HumanSupport,
    check_one_file,
    check_reviewed,
    read_edits,
    reviewer_name,
    warn_of_similar_names,
)
from exam_pp.store.files import check_output
from exam_pp.store.inputs import reading
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import RawQuery
from exam_pp.text.wording import counted, noted

Pair = tuple[str, str, str]
"""Query id, passage id, entry id (of a label: id of the cited passage)."""

T = TypeVar("T", HumanRating, HumanSupport)


@dataclass
class Decisions(Generic[T]):
    """Ratings or labels of people, by grader and pair, and counts of them.

    ``replaced`` are pairs with a later decision by the same grader with another value, and its first place in
    the files.
    """

    by_grader: dict[str, dict[Pair, T]] = field(default_factory=dict)
    replaced: dict[tuple[str, Pair], str] = field(default_factory=dict)

    def add(self, grader: str, item: T, place: str) -> None:
        """Add a decision, which replaces an earlier one by the grader on the same pair."""
        known, pair = self.by_grader.setdefault(grader, {}), _pair(item)
        if _value(known.get(pair, item)) != _value(item):
            self.replaced.setdefault((grader, pair), place)
        known[pair] = item

    def by_passage(self) -> Iterator[tuple[tuple[str, str], str, list[T]]]:
        """Query id and passage id, grader, and decisions."""
        for grader, items in self.by_grader.items():
            of_passages: dict[tuple[str, str], list[T]] = {}
            for item in items.values():
                of_passages.setdefault((item.query_id, item.passage_id), []).append(item)
            for place, of_passage in of_passages.items():
                yield place, grader, of_passage

    def lines(self, pair: str, decided: str, noun: str) -> Iterator[str]:
        """A sentence on pairs that were decided again."""
        first = next(iter(self.replaced.values()), "")
        again = f"{{}} {decided} again with another {noun}, first in {first}: the later {noun} counts."
        yield from noted(len(self.replaced), again, f"{pair} was", f"{pair}s were")


@dataclass
class AppliedRatings:
    """What was applied, for the summary.

    ``outdated`` are the ratings, by file and number, whose texts the graded file does not have; True if it
    has other texts with their ids.
    """

    ratings: list[tuple[RatedClass, Decisions[HumanRating]]] = field(default_factory=list)
    labels: Decisions[HumanSupport] = field(default_factory=Decisions)
    bank_edits: int = 0
    outdated: dict[tuple[Path, int], bool] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The summary, a sentence per line."""
        for rated, ratings in self.ratings:
            for grader, added in ratings.by_grader.items():
                yield f"{counted(len(added), 'rating')} added as {grader} with the prompt {rated.name}."
            yield from ratings.lines("pair", "rated", "rating")
        for grader, labelled in self.labels.by_grader.items():
            yield f"{counted(len(labelled), 'label')} of citations added as {grader}."
        yield from self.labels.lines("citation", "labelled", "label")
        for changed, why in (
            (True, "changed: left out"),
            (False, "are gone: kept for their return"),
        ):
            count = list(self.outdated.values()).count(changed)
            yield from noted(count, f"{{}} of texts or entries that {why}.", "rating is", "ratings are")
        yield from noted(
            self.bank_edits, "{} not applied: use `exam-pp bank apply`, unless the bank has them.",
            "edit of the bank was", "edits of the bank were",
        )  # fmt: skip


@reading()
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
    """Copy a graded file and add ratings and labels of edits files as grades by ``human:REVIEWER``.

    Grades of models are not changed. A later rating by the same reviewer replaces the earlier rating, so
    applying the same edits twice gives the same file. If an edits file is refused, no output is written.

    ``graded``: The graded file that was reviewed. ``edits``:
    Edits files, in the order in which they apply. ``prompt_class``: Prompt class of the new grades. The
    default is the only prompt class of the file with grades for all rated entries; a prompt with a scale is
    preferred. Ratings with keys count for every pair with their texts and scale, of all prompt classes.
    ``reviewer``: Name of the reviewer; replaces the name in the edits file, of which there must be only one.
    ``prompts``: Prompts that are not registered, by name.
    """
    inputs = [graded, *edits, *([bank] if bank else [])]
    check_output(output, inputs)
    # A pass of its own, because prompt class and scale depend on all grades of the file.
    survey = Survey.of(read_passages(graded), TestBank({}) if bank is None else read_bank(bank))
    sources = [(path, read_edits(path)) for path in edits]
    check_one_file(reviewer, edits, sources[0][1].people if len(sources) == 1 else ())
    for path, edits_of_file in sources:
        if not (force or edits_of_file.is_by_content):
            check_reviewed(edits_of_file.graded_sha256, graded, path, "graded_sha256", "file", "passages")
        survey.check(edits_of_file, path, graded, bank)
    summary, decided = decisions(
        survey, sources, graded=graded, prompt_class=prompt_class, reviewer=reviewer, prompts=prompts
    )
    add_decisions(graded, output, inputs, decided)
    return summary


Add = Callable[[Passage], None]
"""Adds what a person decided to a passage."""


def decisions(
    survey: Survey,
    sources: Sequence[tuple[Path, Edits]],
    *,
    graded: Path,
    prompt_class: str | None = None,
    reviewer: str | None = None,
    prompts: Mapping[str, Prompt] | None = None,
) -> tuple[AppliedRatings, list[tuple[str, str, Add]]]:
    """What edits add to graded passages: a summary, and functions with the ids of query and passage.

    ``survey`` is of these passages, ``graded`` their name in messages. Other parameters and errors are those
    of :func:`apply_ratings`.
    """
    summary = AppliedRatings()
    raters: dict[tuple[Path, str | None], str] = {}
    for path, edits_of_file in sources:
        summary.bank_edits += len(edits_of_file.bank)
        by = {rating.by for rating in edits_of_file.ratings} | ({None} if edits_of_file.supports else set())
        for name in by:
            raters[path, name] = reviewer_name(reviewer or name, edits_of_file, path)
        for number, rating in enumerate(edits_of_file.ratings, 1):
            query_id, passage_id, entry_id = _pair(rating)
            # Until a pair with its key is found.
            summary.outdated[path, number] = entry_id in survey.entries.get(query_id, ()) and (
                passage_id in survey.passages.get(query_id, ())
            )
    warn_of_similar_names(raters.values(), survey.models)
    if not raters:
        hint = " Apply edits of the bank with `exam-pp bank apply`." if summary.bank_edits else ""
        names = ", ".join(str(path) for path, _ in sources)
        raise SelectionError(f"No ratings and no labels of citations in {names}.{hint}")
    if summary.outdated and prompt_class is None and not survey.classes:
        raise SelectionError(f"{graded} has no grades: name the prompt of the ratings with --prompt.")
    by_ids = {
        (rating.query_id, rating.entry_id)
        for _, edits_of_file in sources
        for rating in edits_of_file.ratings
        if rating.key is None
    }
    of_ids = prompt_class or (_only_class(graded, survey, by_ids) if by_ids else None)
    for name in ([prompt_class] if prompt_class else survey.classes) if summary.outdated else ():
        rated = _rated_class(survey, name, prompts or {})
        ratings: Decisions[HumanRating] = Decisions()
        for path, edits_of_file in sources:
            found = _found(edits_of_file, rated, survey, by_ids=name == of_ids)
            _check_ratings([item for _, item in found], rated, survey, path)
            for number, item in found:
                ratings.add(raters[path, item.by], item, f"{path}, ratings.{number}")
                summary.outdated.pop((path, number), None)
        summary.ratings.append((rated, ratings))
    for path, edits_of_file in sources:
        for number, label in enumerate(edits_of_file.supports, 1):
            summary.labels.add(raters[path, None], label, f"{path}, supports.{number}")
    of_ratings = (
        (*place, partial(add_ratings, grader=grader, rated=rated, new=new))
        for rated, ratings in summary.ratings
        for place, grader, new in ratings.by_passage()
    )
    of_labels = (
        (*place, partial(add_supports, grader=grader, new=new))
        for place, grader, new in summary.labels.by_passage()
    )
    return summary, [*of_ratings, *of_labels]


def _found(edits: Edits, rated: RatedClass, survey: Survey, *, by_ids: bool) -> list[tuple[int, HumanRating]]:
    """Number and rating for each pair that a rating is of: by its content, or without a key by its ids."""
    places = _places(survey, scale_of(rated.name, rated.prompt), with_bank=bool(edits.bank_sha256))
    return [
        (number, item)
        for number, rating in enumerate(edits.ratings, 1)
        for item in ([rating] * by_ids if rating.key is None else _with_content(rating, rating.key, places))
    ]


def _with_content(
    rating: HumanRating, key: str, places: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[HumanRating]:
    """The rating for every pair with its key."""
    of_entry, _, of_passage = key.partition(":")
    for query_id, passage_id in places.get(of_passage, ()):
        for entry_id in (name for other, name in places.get(of_entry, ()) if other == query_id):
            ids = {"query_id": query_id, "passage_id": passage_id, "entry_id": entry_id}
            yield rating.model_copy(update=ids)


def _pair(item: HumanRating | HumanSupport) -> Pair:
    last = item.entry_id if isinstance(item, HumanRating) else item.citation
    return item.query_id, item.passage_id, last


def _value(item: HumanRating | HumanSupport) -> int | str:
    return item.rating if isinstance(item, HumanRating) else item.support


@dataclass(eq=False)
class Survey:
    """The passages and entries of a graded file (and a bank), and the prompt classes that rate them.

    ``texts``, ``passages`` and ``entries`` map a query id to its text, to the digests of texts by passage id,
    and to entry ids. ``citations`` has the pairs of a part of an answer and an id that it cites, with the
    query id. ``classes``, ``samples`` and ``best`` map a prompt class to its graded entries (with query ids),
    an example of its grades, and its highest rating. ``models`` are all that graded or labelled.
    """

    bank: TestBank
    texts: dict[str, str] = field(default_factory=dict)
    passages: dict[str, dict[str, str]] = field(default_factory=dict)
    entries: dict[str, set[str]] = field(default_factory=dict)
    citations: set[Pair] = field(default_factory=set)
    classes: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    samples: dict[str, RubricGrades | DirectGrade] = field(default_factory=dict)
    best: dict[str, int] = field(default_factory=dict)
    models: dict[str | None, None] = field(default_factory=dict)

    @classmethod
    def of(cls, graded: Iterable[QueryPassages], bank: TestBank) -> Survey:
        """The survey of graded passages and a bank, which may have no queries."""
        survey = cls(bank)
        for query in graded:
            survey.texts.setdefault(query.query_id, query.query_text)
            digests = survey.passages.setdefault(query.query_id, {})
            for part, cited in cited_ids(query).items():
                survey.citations.update((query.query_id, part, citation) for citation in cited)
            for passage in query.passages:
                digests.setdefault(passage.passage_id, digest(passage.text))
                survey.models |= dict.fromkeys(grades.model for grades in passage.support_grades or ())
                for grades in passage.grade_sets():
                    survey._add(query.query_id, grades)
        for entries in survey.bank:
            survey.entries.setdefault(entries.query_id, set()).update(entries.entries)
        return survey

    def _add(self, query_id: str, grades: RubricGrades | DirectGrade) -> None:
        model, name = GradeKey.of(grades)
        self.models[model] = None
        ratings = grades.entry_ratings()
        # A prompt class also rates entries on which it failed, so people may rate these.
        asked = [*ratings, *(grades.failures() if isinstance(grades, RubricGrades) else ())]
        self.entries.setdefault(query_id, set()).update(asked)
        self.classes.setdefault(name, set()).update((query_id, entry_id) for entry_id in asked)
        self.samples.setdefault(name, grades)
        self.best[name] = max([self.best.get(name, 0), *ratings.values()])

    def kinds_of(self, rating: HumanRating) -> set[EntryKind]:
        """The kinds of the graded entry with this id, else the kinds of the bank; empty if unknown."""
        pair = (rating.query_id, rating.entry_id)
        kinds = {
            _kind(PROMPTS.find(name), self.samples[name], self)
            for name, entries in self.classes.items()
            if pair in entries
        }
        return kinds or self.bank.kinds

    def check(self, edits: Edits, path: Path, graded: Path, bank: Path | None) -> None:
        """Raise DataError if the edits name passages, entries or citations that are in neither file."""
        if edits.bank_sha256 and not self.bank.queries and any(rating.key for rating in edits.ratings):
            raise DataError(
                "are of entries of a test bank: name it with --bank.", file=str(path), field="ratings"
            )
        rated = sorted(_pair(rating) for rating in edits.ratings if rating.key is None)
        labelled = sorted(map(_pair, edits.supports))
        entries = [e for q, _, e in rated if e != DIRECT_ID and e not in self.entries.get(q, ())]
        citations = [f"{c} in {q}/{p}" for q, p, c in labelled if (q, p, c) not in self.citations]
        where = (
            f"{graded}. If they are not graded yet, name --bank" if bank is None else f"{graded} or {bank}"
        )
        for name, nouns, absent, of in (
            ("ratings", ("passage", "passages"), self._unknown_passages(rated), graded),
            ("ratings", ("bank entry", "bank entries"), entries, where),
            ("supports", ("passage", "passages"), self._unknown_passages(labelled), graded),
            ("supports", ("citation", "citations"), citations, graded),
        ):
            if absent:
                missing = counted_names(list(dict.fromkeys(absent)), *nouns)
                raise DataError(f"names {missing} not in {of}.", file=str(path), field=name)

    def _unknown_passages(self, pairs: Iterable[Pair]) -> list[str]:
        return [f"{q}/{p}" for q, p, _ in pairs if p not in self.passages.get(q, ())]


@lru_cache(maxsize=2)
def _places(survey: Survey, asked: str, *, with_bank: bool) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Key to query id and id of the passages and entries with this content, as a page shows them."""
    places: dict[str, list[tuple[str, str]]] = {}
    bank = survey.bank if with_bank else TestBank({})
    for query_id, digests in survey.passages.items():
        text = query_text_of(query_id, survey.texts[query_id], bank)
        entries = sorted({*survey.entries.get(query_id, ()), DIRECT_ID})
        keys = [(passage_id, digest(text, of_text)) for passage_id, of_text in digests.items()]
        for name, key in [*keys, *entry_keys(query_id, text, bank, entries, asked).items()]:
            places.setdefault(key, []).append((query_id, name))
    return places


def _rated_class(survey: Survey, prompt_class: str, prompts: Mapping[str, Prompt]) -> RatedClass:
    prompt = prompts.get(prompt_class) or PROMPTS.find(prompt_class)
    name = prompt_class if prompt is None else prompt.name
    sample = survey.samples.get(name)
    if prompt is None and sample is None:
        PROMPTS.get(prompt_class)  # raises an error that lists the known names
    return RatedClass(
        name,
        prompt,
        survey.best.get(name),
        _kind(prompt, sample, survey),
        is_rated=sample.is_rated if sample is not None else prompt is not None and prompt.is_rated,
        is_direct=isinstance(sample, DirectGrade) or (prompt is not None and prompt.kind == "direct"),
        labels=prompt.labels if prompt is not None and prompt.kind == "assignment" else (),
    )


def _only_class(graded: Path, survey: Survey, entries: set[tuple[str, str]]) -> str:
    """The only prompt class that has grades for all these entries; a prompt with a scale is preferred."""
    names = [name for name, graded_entries in survey.classes.items() if entries <= graded_entries]
    names = [name for name in names if survey.samples[name].is_rated] or names
    if len(names) == 1:
        return names[0]
    raise SelectionError(
        f"{'Several prompts rate' if names else 'No prompt rates'} all entries of the edits in {graded}; "
        f"choose with --prompt ({', '.join(sorted(names or survey.classes))})."
    )


def _kind(prompt: Prompt | None, sample: RubricGrades | DirectGrade | None, survey: Survey) -> EntryKind:
    if prompt is not None and prompt.entry_kind is not None:
        return prompt.entry_kind
    nuggets = survey.bank.kinds == {"nugget"} if sample is None else sample.kind == "nugget"
    return "nugget" if nuggets else "question"


def _check_ratings(ratings: Sequence[HumanRating], rated: RatedClass, survey: Survey, path: Path) -> None:
    """Raise DataError if a rating is not on the scale of the prompt, or for a kind that it does not rate.

    The kinds are passages as a whole, questions and nuggets.
    """
    allowed = [step.rating for step in rating_scale(rated.prompt, rated.best)] if ratings else []
    for rating in ratings:
        if rating.rating not in allowed:
            scale = ", ".join(map(str, allowed))
            raise DataError(
                f"has the rating {rating.rating} of {rating.query_id}/{rating.passage_id} for "
                f"{rating.entry_id}, which is not on the scale of {rated.name} ({scale}).",
                file=str(path), field="ratings",
            )  # fmt: skip
        if (rating.entry_id == DIRECT_ID) != rated.is_direct:
            direct = ("a bank entry", "passages as a whole")
            actual, expected = direct if rated.is_direct else ("a passage as a whole", "bank entries")
        elif not rated.is_direct and (kinds := survey.kinds_of(rating)) and rated.kind not in kinds:
            actual, expected = f"a {min(kinds)}", f"{rated.kind}s"
        else:
            continue
        raise DataError(
            f"has a rating of {actual} ({rating.entry_id!r} of the query {rating.query_id!r}), but the "
            f"prompt {rated.name} rates {expected}; name another --prompt.",
            file=str(path), field="ratings",
        )  # fmt: skip


def add_decisions(
    graded: Path,
    output: Path,
    inputs: Sequence[Path],
    decided: Iterable[tuple[str, str, Add]],
) -> None:
    """Copy a graded file, and let each function add what a person decided to a query's passage.

    Of a passage that is there twice, the first one takes it. Raises DataError if a passage is missing.
    """
    waiting: dict[tuple[str, str], list[Add]] = {}
    for query_id, passage_id, add in decided:
        waiting.setdefault((query_id, passage_id), []).append(add)

    def change(query: RawQuery) -> RawQuery:
        for raw in query.passages:
            if adding := waiting.pop((query.query_id, raw.passage_id), ()):
                passage = raw.full()
                for add in adding:
                    add(passage)
                raw.take_grades(passage)
        return query

    def check(_counts: Rewritten) -> None:
        # A survey has seen all of these passages, so a remaining one has disappeared since.
        if waiting:
            raise DataError("was changed while it was read. Run the command again.", file=str(graded))

    rewrite(graded, output, change, inputs=inputs, check=check)


def cited_ids(query: QueryPassages) -> dict[str, set[str]]:
    """Id of a part of an answer to the ids that it cites."""
    cited: dict[str, set[str]] = {}
    for passage in query.passages:
        for entry in passage.rankings:
            if role_of(query.query_id, passage.passage_id, entry) == "answer":
                cited.setdefault(passage.passage_id, set()).update(entry.citations or ())
    return cited


def add_supports(passage: Passage, grader: str, new: Sequence[HumanSupport]) -> None:
    """Add a reviewer's labels to a part of an answer, merged with earlier labels by the same reviewer."""

    def earlier(grades: SupportGrades) -> bool:
        return grades.model == grader and grades.prompt_class == SUPPORT_CLASS

    known = passage.support_grades or ()
    before = [grades for grades in known if earlier(grades)]
    labels, comments = merged(
        (({item.citation: item.support for item in grades.supports}, grades.comments) for grades in before),
        {item.citation: item.support for item in new},
        _comments(new),
    )
    grades = SupportGrades(
        model=grader,
        model_options={},
        prompt_info={"prompt_class": SUPPORT_CLASS},
        prompt_type="support",
        supports=[CitationSupport(citation=key, support=label) for key, label in labels.items()],
        **comments,
    )
    passage.take(support_grades=put(grades, known, earlier))


def _comments(items: Iterable[HumanRating | HumanSupport]) -> dict[str, str]:
    return {_pair(item)[2]: item.comment for item in items if item.comment is not None}


@dataclass(frozen=True)
class RatedClass:
    """The prompt class of human ratings, and the form of its grades.

    ``best`` is its highest rating in the file. ``is_rated`` is True for a scale and False for right or wrong.
    ``is_direct`` marks direct grades. ``labels``: Those of an assignment prompt.
    """

    name: str
    prompt: Prompt | None
    best: int | None
    kind: EntryKind
    is_rated: bool
    is_direct: bool
    labels: Sequence[str]

    def holds(self, grades: RubricGrades | DirectGrade) -> bool:
        """Whether the grades have this prompt class."""
        return GradeKey.of(grades).prompt_class == self.name


def add_ratings(passage: Passage, grader: str, rated: RatedClass, new: Sequence[HumanRating]) -> None:
    """Add a reviewer's ratings to a passage, merged with earlier ratings by the same reviewer."""

    def earlier(grades: RubricGrades | DirectGrade) -> bool:
        return grades.model == grader and rated.holds(grades)

    name = "direct_grades" if rated.is_direct else "rubric_grades"
    known: Sequence[AnyGrades] = getattr(passage, name) or ()
    ratings, comments = merged(
        ((grades.entry_ratings(), grades.comments) for grades in known if earlier(grades)),
        {rating.entry_id: rating.rating for rating in new},
        _comments(new),
    )
    before = {key for g in known if earlier(g) for key in (g.model_options or {}).get(RESOLVES, ())}
    resolves = {rating.entry_id for rating in new if rating.resolves}
    resolves |= before - {rating.entry_id for rating in new}
    grades = decided_grades(
        ratings,
        "direct" if rated.is_direct else rated.kind,
        {
            "model": grader,
            "model_options": {RESOLVES: sorted(resolves)} if resolves else {},
            "prompt_info": {"prompt_class": rated.name, "is_self_rated": rated.is_rated},
            **comments,
        },
        is_rated=rated.is_rated,
        labels=rated.labels,
        source="human",
    )
    passage.take(**{name: put(grades, known, earlier)})
