"""Reports of a gate, and of the number of queries and labels that show a difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.formats.scores import read_query_scores
from exam_pp.metrics.noninferiority import fewest_queries, unseen_share
from exam_pp.metrics.planning import labels_needed, plan_queries, simulated_queries
from exam_pp.metrics.significance import QueriesNeeded
from exam_pp.metrics.uncertainty import GAFFKE, score_matrices
from exam_pp.phases.trust.gate import Gate, MeasureGate
from exam_pp.rendering.document import Block, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted, listed


def query_plan_report(
    pilot: Path | None,
    measures: Sequence[str],
    systems: int | None,
    difference: float,
    confidence: float,
    seed: int,
) -> Report:
    """The number of queries and of labels for a difference."""
    scores = [] if pilot is None else read_query_scores(pilot)
    matrices = score_matrices(score for score in scores if score.system != OVERALL_SYSTEM)
    chosen = [matrices[measure].values for measure in measures or matrices if measure in matrices]
    if pilot is not None and len(chosen) != 1:
        raise SelectionError(
            f"{pilot} has scores of single queries of {listed(list(matrices)) or 'no measure'}; choose one "
            "measure with -m."
        )
    values = chosen[0] if chosen else None
    number = systems or max(2, 0 if values is None else len(values))
    plan = plan_queries(number, values, difference=difference, confidence=confidence)
    text = plan.sentence
    if values is not None and plan.spread is None and len(values) == number:
        found = simulated_queries(values, plan, confidence, seed)
        text += f" By simulation with the queries of the pilot: {found or 'more than three times as many'}."
    few, many = (labels_needed(difference, correlation=r) for r in (0.7, 0.0))
    labels = (
        f"An interval of ±{difference:g} for a corrected share takes at most {many} labels of people, and "
        f"{few} if the judge's ratings correlate with them by 0.7."
    )
    return Report("Plan", [Paragraph(text), Paragraph(labels)])


def gate_report(result: Gate, *, decimals: int = 4) -> Report:
    """The outcome as a sentence, a row for each measure, and the queries with the largest drops."""
    measures = Table(
        [
            "measure", "queries", "baseline", "new", "drop", "low", "high", "p (above)", "p (within)",
            "outcome", "queries needed",
        ],
        [[row.measure, row.queries, row.baseline, row.new, row.drop, row.bounds.low, row.bounds.high,
          row.p_above, row.bounds.p_within, row.outcome, _needed(row.needed)] for row in result.measures],
        title="Measures",
        decimals=decimals,
        bold={(number, 9) for number in range(len(result.measures))},
        significant=[7, 8],
    )  # fmt: skip
    drops = Table(
        ["measure", "query", "baseline", "new", "drop"],
        [
            [row.measure, query.query_id, query.baseline, query.new, query.drop]
            for row in result.measures
            for query in row.largest
        ],
        title="Largest drops",
        decimals=decimals,
    )
    blocks: list[Block] = [Paragraph(gate_sentence(result)), measures]
    blocks += [drops] if drops.rows else []
    blocks += map(Paragraph, [*result.notes, *_explanations(result)])
    accepted = "passed" if result.passes else "failed"
    title = f"{accepted}, but undecided" if result.outcome == "undecided" else accepted
    return Report(f"Gate: {title}", blocks, result.provenance, result.notes)


def _needed(needed: QueriesNeeded | None) -> str | None:
    """The number and its range, such as ``190 (160 to 240)``."""
    if needed is None:
        return None
    if needed.high is None:
        return f"at least {needed.low}"
    return f"{needed.queries}" + (f" ({needed.low} to {needed.high})" if needed.low < needed.high else "")


def gate_sentence(result: Gate) -> str:
    """The outcome and its reason; only a gate that is decided names its confidence."""
    systems = result.new if result.new == result.baseline else f"{result.new} against {result.baseline}"
    level, limit = f"{100 * result.confidence:.4g} %", f"the accepted {result.max_drop:g}"
    assumed = f", if no query changes by more than {result.worst:g}" if result.worst_drop else ""
    rows = [row for row in result.measures if result.outcome in ("passed", row.outcome)]
    changes = f"{systems}, {listed([_change(row) for row in rows])}"
    if result.outcome == "failed":
        return f"Failed: {changes}, with {level} confidence by more than {limit}{assumed}."
    if result.outcome == "passed":
        return f"Passed: {changes}; with {level} confidence there is no drop by more than {limit}{assumed}."
    queries = counted(max(row.queries for row in rows), "query is", "queries are")
    outcome = f"{'Passed' if result.passes else 'Failed'} {_reason(result)}"
    needed = f"{outcome}, but {queries} too few to be sure{_too_few(result, rows)}."
    return " ".join([needed, f"{changes}; accepted is {result.max_drop:g}{assumed}.", *_unseen(result, rows)])


def _unseen(result: Gate, rows: Sequence[MeasureGate]) -> Iterator[str]:
    for row in rows:
        if row.is_unchanged:
            share = 100 * unseen_share(row.queries, result.confidence)
            queries = "this query" if row.queries == 1 else f"these {row.queries} queries"
            yield f"{row.measure}: unchanged on {queries}; up to {share:.3g} % could break unseen."
            hidden = 0.9**row.queries
            if hidden > 1 - result.confidence:
                yield (
                    "A break of 10 % of all queries stays unseen in so few with a probability of "
                    f"{100 * hidden:.2g} %."
                )


def _too_few(result: Gate, rows: Sequence[MeasureGate]) -> str:
    """How many queries are needed unless scores rise."""
    fewest = fewest_queries(result.max_drop, result.worst, result.confidence)
    if fewest is None:
        return f": a drop of at most {result.max_drop:g} cannot be shown unless scores rise"
    return f": at least {fewest} are needed" if min(row.queries for row in rows) < fewest else ""


def _reason(result: Gate) -> str:
    """Why an undecided gate passes or fails."""
    if result.undecided != "estimate":
        return f"because of --undecided {result.undecided}"
    drops = [f"{row.drop + 0.0:.4g}" for row in result.measures]
    return f"on the measured drop{'s' if len(drops) > 1 else ''} ({listed(drops)})"


def _change(row: MeasureGate) -> str:
    """The measure with its means, such as ``nDCG@10 drops by 0.0100 (0.5200 to 0.5100)``."""
    if not round(row.drop, 4):
        return f"{row.measure} stays at {row.new:.4f}"
    verb = "drops" if row.drop > 0 else "rises"
    return f"{row.measure} {verb} by {abs(row.drop):.4f} ({row.baseline:.4f} to {row.new:.4f})"


def _explanations(result: Gate) -> Iterator[str]:
    alpha = f"{1 - result.confidence:.2g}"
    yield (
        "Drop: mean of the baseline minus mean of the new version over the same queries. Low and high: "
        f"one-sided bounds of the drop for α = {alpha}, by {GAFFKE}. Failed: p (above) is below {alpha}, "
        f"which shows a drop by more than {result.max_drop:g}. Passed: p (within) is at most {alpha}, which "
        "shows that the drop is not larger."
    )
    worst = f"The bounds assume that no query changes by more than {result.worst:g}"
    if result.worst_drop is None:
        yield f"{worst}, as all scores are from 0 to 1; --worst-drop names the range of another measure."
    else:
        yield f"{worst} (--worst-drop)."
