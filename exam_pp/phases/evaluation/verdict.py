"""The verdict on a leaderboard: who is better, in a sentence or two, made of the same tests as the places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exam_pp.data_model import is_human
from exam_pp.judges import REVIEWED, baselines_among, card, own_family
from exam_pp.metrics.score_ranges import is_share
from exam_pp.phases.evaluation.leaderboards import Standings, SystemUncertainty, moves
from exam_pp.provenance import Provenance
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted, in_one_line

_NAMED = 5
"""Maximum number of leaders that are named."""
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
    words never contradict the places. Equal leaderboards have the same words in every output.
    """
    systems = [system for system in standings.systems if system != OVERALL_SYSTEM]
    if not systems:
        return None
    metric = standings.metrics[0]
    shown = {system: _shown(standings, system) for system in systems}
    places = {s: standings.uncertainty.systems.get((s, metric), SystemUncertainty()) for s in systems}
    leaders = [system for system in systems if places[system].first in (None, 1)]
    first, others = systems[0], len(systems) - 1
    number = max((row.queries for row in standings.rows.values() if row.metric == metric), default=0)
    with_queries = f"with {counted(number, 'query')}"
    top = f"{shown[first][0]} ({shown[first][1]})"
    untested = standings.uncertainty.untested.get(metric)
    if not others:
        headline = f"{shown[first][0]} scores {shown[first][1]}"
        rest = f" {with_queries}; a comparison needs a second system."
    elif untested == "other queries":
        headline = "The systems cannot be compared"
        rest = ", because they were scored on different queries."
    elif untested == "few queries":
        headline = f"{with_queries.capitalize()} nothing can be said"
        rest = f" about which of {_number(len(systems))} systems is better: {top} is ahead on these alone."
    elif len({standings.rows[system, metric].mean for system in systems}) == 1:
        headline = f"All {_number(len(systems))} systems have the same score"
        rest = f", {shown[first][1]} {with_queries}."
    elif len(leaders) == len(systems):
        headline = "No system is shown to be better"
        rest = f": {top} is ahead, but {with_queries} any of {_number(len(systems))} could be first."
    elif len(leaders) == 1:
        headline = f"{shown[first][0]} is the best"
        rest = f" ({shown[first][1]}): better than {_others(others, others)}, {with_queries}."
    else:
        headline = f"{_number(len(leaders)).capitalize()} systems share the lead"
        names = [top, *(shown[system][0] for system in leaders[1:_NAMED])]
        more = len(leaders) - len(names)
        last = f"{more} more" if more else names.pop()
        rest = f": {', '.join(names)} and {last} cannot be told apart {with_queries}."
        worse = len(systems) - (places[first].last or len(systems))
        below = len(systems) - len(leaders)
        if worse:
            last_one = in_one_line(next(system for system in systems if system not in leaders))
            rest += f" {shown[first][0]} is better than {_others(worse, below) if below > 1 else last_one}."
    return Verdict(headline, headline + rest + _doubts(standings, metric), leaders)


def _shown(standings: Standings, system: str) -> tuple[str, str]:
    """The name of a system and its score."""
    metric = standings.metrics[0]
    return in_one_line(system), shown_score(metric, standings.rows[system, metric].mean)


def shown_score(metric: str, score: float) -> str:
    """A score for readers: in percent if it is a share."""
    return f"{100 * score:.0f} %" if is_share(metric) else f"{score:.3g}"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def _others(worse: int, others: int) -> str:
    if others == 1:
        return "the other"
    return f"{'each' if worse == others else _number(worse)} of the other {_number(others)}"


def _doubts(standings: Standings, metric: str) -> str:
    """What the scores rest on, if it could change the order."""
    rows = [row for (_, of), row in standings.uncertainty.systems.items() if of == metric]
    doubts = " Pairs without a grade could change the order." if any(row.order_open for row in rows) else ""
    provenance = standings.provenance or Provenance()
    for changes in provenance.reviewed:
        doubts += f" {changes}"
        if standings.judge_alone is not None:
            moved = sum(not move.in_place for move in moves(standings.judge_alone(), standings))
            who = counted(moved, "system has", "systems have") if moved else "no system has"
            doubts += f"; {who} another place"
        doubts += "."
    baselines = baselines_among(provenance.models)
    if baselines:
        doubts += f" The judge {' and '.join(baselines)} is a baseline, which other judges must beat."
    cards = dict.fromkeys(card(model.removeprefix(REVIEWED)) for model in provenance.models)
    doubts += "".join(f" The judge {info.name} {info.caution}." for info in cards if info.caution)
    return "".join([doubts, *(f" {sentence}" for sentence in preferences(standings))])


def preferences(standings: Standings) -> list[str]:
    """A sentence for each judge that is of one model family with a system or the writer of the bank."""
    provenance = standings.provenance or Provenance()
    judges = [model for model in provenance.models if not is_human(model)]
    sentences = [own_family(judge, standings.systems, provenance.writers) for judge in judges]
    return [sentence for sentence in sentences if sentence]
