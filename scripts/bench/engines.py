"""Benchmark of the grading engines against the published loop, in pairs per second, with compared replies.

Usage: python -m scripts.bench.engines [--work FOLDER] [--tasks rating,extraction] [--rounds 3]
                                       [--smoke] [--json FILE]
       python -m scripts.bench.engines --gpu [--seconds 4] [--shapes flan-t5-large] [--peak TFLOPS] ...

The model is a checkpoint of the shape of FLAN-T5-small with known answers (see keyed_model.py), which is made
in the work folder on first use. It grades six passages with eight questions each; prompts have realistic
lengths. Every way of grading runs in its own process with one thread; the processes take turns (A B C A B C),
and the result is the median of their CPU time. A ratio gets no verdict if the times of a side spread by more
than 15 %.
`--gpu` measures on a GPU, with the shape of FLAN-T5-large (see gpu.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.bench import gpu, keyed_model
from scripts.bench.engines_task import make_task
from scripts.bench.engines_worker import Measured, Task, Way, bench, verdict_of

PASSAGES = 6
PUBLISHED, PUBLISHED_10, GREEDY = (
    "published loop, inner batch 1",
    "published loop, inner batch 10",
    "generate, greedy, one prompt at a time",
)

CPU_WAYS = (
    Way(PUBLISHED, inner_batch=1),
    Way(PUBLISHED_10, inner_batch=10),
    Way("transformers, beam 5"),
    Way("transformers, beam 5, soft", soft=True),
    Way("transformers, greedy", beams=1),
    Way("CTranslate2, beam 5", engine="ctranslate2"),
    Way("CTranslate2, beam 5, soft", engine="ctranslate2", soft=True),
    Way("CTranslate2, greedy", beams=1, engine="ctranslate2"),
    Way("CTranslate2, greedy, soft", beams=1, engine="ctranslate2", soft=True),
    Way("CTranslate2 int8, beam 5", engine="ctranslate2", compute_type="int8"),
    Way("CTranslate2 int8, greedy", beams=1, engine="ctranslate2", compute_type="int8"),
)
REFERENCE_GREEDY = Way(GREEDY, beams=1, inner_batch=1)


@dataclass(frozen=True)
class Target:
    """A target for the ratio of ``way`` to ``baseline``; replies must equal those of ``same`` (None: any)."""

    tasks: tuple[str, ...]
    way: str
    baseline: str
    must: float
    stretch: float
    same: str | None = None


CPU_TARGETS = (
    Target(("rating",), "CTranslate2, beam 5", PUBLISHED, 3.5, 5, PUBLISHED),
    Target(("rating",), "CTranslate2, beam 5", PUBLISHED_10, 3, 4.2, PUBLISHED),
    Target(("extraction",), "CTranslate2, beam 5", PUBLISHED, 4, 7, PUBLISHED),
    Target(("extraction",), "CTranslate2, beam 5", PUBLISHED_10, 2.7, 4.5, PUBLISHED),
    Target(("rating",), "CTranslate2, greedy", PUBLISHED, 4, 6, GREEDY),
    Target(("extraction",), "CTranslate2, greedy", PUBLISHED, 8, 10, GREEDY),
    Target(("rating",), "CTranslate2 int8, greedy", PUBLISHED, 8, 10),
    Target(("extraction",), "CTranslate2 int8, greedy", PUBLISHED, 10, 17),
)
SOFT_MUST = 0.05
"""The highest additional cost of soft grades."""


def table(results: Sequence[Measured]) -> str:
    """The measurements of a task as a Markdown table."""
    by_name = {result.way.name: result for result in results}
    published, greedy = by_name[PUBLISHED], by_name[GREEDY]
    lines = [
        "| way | pairs/s | vs batch 1 | vs 10 | same as beam 5 | same as greedy | spread |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        cells = [
            result.way.name,
            f"{result.rate:.1f}",
            f"{result.rate / published.rate:.2f}",
            f"{result.rate / by_name[PUBLISHED_10].rate:.2f}",
            result.same_as(published),
            result.same_as(greedy),
            f"{result.spread:.0%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdicts(kind: str, results: Sequence[Measured], targets: Iterable[Target]) -> str:
    """The targets of a task and whether they are met, as a Markdown table; "" without targets."""
    by_name = {result.way.name: result for result in results}
    rows = []
    for target in targets:
        if kind not in target.tasks:
            continue
        way, baseline = by_name[target.way], by_name[target.baseline]
        ratio = way.rate / baseline.rate
        differs = target.same is not None and not way.is_same_as(by_name[target.same])
        verdict = (
            "replies differ" if differs else verdict_of(ratio, target.must, target.stretch, way, baseline)
        )
        rows.append(
            f"| {way.way.name} / {baseline.way.name} | {ratio:.2f} | {target.must} | {target.stretch} "
            f"| {verdict} |"
        )
    for name in [name for name in by_name if name.endswith(", soft")]:
        soft, plain = by_name[name], by_name[name.removesuffix(", soft")]
        cost = soft.seconds / plain.seconds - 1
        verdict = verdict_of(-cost, -SOFT_MUST, 0, soft, plain)
        rows.append(f"| {name}: cost of soft grades | {cost:+.0%} | {SOFT_MUST:.0%} | 0 % | {verdict} |")
    return (
        "\n".join(["| target | measured | required | stretch | verdict |", "|---|---|---|---|---|", *rows])
        if rows
        else ""
    )


def main() -> None:
    """Measure, print Markdown, write JSON."""
    arguments = gpu.options(__doc__, "engines").parse_args()
    if arguments.gpu:
        gpu.bench(arguments, ["flan-t5-large"], ["t5-tiny"])
        return
    ways = [*CPU_WAYS, REFERENCE_GREEDY]
    targets = () if arguments.smoke else CPU_TARGETS
    if arguments.smoke:  # a model of this size gives other replies in 8 bits
        ways = [way for way in ways if way.compute_type != "int8"]
    shape, passages = (keyed_model.TINY, 2) if arguments.smoke else (keyed_model.SMALL, PASSAGES)

    def make(folder: Path, kind: str) -> Task:
        return make_task(folder / f"{kind}-{shape['d_model']}-{passages}", kind, shape, passages=passages)

    def show(kind: str, results: Sequence[Measured]) -> str:
        return f"{table(results)}\n\n{verdicts(kind, results, targets)}"

    bench(arguments, make, ways, show)


if __name__ == "__main__":
    main()
