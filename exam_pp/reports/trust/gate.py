"""Report of the gate: outcome, measures with bounds, and the queries with the largest drops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exam_pp.metrics.noninferiority import fewest_queries, unseen_share
from exam_pp.metrics.significance import QueriesNeeded
from exam_pp.metrics.uncertainty import GAFFKE
from exam_pp.phases.trust.gate import Gate, MeasureGate
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.text.wording import counted, listed


def gate_report(result: Gate, *, decimals: int = 4) -> Report:
    """The outcome as a sentence, a row for each measure, and the queries with the largest drops."""
    measures = Table(
        [
            "measure", "queries", "baseline", "new", "drop", "low", "high", "p (above)", "p (within)",
            "outcome", "queries needed",
        ],
        [_cells(row) for row in result.measures],
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
    return Report(f"Gate: {_title(result)}", blocks, result.provenance)


def _title(result: Gate) -> str:
    accepted = "passed" if result.passes else "failed"
    return f"{accepted}, but undecided" if result.outcome == "undecided" else accepted


def _cells(row: MeasureGate) -> list[Cell]:
    bounds = row.bounds
    return [
        row.measure, row.queries, row.baseline, row.new, row.drop, bounds.low, bounds.high, row.p_above,
        bounds.p_within, row.outcome, _needed(row.needed),
    ]  # fmt: skip


def _needed(needed: QueriesNeeded | None) -> str | None:
    """The number and its range, such as ``190 (160 to 240)``."""
    if needed is None:
        return None
    if needed.high is None:
        return f"at least {needed.low}"
    return f"{needed.queries}" + (f" ({needed.low} to {needed.high})" if needed.low < needed.high else "")


def gate_sentence(result: Gate) -> str:
    """The outcome and its reason; only a passed or failed gate names its confidence."""
    systems = result.new if result.new == result.baseline else f"{result.new} against {result.baseline}"
    level, limit = f"{100 * result.confidence:.4g} %", f"the accepted {result.max_drop:g}"
    assumed = f", if no query changes by more than {result.worst:g}" if result.worst_drop else ""
    rows = [row for row in result.measures if result.outcome in ("passed", row.outcome)]
    if result.outcome == "failed":
        end = f", with {level} confidence by more than {limit}{assumed}."
    elif result.outcome == "passed":
        end = f"; with {level} confidence there is no drop by more than {limit}{assumed}."
    else:
        queries = counted(max(row.queries for row in rows), "query shows", "queries show")
        end = f"; {queries} neither a drop by more than {limit} nor the opposite{assumed}."
        end = " ".join([end, *_unseen(result, rows), *_too_few(result, rows), _reason(result)])
    return f"{_title(result).capitalize()}: {systems}, {listed([_change(row) for row in rows])}{end}"


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


def _too_few(result: Gate, rows: Sequence[MeasureGate]) -> Iterator[str]:
    fewest = fewest_queries(result.max_drop, result.worst, result.confidence)
    if fewest is None:
        yield f"A drop of at most {result.max_drop:g} cannot be shown unless scores rise."
    elif min(row.queries for row in rows) < fewest:
        yield (
            f"To show a drop of at most {result.max_drop:g}, at least {fewest} queries are needed unless "
            "scores rise."
        )


def _reason(result: Gate) -> str:
    """Why an undecided gate passes or fails."""
    verb = "passes" if result.passes else "fails"
    if result.undecided != "estimate":
        return f"The gate {verb} because of --undecided {result.undecided}."
    if result.passes:
        noun = "drops are" if len(result.measures) > 1 else "drop is"
        return f"The gate passes because the measured {noun} at most this."
    above = [row.measure for row in result.measures if row.drop > result.max_drop]
    of = f" of {listed(above)}" if len(result.measures) > 1 else ""
    return f"The gate fails because the measured drop{of} is above this."


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
