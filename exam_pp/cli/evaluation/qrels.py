"""``exam-pp evaluate qrels``: relevance labels from grades, and leaderboards by these labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import is_given, refuse_without
from exam_pp.cli.leaderboard_options import (
    BANK,
    LeaderboardOutput,
    leaderboard_options,
    run_options,
)
from exam_pp.cli.options import (
    CANARIES,
    FILE,
    GRADED,
    MIN_GRADE_DEFAULT,
    ONLY_QUERIES,
    OUTPUT_PATH,
    ROLE,
    filter_columns,
    grade_filters,
    log_notes,
)
from exam_pp.metrics.qrels import LabelRule, judgment_qrels
from exam_pp.phases.evaluation.result import Evaluation, grader_columns, threshold_columns
from exam_pp.provenance import file_names, with_thresholds

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.evaluation.inputs import LoadedPassages
    from exam_pp.phases.evaluation.rubric_qrels import RubricQrels
    from exam_pp.results import Qrel


_NAMES = ("max", "mean", "count", "binary")
_LEVELLED = ("max", "mean")
"""Labels on the scale of the grades, so that ``--min-grade`` is a relevance level of measures."""


@click.command("qrels", cls=Command)
@GRADED
@BANK
@ONLY_QUERIES
@click.option(
    "--label",
    default="max",
    show_default=True,
    metavar="max|mean|count|binary|RULE",
    help="Label of a passage: its highest grade (max), the mean of its grades (mean), the number of entries "
    "that it covers (count), 1 if it covers an entry (binary), or by a rule: '2nd>=5:3, 2nd>=4:1, else 0' "
    "gives label 3 if the second best grade is at least 5.",
)
@click.option(
    "--min-grade",
    "min_grades",
    type=int,
    multiple=True,
    help="Lowest grade that covers an entry (--label count, binary, and --facets entry), or makes a passage "
    "relevant (--label max and mean: measures with a relevance level, such as RR and P); may be repeated, "
    f"for columns of each.  {MIN_GRADE_DEFAULT}",
)
@click.option(
    "--facets",
    type=click.Choice(["title", "facet", "entry"]),
    default="title",
    show_default=True,
    help="Make labels for each query (title), for each facet `query/facet` of a query (facet), or for each "
    "bank entry as a subtopic, for measures of diversity such as alpha_nDCG@20 (entry).",
)
@run_options(required=False)
@ROLE
@CANARIES
@click.option(
    "--also qrels",
    "qrels_output",
    type=OUTPUT_PATH,
    help="With -m or --runs: also write the qrels to this file.",
)
@click.option(
    "--fill-holes",
    type=FILE,
    help="Qrels file with manual judgments, which are kept; only unjudged passages get labels from grades.",
)
@leaderboard_options(
    "published",
    output_help="File for the qrels, or for the leaderboard if there is one.  [default: standard output]",
)
@filter_columns
def command(
    *,
    graded: Path,
    runs: tuple[Path, ...],
    role: Any,
    canaries: bool,
    measures: tuple[str, ...],
    method_name: Any,
    qrels_output: Path | None,
    output: LeaderboardOutput,
    label: Any,
    min_grades: tuple[int, ...],
    bank: Path | None,
    queries: Path | None,
    facets: Any,
    fill_holes: Path | None,
    **criteria: Any,
) -> None:
    """Make qrels from grades (Rubric-Qrels), and score runs with them.

    Without -m and --runs, the command writes a trec_eval qrels file with a label for every graded passage.
    With -m, it writes the leaderboard of the systems by these labels: of the rankings in GRADED, or of the
    run files of --runs.

    If a rule makes the labels, they are on a scale of your own, such as that of the judgments; measures
    count a label of 1 as relevant (`-m 'RR(rel=2)'`: of 2).

    `--format trec_eval` writes scores like trec_eval, and `--format published` the leaderboard of the
    published implementation, which needs --official.

    Examples:

    \b
      exam-pp evaluate qrels graded.jsonl.gz --bank questions.jsonl -o rubric.qrels
      exam-pp evaluate qrels graded.jsonl.gz --bank questions.jsonl --runs runs \\
        -m nDCG@10 -m P@10 --min-grade 4
      exam-pp evaluate qrels graded.jsonl.gz -m nDCG@10
      exam-pp evaluate qrels graded.jsonl.gz --runs runs -m RR --min-grade 4 --min-grade 5 \\
        --official official.json
    """
    scored = bool(runs or measures)
    subtopics = facets == "entry"
    _check_usage(output, scored=scored, qrels_output=qrels_output)
    if not runs:
        refuse_without("--runs", "method_name")
    if runs or not measures:
        refuse_without("-m without --runs", "canaries")
    rule = _rule(label)
    if subtopics and (rule or fill_holes or label in ("count", "mean")):
        raise click.UsageError(
            "--facets entry cannot be combined with --fill-holes, or with --label count, mean or a rule."
        )
    if rule is not None and min_grades:
        raise click.UsageError("--min-grade cannot be combined with a rule as --label.")
    selections = grade_filters(**criteria)
    thresholds = tuple(dict.fromkeys(min_grades))
    # Labels of max and mean do not depend on the threshold, so several are relevance levels of one set.
    sets: list[tuple[int, ...]] = [thresholds]
    if subtopics or not (rule or label in _LEVELLED):
        sets = [(grade,) for grade in thresholds] or [()]
    if not scored or qrels_output:
        _check_single(selections, thresholds if not scored else sets)
    from exam_pp.phases.evaluation.inputs import loaded

    passages = loaded(graded)
    scope = {"role": role, "canaries": canaries}
    if subtopics:
        make = partial(_subtopics, label=label, scope=scope)
    else:
        make = partial(
            _labels,
            label="max" if rule else label,
            rule=rule,
            facets=facets,
            fill_holes=fill_holes,
            scope=scope,
        )
    label_sets = {
        grader: [make(passages, bank, queries, selection, grades) for grades in sets]
        for grader, selection in selections.items()
    }
    inputs = [path for path in (graded, bank, queries, fill_holes) if path is not None]
    if not scored:
        ((labels,),) = label_sets.values()
        log_notes(labels.notes)
        _write(labels, output.path, fill_holes, inputs)
        return
    from exam_pp.store.trec.runs import run_files, systems_of, warn_of_other_names

    inputs += run_files(runs)
    score = partial(
        _scores,
        ranked=runs or passages,
        measures=measures or (["alpha_nDCG@20"] if subtopics else ["nDCG@10"]),
        facets="title" if subtopics else facets,
        method=method_name,
        scope=scope,
    )

    def levels(labels: RubricQrels[Any], grades: Sequence[int]) -> Sequence[int]:
        # Labels of count and binary already use the threshold, so they need no relevance level.
        used = (labels.min_grade,) if subtopics else grades
        return used if label in _LEVELLED else ()

    evaluation = grader_columns(
        {
            grader: threshold_columns(
                {
                    labels.min_grade: score(labels, levels(labels, grades))
                    for labels, grades in zip(of_grader, sets, strict=True)
                }
            )
            for grader, of_grader in label_sets.items()
        }
    )
    if runs:
        ranked = next(iter(label_sets.values()))[0].systems
        warn_of_other_names(systems_of(runs, method_name), ranked, graded)
    if qrels_output is not None:
        ((labels,),) = label_sets.values()
        _write(labels, qrels_output, fill_holes, inputs)
    output.write(evaluation, f"Rubric-Qrels ({'subtopics' if subtopics else rule or label})", inputs)


def _rule(label: str) -> LabelRule | None:
    """The rule of ``--label``; None for a name."""
    if label in _NAMES:
        return None
    if ":" not in label:
        raise click.UsageError(
            f"--label {label!r} is neither one of {', '.join(_NAMES)} nor a rule such as '2nd>=5:3, else 0'."
        )

    return LabelRule.parse(label)


def _check_single(graders: Sized, label_sets: Sized) -> None:
    """Raise :class:`click.UsageError` for a file of qrels by several graders or thresholds."""
    if len(graders) > 1:
        raise click.UsageError("Qrels have the labels of one grader; use --grader and --prompt once.")
    if len(label_sets) > 1:
        raise click.UsageError("Qrels have the labels of one threshold; use --min-grade once.")


def _write(labels: RubricQrels[Any], path: Path, fill_holes: Path | None, inputs: Sequence[Path]) -> None:
    from exam_pp.phases.evaluation.judgments import write_filled
    from exam_pp.store.trec.runs import write_qrels

    write = write_qrels if fill_holes is None else partial(write_filled, fill_holes)
    write(labels.qrels, path, inputs=inputs)


def _scores(
    labels: RubricQrels[Any],
    levels: Sequence[int],
    ranked: LoadedPassages | tuple[Path, ...],
    measures: Sequence[str],
    facets: Any,
    method: Any,
    scope: Mapping[str, Any],
) -> Evaluation:
    """Score runs, or the rankings of a graded file, by labels."""
    from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs

    settings: Any = {
        "min_grade": levels or None,
        "default_min_grade": labels.level,
        "ungraded": labels.ungraded,
    }
    if not isinstance(ranked, tuple):
        evaluation = score_rankings(
            labels.qrels,
            ranked,
            measures,
            facets=facets,
            **scope,
            **settings,
        )
    else:
        evaluation = score_runs(labels.qrels, ranked, measures, method=method, **settings)
    evaluation.notes[:0] = labels.notes
    evaluation.provenance = with_thresholds(labels.provenance, evaluation.provenance)
    return evaluation


def _labels(
    graded: LoadedPassages,
    bank: Path | None,
    queries: Path | None,
    selection: GradeFilter,
    min_grades: Sequence[int],
    label: Any,
    rule: LabelRule | None,
    facets: Any,
    fill_holes: Path | None,
    scope: Mapping[str, Any],
) -> RubricQrels[Any]:
    from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels

    rubric = rubric_qrels(
        graded,
        bank=bank,
        grade_filter=selection,
        label=label,
        label_rule=rule,
        min_grade=max(min_grades, default=None),  # several only for labels that do not depend on it
        queries=queries,
        facets=facets,
        **scope,
    )
    if fill_holes is None:
        notes = _scale_notes(rubric.qrels, graded) if rule is not None else []
        return replace(rubric, notes=[*rubric.notes, *notes])
    from exam_pp.phases.evaluation import judgments

    filled, notes = judgments.fill_holes(fill_holes, rubric.qrels)
    return replace(
        rubric,
        qrels=filled,
        notes=[*rubric.notes, *notes],
        ungraded=None,
        # Judgments have a scale of their own, so the default threshold of grades is not used for them.
        level=None,
        provenance=replace(rubric.provenance, judgments=file_names(fill_holes)),
    )


def _scale_notes(labels: Sequence[Qrel], graded: LoadedPassages) -> list[str]:
    """A note on labels outside the scale of the judgments in the graded file."""
    from exam_pp.phases.evaluation.inputs import views
    from exam_pp.phases.evaluation.judgments import outside_scale_notes

    judged = (qrel.relevance for qrel in judgment_qrels(views(graded, mixed=True)))
    return outside_scale_notes((label.relevance for label in labels), judged)


def _subtopics(
    graded: LoadedPassages,
    bank: Path | None,
    queries: Path | None,
    selection: GradeFilter,
    min_grades: Sequence[int],
    label: Any,
    scope: Mapping[str, Any],
) -> RubricQrels[Any]:
    from exam_pp.phases.evaluation.rubric_qrels import subtopic_labels

    return subtopic_labels(
        graded,
        bank=bank,
        grade_filter=selection,
        label=label,
        min_grade=min_grades[0] if min_grades else None,
        queries=queries,
        **scope,
    )


def _check_usage(output: LeaderboardOutput, *, scored: bool, qrels_output: Path | None) -> None:
    """Raise :class:`click.UsageError` for leaderboard options without a leaderboard."""
    of_leaderboards = (
        qrels_output,
        output.per_query,
        output.plot,
        output.official,
        output.intervals,
        output.significance,
    )
    if not scored and any(of_leaderboards):
        raise click.UsageError(
            "--also qrels, --official, --plot, --per-query, --intervals and --significance need -m or --runs."
        )
    if not scored and output.form != "text" and is_given(click.get_current_context(), "form"):
        raise click.UsageError(f"--format {output.form} needs -m or --runs.")
    if output.form == "published" and (output.per_query or output.official is None):
        raise click.UsageError("--format published needs --official, and does not support --per-query.")
