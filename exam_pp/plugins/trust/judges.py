"""Agreement of judges on the same games: equal and opposite verdicts, κ and rank correlations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from exam_pp.defaults import SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.formats.exam_pp_files import read_any_games
from exam_pp.games import Game
from exam_pp.grade_filter import GradeKey, grader_names
from exam_pp.metrics.agreement import kappa_interval
from exam_pp.metrics.uncertainty import few_units_note
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.plugins.trust.graders import GraderPair, Unit, agreement_of, chosen, correlation_table
from exam_pp.provenance import graded_by
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.correlation import formatted_interval
from exam_pp.text.wording import counted

_VERDICTS = (-1, 0, 1)
"""The first system loses, a tie, the first system wins; systems are in the order of their names."""


def verdicts_report(
    files: Sequence[PathLike], *, models: Collection[str] = (), samples: int = SAMPLES, seed: int = 0
) -> Report:
    """A row for every two judges of the same games, and the rank correlations of their verdicts.

    Games are the same if they compare the same two systems (and repeats) on the same query, in whatever
    places. If a judge decided a game several times, as in both orders, unequal verdicts are a tie. Ungraded
    games do not count.

    ``models``: Compare only these models and people. Default: all.
    """
    verdicts: dict[GradeKey, dict[Unit, int]] = {}
    ungraded = 0
    for query in (query for path in files for query in read_any_games(path)):
        for games in query.game_sets:
            key = GradeKey(games.model or "(no model)", games.prompt_class or "(no prompt class)")
            for game in games.games:
                if game.winner is None:
                    ungraded += 1
                    continue
                of_judge = verdicts.setdefault(key, {})
                unit, verdict = _verdict(query.query_id, game)
                of_judge[unit] = verdict if of_judge.get(unit, verdict) == verdict else 0
    names = ", ".join(str(Path(path)) for path in files)
    keys = chosen(verdicts, models, names, "decided games of {} (judges")
    if len(keys) < 2:
        found = f" ({keys[0].model})" if keys else ""
        raise SelectionError(
            f"A comparison needs the games of two judges, but {names} has those of "
            f"{counted(len(keys), 'judge')}{found}."
        )
    name = grader_names(keys)
    result = agreement_of({name(key): verdicts[key] for key in keys}, {}, "games", samples, seed)
    table = Table(
        [
            "judge", "other judge", "games", "equal", "opposite", "ties", "ties of the other", "Cohen's κ",
            "interval of κ", "weighted κ (quadratic)",
        ],
        [_cells(pair, samples, seed) for pair in result.pairs],
        title="Every two judges",
    )  # fmt: skip
    explanation = (
        "Compared: verdicts on the same two systems and query, in whatever places: the first system by name "
        "loses, ties or wins. A game that a judge decided in both orders with different verdicts is a tie. "
        f"Intervals: 95 %, {samples} bootstrap samples of queries (seed {seed}). "
        f"{few_units_note()}"
    )
    notes = [f"{counted(ungraded, 'ungraded game')} left out."] if ungraded else []
    return Report(
        "Agreement of judges",
        [table, correlation_table(result, "games"), *map(Paragraph, [explanation, *notes, *result.notes])],
        replace(graded_by(keys), queries=result.provenance.queries),
    )


def _verdict(query_id: str, game: Game) -> tuple[Unit, int]:
    """The query and the systems in the order of their names; 1, 0 or -1 if the first wins, ties or loses."""
    value = int(2 * (0.5 if game.score is None else game.score) - 1)
    first, second = sorted((game.a, game.b), key=lambda system: (str(system), system.name))
    unit = (query_id, first.name, str(first.repeat), second.name, str(second.repeat))
    return unit, value if game.a == first else -value


def _cells(pair: GraderPair, samples: int, seed: int) -> list[Cell]:
    """The shares of equal and opposite verdicts and of the ties of both judges, and κ with its interval."""
    items = pair.comparisons[0].items
    if not items:
        return [pair.first, pair.second, 0, *[None] * 7]
    tables: dict[str, list[list[int]]] = {}
    for query_id, first, second in items:
        table = tables.setdefault(query_id, [[0] * len(_VERDICTS) for _ in _VERDICTS])
        table[_VERDICTS.index(int(first))][_VERDICTS.index(int(second))] += 1
    interval = kappa_interval(list(tables.values()), samples=samples, seed=seed)
    count = len(items)
    return [
        pair.first,
        pair.second,
        count,
        sum(item.first == item.second for item in items) / count,
        sum(item.first * item.second < 0 for item in items) / count,
        sum(item.first == 0 for item in items) / count,
        sum(item.second == 0 for item in items) / count,
        pair.coefficients.kappa,
        formatted_interval(interval, 3) or None,
        pair.coefficients.quadratic_kappa,
    ]
