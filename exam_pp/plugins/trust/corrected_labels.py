"""Labels of people, or of another grader, for a sample of pairs with known probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from exam_pp.data_model import DIRECT_ID, QueryView, is_human
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.plugins.trust.corrected_pairs import LabelledPair
from exam_pp.plugins.trust.pair_sample import Block, PairSample
from exam_pp.store.edits import human_model
from exam_pp.text.wording import listed

JUDGMENTS = "judgments"
"""Name of the reviewer that stands for the judgments of the passages."""

_Pair = tuple[str, str]


@dataclass(frozen=True)
class SampledLabels:
    """The labels of a sample.

    ``lowest_probability``: The lowest probability that a pair is drawn and labelled, also of pairs that were
    not drawn.
    """

    reviewer: GradeKey
    pairs: dict[str, list[LabelledPair]]
    drawn: int
    labelled: int
    population: Mapping[str, Sequence[Block]]
    lowest_probability: float
    unit: Literal["pair", "entry"] = "pair"


def sampled_labels(
    queries: Iterable[QueryView], sample: PairSample, reviewer: str, judge: GradeFilter, source: PathLike
) -> SampledLabels:
    """The labels that a reviewer, another grader or the judgments give the drawn pairs.

    Pairs without a label count as not drawn, and so do entries that were drawn as a whole and lack a label.
    They are taken to be a random part of what was drawn, so all probabilities are multiplied by the share of
    the labelled pairs or entries.
    """
    if reviewer == JUDGMENTS:
        key = GradeKey(JUDGMENTS, "")
        known = {
            (qrel.query_id, qrel.passage_id): {DIRECT_ID: qrel.whole} for qrel in judgment_qrels(queries)
        }
    else:
        key, known = _grades_of(queries, reviewer, judge, source)
    found = [
        (pair, label)
        for pair in sample.pairs
        if (label := known.get((pair.query_id, pair.passage_id), {}).get(pair.entry_id)) is not None
    ]
    if not found:
        raise SelectionError(
            f"None of the {len(sample.pairs)} sampled pairs has a label of {reviewer!r} in {source}; label "
            "them, or choose another --reviewer."
        )
    drawn, labelled = len(sample.pairs), len(found)
    if sample.by == "entry":
        drawn_pairs = Counter((pair.query_id, pair.entry_id) for pair in sample.pairs)
        labelled_pairs = Counter((pair.query_id, pair.entry_id) for pair, _ in found)
        complete = {entry for entry, count in labelled_pairs.items() if count == drawn_pairs[entry]}
        if not complete:
            raise SelectionError(
                f"None of the {len(drawn_pairs)} sampled entries has labels of {reviewer!r} for all its "
                f"passages in {source}; label them, or draw pairs with another --by."
            )
        found = [(pair, label) for pair, label in found if (pair.query_id, pair.entry_id) in complete]
        drawn, labelled = len(drawn_pairs), len(complete)
    share = labelled / drawn
    pairs: dict[str, list[LabelledPair]] = {}
    for pair, label in found:
        pairs.setdefault(pair.query_id, []).append(
            LabelledPair(pair.passage_id, pair.entry_id, label, share * pair.probability)
        )
    lowest = share * sample.lowest_probability
    unit: Literal["pair", "entry"] = "entry" if sample.by == "entry" else "pair"
    return SampledLabels(key, pairs, drawn, labelled, sample.population, lowest, unit)


def _grades_of(
    queries: Iterable[QueryView], reviewer: str, judge: GradeFilter, source: PathLike
) -> tuple[GradeKey, dict[_Pair, dict[str, int]]]:
    """The reviewer's ratings of all pairs, with the prompt class of the judge if there are several."""
    selector = GradeSelector(GradeFilter(kind=judge.kind))
    known: dict[GradeKey, dict[_Pair, dict[str, int]]] = {}
    for query in queries:
        for passage in query.passages:
            for grades in selector.select(passage):
                if grades.model in (reviewer, human_model(reviewer)):
                    of_grader = known.setdefault(GradeKey.of(grades, judge), {})
                    ratings = of_grader.setdefault((query.query_id, passage.passage_id), {})
                    ratings.update(grades.entry_ratings())
    exact = [key for key in known if key.model == reviewer] or list(known)
    if len(exact) > 1:
        exact = [key for key in exact if key.prompt_class == judge.prompt_class] or exact
    if not exact:
        people = [key.model for key in selector.seen if is_human(key.model)]
        others = listed(sorted(set(people) or {key.model for key in selector.seen}))
        raise SelectionError(
            f"{source} has no such grades by the reviewer {reviewer!r}; it has grades of: {others}."
        )
    if len(exact) > 1:
        choices = listed(sorted(key.prompt_class for key in exact))
        raise SelectionError(
            f"{reviewer!r} labelled with several prompts in {source} ({choices}), and none is that of the "
            f"judge ({judge.prompt_class}); remove the others with `exam-pp filter --remove grades`."
        )
    return exact[0], known[exact[0]]


def judge_filter(grade_filter: GradeFilter | None, sample: PairSample) -> GradeFilter:
    """The filter, with the model and prompt class of the sample where it has none."""
    criteria = grade_filter or GradeFilter()
    return replace(
        criteria,
        model=criteria.model or sample.model,
        prompt_class=criteria.prompt_class or sample.prompt_class,
    )


def check_judge(judge: GradeKey, sample: PairSample) -> None:
    """Raise :class:`SelectionError` if the pairs were drawn from the grades of another judge."""
    for option, used, drawn in (
        ("--grader", judge.model, sample.model),
        ("--prompt", judge.prompt_class, sample.prompt_class),
    ):
        if drawn is not None and used != drawn:
            raise SelectionError(
                f"The pairs were drawn from grades with {option} {drawn!r}, not {used!r}; their "
                "probabilities are valid for those grades only."
            )


def label_notes(labels: SampledLabels, judge: GradeKey) -> Iterator[str]:
    """Sentences on drawn pairs without a label, and on labels with another prompt."""
    if missing := labels.drawn - labels.labelled:
        lacking = "pairs have no label" if labels.unit == "pair" else "entries lack labels, and do not count"
        yield (
            f"{missing} of {labels.drawn} drawn {lacking}. All probabilities are multiplied by "
            f"{labels.labelled / labels.drawn:.3f}, which is correct if labels are missing at random."
        )
    if labels.reviewer.prompt_class not in ("", judge.prompt_class):
        yield (
            f"The labels have the prompt {labels.reviewer.prompt_class!r}, the grades of the judge "
            f"{judge.prompt_class!r}: their scales must be the same."
        )
