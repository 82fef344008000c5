"""Report of ``exam-pp grade --plan``: counts of work, lengths of prompts, and estimated time."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from exam_pp.phases.grading.plan import Plan, Probe
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.text.wording import counted

_BOUNDS = (64, 128, 192, 256, 384, 512, 1024, 2048, 4096, 8192)
"""Upper bounds of the bins of the histogram, in tokens."""


def plan_report(plan: Plan) -> Report:
    """The counts of work, the histogram of prompt lengths, and the timing of the probe."""
    counts: list[tuple[str, Cell]] = [
        ("queries", plan.summary.queries),
        ("passages", plan.summary.passages),
        ("pairs in total", plan.summary.pairs + plan.summary.reused),
        ("pairs with a grade in the file", plan.summary.reused),
        ("pairs to grade", plan.summary.pairs),
        ("distinct requests", plan.distinct),
        ("requests with a reply in the journal", plan.journaled),
        ("requests to send", plan.requests),
        ("prompts that will be shortened", plan.shortened),
    ]
    blocks: list[Block] = [Table(("item", "count"), counts, "Work")]
    if plan.lengths:
        about = " (estimated with 4 characters per token)" if plan.estimated else ""
        title = f"Length of prompts{about}"
        blocks.append(Table(("tokens", "prompts", "share"), length_histogram(plan), title))
    if plan.probe:
        blocks.extend(_timing(plan, plan.probe))
    elif not plan.requests:
        blocks.append(Paragraph("No requests are left."))
    return Report(f"Plan of a grading with {plan.model}", blocks)


def length_histogram(plan: Plan) -> list[tuple[str, int, str]]:
    """Range of tokens, number of prompts, and their share as a number and a bar."""
    rows, below = [], 0
    for bound in (*_BOUNDS, sys.maxsize):
        count = sum(n for length, n in plan.lengths.items() if below < length <= bound)
        if count:
            name = f"{below + 1}-{bound}" if bound < sys.maxsize else f"over {below}"
            share = count / plan.lengths.total()
            rows.append((name, count, f"{100 * share:5.1f} % {'#' * round(40 * share)}".rstrip()))
        below = bound
    return rows


def _timing(plan: Plan, probe: Probe) -> Iterator[Block]:
    whole = probe.loading + probe.eta
    rows: list[tuple[str, Cell]] = [
        ("requests in the probe", probe.requests),
        ("requests per second", round(plan.requests / probe.eta, 1)),
        ("pairs per second", round(plan.summary.pairs * plan.requests / plan.distinct / probe.eta, 1)),
        ("seconds to load the model", round(probe.loading, 1)),
        ("total seconds", round(whole, 1)),
        ("total time", _duration(whole)),
    ]
    if probe.memory is not None:
        rows.append(("peak memory (GB)", round(probe.memory / 1e9, 2)))
    if probe.gpu_memory is not None:
        rows.append(("GPU memory in use (GB)", round(probe.gpu_memory / 1e9, 2)))
    if probe.journal is not None:
        rows.append(("replies kept in the journal", probe.kept))
    yield Table(("property", "value"), rows, "Timed probe")
    if probe.kept:
        yield Paragraph(
            f"The journal {probe.journal} keeps {counted(probe.kept, 'reply', 'replies')} of the probe and "
            "of its warm-up, which is not timed, so that the grading does not request them again."
        )
    for reason, count in probe.failures.most_common(3):
        yield Paragraph(f"{counted(count, 'request')} of the probe failed: {reason}.")


def _duration(seconds: float) -> str:
    """``"2 h 05 min"``, ``"3 min 20 s"``, ``"14 s"``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
