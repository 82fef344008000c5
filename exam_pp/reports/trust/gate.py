"""Report of the gate: outcome, measures with bounds, and the queries with the largest drops."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.phases.trust.gate import POWER, Gate, MeasureGate
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.wording import counted, listed


def gate_report(result: Gate, *, decimals: int = 4) -> Report:
    """The outcome as a sentence, a row for each measure, and the queries with the largest drops."""
    measures = Table(
        [
            "measure", "queries", "baseline", "new", "drop", "low", "high", "p (above)", "p (within)",
            "outcome", "detectable", "queries needed",
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
        bounds.p_within, row.outcome, row.detectable, row.needed,
    ]  # fmt: skip


def gate_sentence(result: Gate) -> str:
    """The outcome and its reason in one sentence."""
    systems = result.new if result.new == result.baseline else f"{result.new} against {result.baseline}"
    level, limit = f"{100 * result.confidence:.4g} %", f"the accepted {result.max_drop:g}"
    if result.outcome == "failed":
        rows = [row for row in result.measures if row.outcome == "failed"]
        end = f", with {level} confidence by more than {limit}"
    elif result.outcome == "passed":
        rows = list(result.measures)
        end = f"; with {level} confidence there is no drop by more than {limit}"
    else:
        rows = [row for row in result.measures if row.outcome == "undecided"]
        queries = counted(max(row.queries for row in rows), "query shows", "queries show")
        end = f"; {queries} neither a drop by more than {limit} nor the opposite. {_reason(result)}"
    return f"{_title(result).capitalize()}: {systems}, {listed([_change(row) for row in rows])}{end}."


def _reason(result: Gate) -> str:
    """Why an undecided gate passes or fails."""
    verb = "passes" if result.passes else "fails"
    if result.undecided != "estimate":
        return f"The gate {verb} because of --undecided {result.undecided}"
    if result.passes:
        noun = "drops are" if len(result.measures) > 1 else "drop is"
        return f"The gate passes because the measured {noun} at most this"
    above = [row.measure for row in result.measures if row.drop > result.max_drop]
    of = f" of {listed(above)}" if len(result.measures) > 1 else ""
    return f"The gate fails because the measured drop{of} is above this"


def _change(row: MeasureGate) -> str:
    """The measure with its means, such as ``nDCG@10 drops by 0.0100 (0.5200 to 0.5100)``."""
    if not round(row.drop, 4):
        return f"{row.measure} stays at {row.new:.4f}"
    verb = "drops" if row.drop > 0 else "rises"
    return f"{row.measure} {verb} by {abs(row.drop):.4f} ({row.baseline:.4f} to {row.new:.4f})"


def _explanations(result: Gate) -> Iterator[str]:
    level = f"{100 * result.confidence:.4g} %"
    alpha = f"{1 - result.confidence:.2g}"
    test = "paired t test"
    if result.test == "randomisation":
        test = f"paired randomisation test ({result.samples:,} samples, seed {result.seed})"
    yield (
        "Drop: mean of the baseline minus mean of the new version over the same queries. Low and high: "
        f"one-sided {level} confidence bounds ({test}). Failed: p (above) is at most {alpha}, which "
        f"shows a drop by more than {result.max_drop:g}. Passed: p (within) is at most {alpha}, which shows "
        "that the drop is not larger."
    )
    if len(result.measures) > 1:
        yield (
            "p (above) is adjusted by Holm's method over the measures, because one failed measure fails the "
            "gate. p (within) needs no adjustment, because all measures must pass."
        )
    yield (
        f"Detectable: the difference that a one-sided t test at level {alpha} detects with probability "
        f"{POWER:g} on these queries. Queries needed: so many are needed to detect a difference of "
        f"{result.max_drop:g}, if the drops of queries vary as they do here."
    )
