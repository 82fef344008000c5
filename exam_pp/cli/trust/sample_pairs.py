"""``exam-pp sample-pairs``: draw pairs of passage and bank entry for people to label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    CUTOFF_DEFAULT,
    GRADED,
    PROMPT,
    ROLE,
    bank_option,
    grade_filter,
    grades_options,
    log_notes,
    log_summary,
    model_names,
    required_output,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError
from exam_pp.metrics.poisson_sampling import (
    inclusion_probabilities,
    weights_by_spread,
    weights_of_equal_strata,
)
from exam_pp.pair_sample import Block, PairSample, SampledBy, SampledPair, drawn_number
from exam_pp.store.guarded_inputs import reading
from exam_pp.text.wording import counted, listed

if TYPE_CHECKING:
    from exam_pp.data_model import Role
    from exam_pp.grade_filter import GradeFilter, GradeSelector
    from exam_pp.metrics.grade_masks import GradedFile, GradedQuery
    from exam_pp.phases.evaluation.inputs import LoadedPassages
    from exam_pp.phases.evaluation.result import PathLike
    from exam_pp.phases.evaluation.selected_grades import SelectedGrades

    _Pairs = Callable[[GradedQuery], Iterator["_Pair"]]


@click.command("sample-pairs", cls=Command)
@GRADED
@bank_option("Test bank; only pairs with its entries are drawn.", default="all graded entries")
@required_output("File with the sampled pairs to write.")
@click.option(
    "--count",
    "budget",
    type=IntRange(min=1),
    required=True,
    help="Number of pairs to expect; the drawn number is random.",
)
@click.option(
    "--by",
    type=click.Choice(get_args(SampledBy)),
    default="even",
    show_default=True,
    help="All pairs are equally likely (even); the same number of pairs is expected for each rating "
    "(rating); pairs are likelier if graders disagree on them (disagreement); or entries are drawn, each "
    "with all its passages (entry; best for Cover).",
)
@click.option(
    "--grader",
    "graders",
    shell_complete=model_names,
    multiple=True,
    metavar="NAME",
    help="Only grades by this model; with --by disagreement repeated, for the graders to compare.  "
    "[default: the only model; for disagreement also all others]",
)
@PROMPT
@grades_options
@click.option(
    "--cutoff",
    type=IntRange(min=0),
    help="Draw from the passages within the first ranks of at least one system. 0: from all graded "
    f"passages.  {CUTOFF_DEFAULT}",
)
@ROLE
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random draw.")
def command(
    *,
    graded: Path,
    bank: Path | None,
    output: Path,
    budget: int,
    by: SampledBy,
    graders: tuple[str, ...],
    cutoff: int | None,
    role: Any,
    seed: int,
    **criteria: Any,
) -> None:
    """Draw pairs of passage and bank entry for people to label, with known probabilities.

    The pairs are graded by one model (the first --grader) with one prompt. Every pair is drawn independently
    of the others (with --by entry, every entry with all its pairs), and its probability is in the file, so
    that scores can be corrected without bias. The draw depends only on the seed and the ids; a larger
    --count keeps the pairs of a smaller one.

    With --by disagreement, a quarter of --count is spread evenly over all pairs, and the rest by the
    range of the ratings of the graders.

    Then label the pairs with `exam-pp review --pairs`.

    Examples:

    \b
      exam-pp sample-pairs graded.jsonl.gz --bank questions.jsonl --count 300 --by rating -o pairs.json
      exam-pp sample-pairs two-models.jsonl.gz --bank questions.jsonl --grader google/flan-t5-large \\
        --prompt self-rated --count 300 --by disagreement \\
        -o pairs.json
    """
    from exam_pp.store.pair_samples import write_pair_sample

    if len(graders) > 1 and by != "disagreement":
        raise click.UsageError(f"--by {by} uses the grades of one grader; name --grader only once.")
    drawn = sample_pairs(
        graded,
        bank=bank,
        grade_filter=grade_filter(graders[0] if graders else None, **criteria),
        budget=budget,
        by=by,
        compared=graders[1:],
        cutoff=cutoff,
        role=role,
        seed=seed,
    )
    write_pair_sample(drawn.sample, output, inputs=[path for path in (graded, bank) if path is not None])
    log_notes(drawn.notes)
    log_summary(drawn.lines())


_DIGITS = 9
"""Decimals of a spread, so that rounding errors do not make strata of their own."""


@dataclass(frozen=True)
class DrawnPairs:
    """A sample of pairs, the number of pairs that was expected, and notes for the user."""

    sample: PairSample
    expected: float
    notes: Sequence[str]

    def lines(self) -> Iterator[str]:
        """The summary, a sentence per line."""
        yield (
            f"Drew {len(self.sample.pairs)} of {counted(self.sample.size, 'graded pair')} "
            f"(expected: {self.expected:g})."
        )
        passages = {(pair.query_id, pair.passage_id) for pair in self.sample.pairs}
        queries = {query_id for query_id, _ in passages}
        read, of = counted(len(passages), "passage"), counted(len(queries), "query", "queries")
        yield f"A person reads {read} of {of} to label them."


class _Pair(NamedTuple):
    """A graded pair, with its stratum: pairs of a stratum have the same probability."""

    passage_id: str
    entry_id: str
    stratum: float


@reading()
def sample_pairs(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    budget: int,
    by: SampledBy = "even",
    compared: Sequence[str] = (),
    cutoff: int | None = None,
    role: Role | None = None,
    seed: int = 0,
) -> DrawnPairs:
    """Draw graded pairs of passage and bank entry for people to label.

    Every pair (by ``entry``, every entry with all its pairs) is drawn independently of the others with a
    probability that the sample records, so the number of pairs is random. The draw depends only on the seed
    and the ids, not on the order of the file. With the same seed and a larger budget, the sample contains the
    smaller one.

    ``graded``: Graded file. ``bank``: Test bank; only its
    entries count. Default: the entries that have grades. ``cutoff``: Draw from the passages within the first
    ranks of at least one system. Default: as for :func:`exam_pp.cover`. 0, and files without rankings: from
    all graded passages.
    """
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.evaluation.inputs import loaded
    from exam_pp.phases.evaluation.selected_grades import read_selected
    from exam_pp.prompts.base import with_aliases
    from exam_pp.store.edits import file_sha256

    criteria = with_aliases(grade_filter or GradeFilter())
    passages = loaded(graded)
    data = read_selected(passages, bank, criteria, None, None, role=role, reviewed=False)
    if data.selector.key.is_reviewer:
        raise SelectionError(
            f"The selected grades in {graded} are those of the reviewer {data.selector.key.model!r}, but "
            "pairs are drawn from the grades of a model: name it with --grader."
        )
    notes = list(data.notes)
    if not data.file.first_ranks and cutoff != 0:
        notes.append("The file has no rankings: the pairs are drawn from all graded passages.")
        cutoff = 0
    cutoff = (data.file.cutoff if cutoff is None else cutoff) or None
    # A function, so that each pass makes the pairs again, and no pass keeps those of all queries.
    pairs_of = _pairs_of(data, cutoff, by)
    if by == "disagreement":
        others = _other_graders(passages, data, criteria, compared, role)
        _check_shared_pairs(pairs_of, data, others)
        pairs_of = _by_disagreement(pairs_of, data, others)
    # A first pass, because probabilities depend on the number of pairs in each stratum.
    counts = Counter(pair.stratum for query in data.queries for pair in pairs_of(query))
    # Sorted, because the last digits of sums depend on their order, and the order of the file must not count.
    sizes = dict(sorted(counts.items()))
    size = counts.total()
    if not size:
        raise SelectionError(
            f"No passage within the first {cutoff} ranks of a system has a grade in {data.source}. Use a "
            "larger --cutoff, or --cutoff 0 for all graded passages."
        )
    if budget > size:
        notes.append(
            f"--count {budget} is above the number of graded pairs ({size}): the sample has all of "
            "them, with probability 1."
        )
    if by == "disagreement" and not any(sizes):
        notes.append("The graders agree on all pairs, so all pairs have the same probability.")
    probabilities = inclusion_probabilities(sizes, _weights(sizes, by), budget)
    sample = PairSample(
        graded_sha256=file_sha256(graded),
        model=data.selector.key.model,
        prompt_class=data.selector.key.prompt_class,
        by=by,
        seed=seed,
        cutoff=cutoff,
        population=dict(sorted((query.query_id, _blocks(data, query, cutoff)) for query in data.queries)),
        # Also of pairs that are not drawn: the rarest ones may hide the most errors of the judge.
        lowest_probability=min(probabilities.values()),
        pairs=_drawn(data, pairs_of, probabilities, by, seed),
    )
    if not sample.pairs:
        notes.append("No pair was drawn. Use a larger --count.")
    return DrawnPairs(sample, min(budget, size), notes)


def _pairs_of(data: SelectedGrades, cutoff: int | None, by: SampledBy) -> _Pairs:
    """The pairs of a query that can be drawn; the rating is the stratum, if probabilities depend on it."""

    def pairs(query: GradedQuery) -> Iterator[_Pair]:
        for index in _within(data, query, cutoff):
            passage = query.passages[index]
            for entry_id, rating in _ratings(query, index).items():
                yield _Pair(passage.passage_id, entry_id, 0 if by in ("even", "entry") else rating)

    return pairs


def _within(data: SelectedGrades, query: GradedQuery, cutoff: int | None) -> set[int]:
    """The passages within the cutoff of any system, as indices."""
    if cutoff is None:
        return set(range(len(query.passages)))
    ranked = data.file.first_ranks.items()
    return {index for system, first in ranked for index in query.top(system, first, cutoff)}


def _blocks(data: SelectedGrades, query: GradedQuery, cutoff: int | None) -> list[Block]:
    """All entries and all passages within the cutoff; passages with the same graded entries are a block."""
    passages: dict[int, list[str]] = {}
    ungraded = query.all_entries
    for index in _within(data, query, cutoff):
        passage = query.passages[index]
        passages.setdefault(passage.graded, []).append(passage.passage_id)
        ungraded &= ~passage.graded
    if ungraded:
        passages[ungraded] = []
    blocks = [
        Block(
            passages=sorted(ids),
            entries=sorted(key for key, position in query.entries.items() if mask >> position & 1),
        )
        for mask, ids in passages.items()
    ]
    return sorted(blocks, key=lambda block: (block.passages, block.entries))


def _ratings(query: GradedQuery, index: int) -> dict[str, int]:
    """Entry id to rating of a passage."""
    levels = query.passages[index].levels.items()
    return {
        entry_id: rating
        for entry_id, position in query.entries.items()
        for rating, entries in levels
        if entries >> position & 1
    }


class _Grader(NamedTuple):
    """The grades of another grader, and the highest rating of its scale."""

    file: GradedFile
    highest: int

    def ratings(self, query_id: str) -> dict[tuple[str, str], float]:
        """Passage id and entry id to rating, from 0 to 1."""
        query = self.file.queries.get(query_id)
        if query is None:
            return {}
        return {
            (passage.passage_id, entry_id): _scaled(rating, self.highest)
            for index, passage in enumerate(query.passages)
            for entry_id, rating in _ratings(query, index).items()
        }


def _scaled(rating: float, highest: int) -> float:
    # For an unknown prompt, the highest rating of the file stands for its scale, and it may be 0.
    return min(1.0, max(0.0, rating / max(1, highest)))


def _other_graders(
    passages: LoadedPassages,
    data: SelectedGrades,
    criteria: GradeFilter,
    compared: Sequence[str],
    role: Role | None,
) -> list[_Grader]:
    from exam_pp.phases.evaluation.inputs import views
    from exam_pp.phases.evaluation.selected_grades import selectors

    # Grades without a scale would disagree with each rating between the ends of a scale.
    criteria = replace(criteria, model=None, rated_only=data.selector.rated)
    graded = data.source
    known = selectors(views(passages, role, mixed=True), criteria, graded)
    selected = data.selector.key
    others = [key for key in known if key != selected]
    models = list(dict.fromkeys(key.model for key in others))
    for model in compared:
        if model == selected.model and model not in models:
            raise SelectionError(f"--grader names {model!r} twice; name the grader to compare it with.")
        if model not in models:
            raise SelectionError(
                f"{graded} has no such grades by {model!r} (graders: {listed([selected.model, *models])})."
            )
    # People rate few pairs, so they count only if they are named.
    others = [key for key in others if (key.model in compared if compared else not key.is_reviewer)]
    if not others:
        raise SelectionError(
            f"--by disagreement needs the grades of two models, but {graded} has only those of "
            f"{selected.model!r}; grade it with another model, or name a reviewer with --grader."
        )
    return [_grader(passages, data, known[key], role) for key in others]


def _grader(
    passages: LoadedPassages, data: SelectedGrades, selector: GradeSelector, role: Role | None
) -> _Grader:
    from exam_pp.metrics.grade_masks import gather
    from exam_pp.phases.evaluation.inputs import views
    from exam_pp.phases.evaluation.selected_grades import entry_kind, highest_grade

    kind = entry_kind(selector.filter)
    file = gather(views(passages, role, mixed=True), selector, data.bank, kind=kind)
    return _Grader(file, highest_grade(selector, file))


def _check_shared_pairs(pairs_of: _Pairs, data: SelectedGrades, others: Sequence[_Grader]) -> None:
    for query in data.queries:
        keys = {(pair.passage_id, pair.entry_id) for pair in pairs_of(query)}
        if any(not keys.isdisjoint(grader.ratings(query.query_id)) for grader in others):
            return
    raise SelectionError(
        f"--by disagreement needs pairs with ratings by two graders, but no other grader in {data.source} "
        f"rated the pairs of {data.selector.key.model!r}."
    )


def _by_disagreement(pairs_of: _Pairs, data: SelectedGrades, others: Sequence[_Grader]) -> _Pairs:
    """The pairs with the range of all ratings as the stratum, from 0 to 1."""

    def pairs(query: GradedQuery) -> Iterator[_Pair]:
        by_grader = [grader.ratings(query.query_id) for grader in others]
        for pair in pairs_of(query):
            key = (pair.passage_id, pair.entry_id)
            ratings = [_scaled(pair.stratum, data.highest_grade)]
            ratings += [of_grader[key] for of_grader in by_grader if key in of_grader]
            yield pair._replace(stratum=round(max(ratings) - min(ratings), _DIGITS))

    return pairs


def _weights(sizes: Mapping[float, int], by: SampledBy) -> Mapping[float, float]:

    if by == "rating":
        return weights_of_equal_strata(sizes)
    return weights_by_spread(sizes) if by == "disagreement" else dict.fromkeys(sizes, 1.0)


def _drawn(
    data: SelectedGrades,
    pairs_of: _Pairs,
    probabilities: Mapping[float, float],
    by: SampledBy,
    seed: int,
) -> list[SampledPair]:
    """The drawn pairs, sorted by ids."""
    drawn: list[SampledPair] = []
    for query in data.queries:
        for pair in pairs_of(query):
            probability = probabilities[pair.stratum]
            number = drawn_number(by, seed, query.query_id, pair.passage_id, pair.entry_id)
            # The largest hashes are rounded to 1.0, which is not below a probability of 1.
            if probability == 1 or number < probability:
                drawn.append(
                    SampledPair(
                        query_id=query.query_id,
                        passage_id=pair.passage_id,
                        entry_id=pair.entry_id,
                        probability=probability,
                    )
                )
    return sorted(drawn, key=lambda pair: (pair.query_id, pair.passage_id, pair.entry_id))
