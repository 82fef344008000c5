"""``exam-pp analyze graders``: agreement of several graders, or of judges of games."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp import defaults
from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import SAMPLES, SEED
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILE,
    LABEL_RULE,
    bank_option,
    compared_graders,
    emit_figure,
    emit_report,
    format_option,
    grade_filter,
    log_notes,
    output_option,
    plot_option,
)
from exam_pp.errors import SelectionError
from exam_pp.provenance import graded_by
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.text.wording import counted, listed

if TYPE_CHECKING:
    from exam_pp.games import Game, QueryGames
    from exam_pp.grade_filter import GradeKey
    from exam_pp.phases.analysis.graders import GraderAgreement, GraderPair
    from exam_pp.phases.evaluation.result import PathLike


@click.command("graders", cls=Command)
@click.argument("files", metavar="GRADED|GAMES...", nargs=-1, required=True, type=FILE)
@bank_option("Test bank; only its entries count.", default="all graded entries")
@LABEL_RULE
@click.option(
    "--by",
    type=click.Choice(["label", "entry", "criterion"]),
    default="label",
    show_default=True,
    help="What to compare: labels of passages (label), ratings of pairs of passage and entry (entry), or "
    "ratings of answers by criteria (criterion).",
)
@click.option(
    "--test",
    type=click.Choice(["bound", "published"]),
    default="bound",
    show_default=True,
    help="The alternative annotator test: by a bound of the judge's loss, for any number of items, or the t "
    "test of the paper, from 30 items.",
)
@compared_graders
@SAMPLES
@SEED
@format_option()
@output_option()
@plot_option("the weighted κ of every two graders")
@click.option(
    "--plot differences",
    "plot_differences",
    type=FIGURE_PATH,
    help="Also draw the differences of two graders against their means, with bias and limits of agreement "
    "(.svg).",
)
def command(
    *,
    files: tuple[Path, ...],
    bank: Path | None,
    label_rule: str | None,
    by: str,
    test: Any,
    graders: tuple[str, ...],
    samples: int,
    seed: int,
    plot: Path | None,
    plot_differences: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Measure the agreement of the graders of a file with each other and with the judgments.

    A grader is a model with a prompt, or a reviewer. The command compares the labels of passages. It
    writes tables for every two graders: Cohen's κ, weighted κ and Krippendorff's α; Kendall's τ-b and
    Spearman's ρ with p-values and intervals; bias and limits of agreement (Bland and Altman). A further table
    has α of all graders. If three reviewers or more rated the same items, the alternative annotator test
    (Calderon et al., 2025) says whether a model may replace them.

    Reviewers often rate only some pairs of passage and entry (`exam-pp apply`). To include them, use
    --by entry.

    GAMES are games files, as exam-pp or RAGElo writes them, such as one of a model and one of a person. For
    every two judges of the same games, the command writes the share of equal and of opposite verdicts,
    Cohen's κ with an interval, weighted κ, and the rank correlations. Two games are the same if they compare
    the same systems on the same query, in whatever places.

    Examples:

    \b
      exam-pp analyze graders two-models.jsonl.gz --bank questions.jsonl
      exam-pp analyze graders two-models.jsonl.gz --by entry --plot differences=differences.svg
      exam-pp analyze graders games.jsonl human-games.jsonl
    """
    from exam_pp.formats.exam_pp_files import contains_games

    if all(map(contains_games, files)):
        refuse_without(
            "a graded file", "bank", "label_rule", "by", "test", "plot", "plot_differences", *criteria
        )
        verdicts = verdict_agreement(files, models=graders, samples=samples, seed=seed)
        emit_report(verdicts_report(verdicts), form, output, files)
        return
    if len(files) > 1:
        raise click.UsageError("Name one graded file, or games files; exam-pp merge joins graded files.")
    (graded,) = files
    from exam_pp.metrics.qrels import LabelRule
    from exam_pp.phases.analysis.graders import criteria_graders
    from exam_pp.phases.analysis.graders import graders as compare
    from exam_pp.phases.evaluation.citations import AnswerFilter
    from exam_pp.reports.analysis.agreement import difference_pictures, graders_report, kappa_picture

    if by == "label":
        refuse_without("--by entry or criterion", "test")
    else:
        refuse_without("--by label", "label_rule")
    if by == "criterion":
        refuse_without("--by label or entry", "bank", "prompt_type", "question_set", "grade_choice")
        selection = AnswerFilter(prompt_class=criteria["prompt_class"], prompt_hash=criteria["prompt_hash"])
        result = criteria_graders(
            graded, selection=selection, models=graders, test=test, samples=samples, seed=seed
        )
    else:
        rule = None if label_rule is None else LabelRule.parse(label_rule)
        result = compare(
            graded, bank=bank, grade_filter=grade_filter(None, **criteria), models=graders, labelling=rule,
            per_entry=by == "entry", test=test, samples=samples, seed=seed,
        )  # fmt: skip
    if plot is not None:
        emit_figure([kappa_picture(result)], plot, [graded, bank])
    if plot_differences is not None:
        drawn = difference_pictures(result)
        if drawn:
            emit_figure(drawn, plot_differences, [graded, bank])
        else:
            log_notes([f"{plot_differences} is not written: the graders have no common items."])
    emit_report(graders_report(result), form, output, [graded, bank])


_VERDICTS = (-1, 0, 1)
"""The first system loses, a tie, the first system wins; systems are in the order of their names."""


def verdict_agreement(
    files: Sequence[PathLike],
    *,
    models: Collection[str] = (),
    samples: int = defaults.SAMPLES,
    seed: int = 0,
) -> GraderAgreement:
    """Compare the verdicts of every two judges on the same games.

    Games are the same if they compare the same two systems (and repeats) on the same query, in whatever
    places. If a judge decided a game several times, as in both orders, unequal verdicts are a tie. Ungraded
    games do not count.

    ``models``: Compare only these models and people. Default: all.
    """
    from exam_pp.formats.exam_pp_files import read_any_games
    from exam_pp.grade_filter import grader_names
    from exam_pp.phases.analysis.graders import agreement_of

    verdicts, ungraded = _verdicts(query for path in files for query in read_any_games(path))
    names = ", ".join(str(Path(path)) for path in files)
    keys = sorted(verdicts, key=lambda key: (key.is_reviewer, key))
    known = list(dict.fromkeys(key.model for key in keys))
    for model in models:
        if model not in known:
            raise SelectionError(f"{names} has no decided games of {model!r} (judges: {listed(known)}).")
    keys = [key for key in keys if not models or key.model in models]
    if len(keys) < 2:
        found = f" ({keys[0].model})" if keys else ""
        raise SelectionError(
            f"A comparison needs the games of two judges, but {names} has those of "
            f"{counted(len(keys), 'judge')}{found}."
        )
    name = grader_names(keys)
    result = agreement_of({name(key): verdicts[key] for key in keys}, {}, "games", samples, seed)
    notes = [f"{counted(ungraded, 'ungraded game')} left out."] if ungraded else []
    provenance = replace(graded_by(keys), queries=result.provenance.queries)
    return replace(result, notes=[*notes, *result.notes], provenance=provenance)


def _verdicts(queries: Iterable[QueryGames]) -> tuple[dict[GradeKey, dict[tuple[str, ...], int]], int]:
    """The verdict of each judge on each game, and the number of ungraded games."""
    from exam_pp.phases.analysis.graders import key_of

    verdicts: dict[GradeKey, dict[tuple[str, ...], int]] = {}
    ungraded = 0
    for query in queries:
        for games in query.game_sets:
            of_judge = verdicts.setdefault(key_of(games), {})
            for game in games.games:
                if game.winner is None:
                    ungraded += 1
                    continue
                unit, verdict = _verdict(query.query_id, game)
                of_judge[unit] = verdict if of_judge.get(unit, verdict) == verdict else 0
    return {key: of_judge for key, of_judge in verdicts.items() if of_judge}, ungraded


def _verdict(query_id: str, game: Game) -> tuple[tuple[str, ...], int]:
    """The query and the systems in the order of their names; 1, 0 or -1 if the first wins, ties or loses."""
    value = int(2 * (0.5 if game.score is None else game.score) - 1)
    first, second = sorted((game.a, game.b), key=lambda system: (str(system), system.name))
    unit = (query_id, first.name, str(first.repeat), second.name, str(second.repeat))
    return unit, value if game.a == first else -value


def verdicts_report(result: GraderAgreement) -> Report:
    """A row for every two judges, and the rank correlations of their verdicts."""
    from exam_pp.metrics.uncertainty import few_units_note
    from exam_pp.reports.analysis.agreement import correlation_table

    table = Table(
        [
            "judge", "other judge", "games", "equal", "opposite", "ties", "ties of the other", "Cohen's κ",
            "interval of κ", "weighted κ (quadratic)",
        ],
        [_cells(pair, result) for pair in result.pairs],
        title="Every two judges",
    )  # fmt: skip
    explanation = (
        "Compared: verdicts on the same two systems and query, in whatever places: the first system by name "
        "loses, ties or wins. A game that a judge decided in both orders with different verdicts is a tie. "
        f"Intervals: 95 %, {result.samples} bootstrap samples of queries (seed {result.seed}). "
        f"{few_units_note()}"
    )
    correlations = correlation_table(result.pairs, "games")
    return Report(
        "Agreement of judges",
        [table, correlations, *map(Paragraph, [explanation, *result.notes])],
        result.provenance,
    )


def _cells(pair: GraderPair, result: GraderAgreement) -> list[Cell]:
    """The shares of equal and opposite verdicts and of the ties of both judges, and κ with its interval."""
    from exam_pp.metrics.agreement import kappa_interval
    from exam_pp.reports.analysis.correlation import formatted_interval

    items = pair.comparisons[0].items
    if not items:
        return [pair.first, pair.second, 0, *[None] * 7]
    tables: dict[str, list[list[int]]] = {}
    for query_id, first, second in items:
        table = tables.setdefault(query_id, [[0] * len(_VERDICTS) for _ in _VERDICTS])
        table[_VERDICTS.index(int(first))][_VERDICTS.index(int(second))] += 1
    interval = kappa_interval(list(tables.values()), samples=result.samples, seed=result.seed)
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
