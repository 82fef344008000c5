"""A leaderboard in each form that is written: texts for other programs by name, or a report; its picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.leaderboards import Standings, Statistics, differences_can_show, leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.plugins import offered
from exam_pp.rendering.document import Paragraph, Picture, Report
from exam_pp.reports.evaluation.leaderboards import (
    Audience,
    ExtraColumn,
    leaderboard_report,
    official_json,
    per_query_report,
    trec_eval_text,
)


@dataclass(frozen=True)
class LeaderboardForm:
    """The options of a leaderboard that is written.

    ``form``: A name of :data:`TEXTS` or of an output format. ``with_verdict``: Whether a report has the
    verdict, and ``with_method`` how its numbers were computed. ``official``: A file of official ranks or
    scores. ``plot``: Whether a picture of the first measure is needed beside the content.
    """

    form: str
    audience: Audience
    statistics: Statistics
    per_query: bool = False
    with_verdict: bool = False
    with_method: bool = True
    official: Path | None = None
    plot: bool = False

    def statistics_of(self, evaluation: Evaluation) -> Statistics:
        """The statistics for an evaluation: people get intervals if its queries can show differences."""
        chosen = self.statistics
        by_default = self.audience != "scripts" and differences_can_show(evaluation, chosen.confidence)
        return replace(chosen, intervals=chosen.intervals or ("queries" if by_default else None))


@dataclass(frozen=True)
class LeaderboardOutput:
    """What to write: a text, whose ``notes`` have no place in it, or a report; and the picture."""

    content: str | Report
    notes: Sequence[str] = ()
    picture: Picture | None = None


def leaderboard_output(evaluation: Evaluation, title: str, form: LeaderboardForm) -> LeaderboardOutput:
    """The leaderboard of an evaluation, or its scores of each query, in a form."""
    content: str | Report
    notes: Sequence[str] = ()
    standings = None
    if form.form in TEXTS:
        content, more = TEXTS[form.form](evaluation, form)
        notes = [*evaluation.notes, *more]
    elif form.per_query:
        content = scores_by_query(evaluation, title, form)
    else:
        extra = None if form.official is None else _official_column(evaluation, form.official)
        standings = leaderboard(evaluation, form.statistics_of(evaluation))
        pictures = _pictures(standings) if form.form == "html" else ()
        report = leaderboard_report(standings, title, audience=form.audience, extra=extra, pictures=pictures)
        content = with_verdict(report, standings, form)
    return LeaderboardOutput(content, notes, plotted(evaluation, form, standings))


def _official_column(evaluation: Evaluation, official: Path) -> ExtraColumn:
    from exam_pp.phases.analysis.correlation import ranked  # noqa: PLC0415 - for few leaderboards
    from exam_pp.reports.evaluation.official_ranks import rank_column  # noqa: PLC0415

    return rank_column(ranked(evaluation, official))


def _pictures(standings: Standings) -> Sequence[Picture]:
    from exam_pp.reports.evaluation.leaderboard_pictures import leaderboard_pictures  # noqa: PLC0415

    return leaderboard_pictures(standings)


def scores_by_query(evaluation: Evaluation, title: str, form: LeaderboardForm) -> Report:
    """The scores of each query, on pages below a picture of the first metric."""
    picture = None
    if form.form == "html":
        from exam_pp.reports.evaluation.leaderboard_pictures import score_heatmap  # noqa: PLC0415

        picture = score_heatmap(evaluation.scores)
    return per_query_report(evaluation, title, picture)


def with_verdict(report: Report, standings: Standings, form: LeaderboardForm) -> Report:
    """The report of a leaderboard for readers: the verdict first, and the method only if it is asked for."""
    if not form.with_verdict:
        return report
    from exam_pp.phases.evaluation.verdict import verdict  # noqa: PLC0415 - for readers

    left_out = [Paragraph(note) for note in standings.uncertainty.notes if not form.with_method]
    if not standings.statistics.intervals:  # the verdict needs the places, of the first measure only
        options = replace(form.statistics, significance=False, places=True)
        standings = leaderboard(standings.evaluation.of_metrics(standings.metrics[0]), options)
    said = verdict(standings)
    first = [] if said is None else [Paragraph(said.sentence)]
    return replace(report, blocks=[*first, *(block for block in report.blocks if block not in left_out)])


def plotted(
    evaluation: Evaluation, form: LeaderboardForm, standings: Standings | None = None
) -> Picture | None:
    """The first metric with its intervals, which are computed unless the standings have them."""
    if not form.plot:
        return None
    from exam_pp.reports.evaluation.leaderboard_pictures import leaderboard_picture  # noqa: PLC0415

    if standings is None or not standings.statistics.intervals:
        standings = leaderboard(evaluation, form.statistics.intervals_only)
    return leaderboard_picture(standings)


Text = Callable[[Evaluation, LeaderboardForm], tuple[str, Sequence[str]]]
"""Makes the text of an evaluation, and notes that it cannot hold beside those of the evaluation."""


def _published(evaluation: Evaluation, form: LeaderboardForm) -> tuple[str, Sequence[str]]:
    from exam_pp.phases.analysis.correlation import ranked  # noqa: PLC0415 - for few leaderboards
    from exam_pp.reports.evaluation.official_ranks import published_leaderboard, rank_notes  # noqa: PLC0415

    if form.official is None:
        return published_leaderboard(evaluation), ()
    ranks = ranked(evaluation, form.official)
    return published_leaderboard(evaluation, ranks), rank_notes(ranks)


TEXTS: Mapping[str, Text] = {
    "trec_eval": lambda evaluation, form: (trec_eval_text(evaluation, per_query=form.per_query), ()),
    "published": _published,
    "official": lambda evaluation, _: (official_json(evaluation), ()),
}
"""Name of a form to its text."""


def text_of(evaluation: Evaluation, form: LeaderboardForm) -> str:
    """The text of a form of :data:`TEXTS`, or of those that plug-ins offer as ``texts of leaderboards``.

    Raises :class:`~exam_pp.errors.SelectionError` for a form that is not there.
    """
    texts: dict[str, Text] = dict(TEXTS)
    for more in offered("texts of leaderboards"):
        texts |= more
    if form.form not in texts:
        raise SelectionError(f"--format {form.form} needs a plug-in that is not there.")
    return texts[form.form](evaluation, form)[0]
