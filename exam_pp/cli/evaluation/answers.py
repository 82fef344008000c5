"""``exam-pp evaluate answers``: leaderboards by the grades of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options, missing_queries_option
from exam_pp.cli.options import GRADED, ONLY_QUERIES, support_filter_options

if TYPE_CHECKING:
    from exam_pp.phases.evaluation.inputs import LoadedPassages
    from exam_pp.phases.evaluation.result import MissingQueries

_METRICS = {
    "citations": Kind(
        """Score systems by whether the passages that their answers cite support them.

        The grades are those of `exam-pp grade --prompt citation-support`: full support is 1, partial
        support .5, no support 0. Precision is the mean over the cited passages of an answer, recall the mean
        over its parts. A part without citations, and a citation of a passage that is not in the file, count
        0. Ungraded citations count 0; the bounds show what they could change.

        Example:

        \b
          exam-pp evaluate answers citations.jsonl.gz --metric citations
        """,
        ("prompt_hash", "systems", "missing_queries"),
    ),
    "first-citations": Kind(
        """The same, but only the first citation of each part counts, as in the TREC RAG track.

        Example:

        \b
          exam-pp evaluate answers citations.jsonl.gz --metric first-citations
        """,
        ("prompt_hash", "systems", "missing_queries"),
    ),
    "criteria": Kind(
        """Score systems by the ratings of their answers by criteria.

        The ratings are those of `exam-pp grade --prompt criteria`, or with criteria of your own.
        The columns are the mean of all criteria, and the mean rating by each criterion. Ungraded criteria
        count 0; the bounds show what they could change. If criteria have scales of different lengths, the
        mean of all is that of ratings divided by their highest level.

        Example:

        \b
          exam-pp evaluate answers rated.jsonl.gz --metric criteria
        """,
        ("prompt_hash", "systems", "missing_queries"),
    ),
    "factual-consistency": Kind(
        """Score systems by how consistent their answers are with the sources.

        The scores are those of `exam-pp grade --prompt factual-consistency`. FactualConsistency is the
        score of whole answers against all their sources together, and FactualConsistency_parts the mean over
        the parts, each with its highest score over its sources. Higher means more consistent. Claims without
        a score are in no mean; a note counts them with their reasons.

        Example:

        \b
          exam-pp evaluate answers scored.jsonl.gz --metric factual-consistency
        """,
        ("systems",),
    ),
    "answered": Kind(
        """Compute the share of questions that each system answered, rather than declined.

        The verdicts are those of `exam-pp grade --prompt answer-attempt`: an answer counts as an answer
        even if it is wrong. An empty answer declines. Failures are listed below the table and are in no
        share: answers without a verdict, and queries to which a system has no answer.

        Example:

        \b
          exam-pp evaluate answers attempted.jsonl.gz --metric answered --intervals queries
        """,
        ("prompt_hash",),
    ),
}
_TITLES = {
    "criteria": "Criteria",
    "factual-consistency": "Factual consistency",
    "answered": "Questions answered",
}


_PASSAGES = f"{__name__}.passages"
"""Key of the passages that were read for the metric, in the context of the command."""


def _metric(context: click.Context, _option: click.Parameter, metric: str | None) -> str | None:
    """The metric; by default that of the grades in the file."""
    if metric is not None or context.resilient_parsing:
        return metric
    from exam_pp.errors import SelectionError
    from exam_pp.phases.evaluation.inputs import loaded
    from exam_pp.text.wording import listed

    graded = context.params["graded"]
    found = _metrics_of(context.meta.setdefault(_PASSAGES, loaded(graded)))
    if not found:
        raise SelectionError(
            f"{graded} has no grades of answers; make them with `exam-pp grade`, with the --prompt "
            "citation-support, criteria, factual-consistency or answer-attempt."
        )
    if len(found) > 1:
        raise SelectionError(
            f"{graded} has grades for several metrics; use --metric {listed(found, ' or ')}."
        )
    return found[0]


def _metrics_of(graded: LoadedPassages) -> list[str]:
    """The metrics whose grades a file has."""
    from exam_pp.prompts.direct import ANSWER_ATTEMPT

    found = set()
    for query in graded:
        for passage in query.passages:
            grades = {
                "citations": passage.support_grades,
                "criteria": passage.criteria_grades,
                "factual-consistency": passage.consistency_grades,
                "answered": [
                    each for each in passage.direct_grades or () if each.prompt_class == ANSWER_ATTEMPT.name
                ],
            }
            found |= {metric for metric, present in grades.items() if present}
    return [metric for metric in _METRICS if metric in found]


@click.command("answers", cls=Command, kinds=_METRICS, chosen_by="metric")
@GRADED
@click.option(
    "--metric",
    type=click.Choice(list(_METRICS)),
    callback=_metric,
    help="What to score.  [default: that of the grades in GRADED]",
)
@ONLY_QUERIES
@support_filter_options
@missing_queries_option("answer")
@leaderboard_options()
def command(
    *,
    graded: Path,
    metric: str,
    queries: Path | None,
    grader: str | None,
    prompt_class: str | None,
    prompt_hash: str | None,
    systems: tuple[str, ...],
    missing_queries: MissingQueries,
    output: LeaderboardOutput,
) -> None:
    """Score systems by the grades of their answers.

    GRADED holds answers with grades by `exam-pp grade`: of the support of citations, by criteria, of the
    consistency with the sources, or verdicts whether answers decline. `exam-pp evaluate answers --metric
    NAME --help` shows how each is scored.

    Examples:

    \b
      exam-pp evaluate answers citations.jsonl.gz
      exam-pp evaluate answers attempted.jsonl.gz --metric answered --intervals queries
    """
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.evaluation.answers import answered, criteria, factual_consistency
    from exam_pp.phases.evaluation.citations import AnswerFilter, citations
    from exam_pp.phases.evaluation.inputs import query_ids
    from exam_pp.prompts.base import with_aliases
    from exam_pp.prompts.direct import ANSWER_ATTEMPT

    passages = click.get_current_context().meta.get(_PASSAGES, graded)
    selected = None if queries is None else query_ids(queries)
    selection = AnswerFilter(grader, prompt_class, prompt_hash, systems)
    if metric == "answered":
        verdicts = GradeFilter(grader, prompt_class or ANSWER_ATTEMPT.name, prompt_hash=prompt_hash)
        evaluation = answered(passages, grade_filter=with_aliases(verdicts), queries=selected)
    elif metric == "factual-consistency":
        evaluation = factual_consistency(passages, selection=selection, queries=selected)
    elif metric == "criteria":
        evaluation = criteria(
            passages, selection=selection, queries=selected, missing_queries=missing_queries
        )
    else:
        evaluation = citations(
            passages,
            selection=selection,
            rule="first" if metric == "first-citations" else "all",
            queries=selected,
            missing_queries=missing_queries,
        )
    output.write(evaluation, _TITLES.get(metric, "Citations"), [graded, queries])
