"""The verdict on a leaderboard: who is better, in a sentence or two, made of the same tests as the places."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isclose

from exam_pp.data_model import is_human
from exam_pp.judges import card, own_family
from exam_pp.metrics.measures import MeasureName
from exam_pp.phases.evaluation.leaderboards import Standings, SystemUncertainty, Uncertainty
from exam_pp.prompts import PROMPTS
from exam_pp.provenance import Provenance
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted, in_one_line, listed

_NAMED = 5
"""Maximum number of systems of which all are named."""
_NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


@dataclass(frozen=True)
class Verdict:
    """What a leaderboard says by its first metric.

    ``headline`` is the beginning of ``sentence``. ``leaders`` are the systems that could be first, best
    first: no other system is shown to be better. They are all systems if nothing can be shown.
    """

    headline: str
    sentence: str
    leaders: Sequence[str]


def verdict(standings: Standings) -> Verdict | None:
    """The verdict on a leaderboard with places; None without systems.

    Differences count only where the tests behind the places show them (``Statistics.intervals``), so that the
    words never contradict the places. All systems with the highest score are named, or counted if they are
    many. Equal leaderboards have the same words in every output.
    """
    basis = standings.uncertainty.basis
    said = _said(standings.claims)
    if said is None:
        return None
    by = beside = ""
    if basis is not None and basis.kind == "judge":
        by = "The judge alone: "
        beside = f" Corrected scores make no claim: {basis.shares}; rate the fair sample."
    elif basis is not None and basis.kind == "sample":
        sample = f"{basis.look} of {counted(basis.entries, 'entry', 'entries')} of each query"
        by = f"By estimates from a fair sample that {basis.by} rated ({sample}): "
        alone = standings.of_judge and _said(standings.of_judge)
        beside = f" The judge alone: {alone.headline}." if alone else ""
        if len(said.leaders) > 1:
            beside = f" More of the sample may show it, too.{beside}"
    sentence = f"{by}{said.sentence}{beside}{_doubts(standings)}"
    return Verdict(f"{by}{said.headline}", sentence, said.leaders)


def _said(standings: Standings) -> Verdict | None:
    """The verdict by the places of a leaderboard, with the queries that would show more, without doubts."""
    systems = [system for system in standings.systems if system != OVERALL_SYSTEM]
    if not systems:
        return None
    metric = standings.metrics[0]
    means = [standings.rows[system, metric].mean for system in systems]
    places = {s: standings.uncertainty.systems.get((s, metric), SystemUncertainty()) for s in systems}
    leaders = [system for system in systems if places[system].first in (None, 1)]
    # Sums of equal scores in another order differ by rounding errors.
    top = [s for s, mean in zip(systems, means, strict=True) if isclose(mean, means[0], abs_tol=1e-12)]
    score, *below = _distinct(metric, [means[0], *means[len(top) :][:1]])
    number = standings.uncertainty.common.get(
        metric, max((row.queries for row in standings.rows.values() if row.metric == metric), default=0)
    )
    query = "common query" if metric in standings.uncertainty.common else "query"
    with_queries = f"with {counted(number, query)}"
    queries_are = counted(number, f"{query} is", f"{query[:-1]}ies are")
    untested = standings.uncertainty.untested.get(metric, "")
    reasons = {
        "few queries": f"{queries_are} too few to show any difference",
        "checked in part": "people checked only some of the grades",
    }
    first = f"{in_one_line(top[0])} ({score})"
    rival = f"{in_one_line(systems[1])} ({below[0]})" if below and len(systems) == 2 else ""
    headline = f"{named_systems(top)} share the top score ({score})"
    if len(top) == 1:
        headline = f"{first} is ahead of {rival}" if rival else f"{first} is ahead"
    rest = "."
    if untested == "other queries":
        headline = "The systems cannot be compared"
        rest = ", because they were scored on different queries."
    elif len(systems) == 1:
        headline = f"{in_one_line(top[0])} scores {score}"
        rest = f" {with_queries}; a comparison needs a second system."
    elif len(top) == len(systems):
        headline = f"{'Both' if len(systems) == 2 else f'All {_number(len(systems))}'} systems score {score}"
        rest = f" {with_queries}."
    elif untested in reasons:
        headline += f", but {reasons[untested]}"
    elif len(leaders) == len(systems):
        them = "them" if rival else f"any of the {_number(len(systems))} systems"
        headline += f", but {queries_are} too few to tell {them} apart"
    elif len(leaders) == 1:
        headline = f"{first} is better than {rival or _others(len(systems) - 1, len(systems) - 1)}"
        rest = f"; {queries_are} enough to show it."
    else:
        if len(top) == 1:
            headline = f"{_number(len(leaders)).capitalize()} systems share the lead"
            rest = f": {named_systems(leaders, score)} cannot be told apart {with_queries}."
        elif equals := leaders[len(top) :]:
            rest = f"; {named_systems(equals)} cannot be told apart from them {with_queries}."
        # Every system is better than all systems below its last place.
        worse = len(systems) - max(places[system].last or len(systems) for system in top)
        others = [system for system in systems if system not in leaders]
        if worse:
            of_others = _others(len(others), worse) if len(others) > 1 else named_systems(others)
            rest += f" {named_systems(top)} {'is' if len(top) == 1 else 'are'} better than {of_others}."
    sentence = f"{headline}{rest} {standings.uncertainty.planned.get(metric, '')}"
    return Verdict(headline, sentence.rstrip(), leaders)


def named_systems(systems: Sequence[str], score: str = "") -> str:
    """The systems, the first with its score; three and the number of others if they are many."""
    names = [in_one_line(system) for system in systems]
    if score:
        names[0] += f" ({score})"
    *shown, last = names if len(names) <= _NAMED else [*names[:3], f"{len(names) - 3} others"]
    return f"{', '.join(shown)} and {last}" if shown else last


def page_title(study: str, systems: Collection[str], file: str) -> str:
    """The title of a page: the name of the study, if it has one, and the systems that are compared."""
    compared = named_systems(list(systems)) if systems else file
    return f"{study}: {compared}" if study else compared


def _distinct(metric: MeasureName, scores: Sequence[float]) -> list[str]:
    """Different scores for readers, with as many digits as they need to look different."""
    shown = ([shown_score(metric, score, more) for score in scores] for more in range(12))
    return next((row for row in shown if len(set(row)) == len(row)), [str(score) for score in scores])


def shown_score(metric: MeasureName, score: float, more_digits: int = 0) -> str:
    """A score for readers: in percent if it is a share, else with three digits."""
    if metric.is_share:
        return f"{100 * score:.{more_digits}f} %".replace("-", "−")
    return f"{score:#.{3 + more_digits}g}".rstrip(".")


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def _others(others: int, worse: int) -> str:
    return f"{'each' if worse == others else _number(worse)} of the other {_number(others)}"


def _doubts(standings: Standings) -> str:
    """What the scores rest on, if it could change the order."""
    metric, basis = standings.metrics[0], standings.uncertainty.basis
    rows = [row for (_, of), row in standings.uncertainty.systems.items() if of == metric]
    is_open = any(row.order_open for row in rows)
    doubts = f" {metric} counts mistakes, so lower is better." if metric.lower_is_better else ""
    doubts += " Pairs without a grade could change the order." if is_open else ""
    lacking = [
        f"{counted(number, 'query', 'queries')} of {in_one_line(system)}"
        for system, number in standings.evaluation.lacking.items()
    ]
    if lacking:
        doubts += f" Without results, and so with a score of 0: {listed(lacking)}."
    provenance = standings.provenance or Provenance()
    for changes in provenance.reviewed:
        doubts += f" {changes}"
        if basis is not None and basis.kind == "people" and standings.of_judge is not None:
            before, now = (_places(of.uncertainty, metric) for of in (standings.of_judge, standings))
            moved = sum(before[system] != now[system] for system in before.keys() & now.keys())
            whose = counted(moved, "system", "systems") if moved else "no system"
            doubts += f"; the possible places of {whose} changed"
        doubts += "."
    doubts += "".join(f" {changes}" for changes in provenance.edited)
    if basis is not None and basis.kind != "judge":
        return doubts  # the judge has no part in the claims
    prompts = filter(None, map(PROMPTS.find, provenance.prompt_classes))
    facts = any(prompt.kind in ("nugget", "assignment") for prompt in prompts)
    cautions = dict.fromkeys(card(model).caution_of(facts=facts) for model in provenance.models)
    doubts += "".join(f" {caution}" for caution in cautions if caution)
    return "".join([doubts, *(f" {sentence}" for sentence in preferences(standings))])


def _places(uncertainty: Uncertainty, metric: str) -> dict[str, tuple[int | None, int | None]]:
    rows = uncertainty.systems.items()
    return {s: (row.first, row.last) for (s, of), row in rows if of == metric and s != OVERALL_SYSTEM}


def preferences(standings: Standings) -> list[str]:
    """A sentence for each judge that is of one model family with a system or the writer of the bank."""
    provenance = standings.provenance or Provenance()
    judges = [model for model in provenance.models if not is_human(model)]
    sentences = [own_family(judge, standings.systems, provenance.writers) for judge in judges]
    return [sentence for sentence in sentences if sentence]
