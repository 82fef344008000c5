"""Grading with a T5 model on the first GPU: two versions of the engine side by side, with compared replies.

Usage: git show REVISION:exam_pp/llm/huggingface.py > old.py
       python -m scripts.bench.t5_engines old.py [--batch-tokens 16384] [--smoke] [--json FILE] ...

The model has the shape of FLAN-T5-large (see gpu.py). The versions share its weights and take turns in every
round, both with their own default size of a batch or with ``--batch-tokens``. Every round has other pairs,
because libraries of the GPU may be slow with each new shape of a batch, as in a real grading. The figure is
the median of the rounds by the wall clock, after a first round for the peak of memory above the weights.
"""

from __future__ import annotations

import gc
import importlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from exam_pp.llm.huggingface import TransformersEngine
from scripts.bench import gpu
from scripts.bench.engines_worker import PROMPTS, Measured, Way

WAYS = (Way("beam 5, float32"), *(way for way in gpu.WAYS["text2text"] if way.name.startswith("exam_pp, ")))
SMOKE_PAIRS = 16


def engine_of(file: Path) -> Any:
    """The class of the engine in a copy of `huggingface.py`."""
    sys.path.insert(0, str(file.resolve().parent))
    return importlib.import_module(file.stem).TransformersEngine


def compare(
    subject: gpu.Subject, kind: str, pairs: gpu.Pairs, ways: Sequence[Way], old: Any, rounds: int
) -> Iterator[dict[str, Any]]:
    """The figures of each of these ways with both versions; the pairs are divided among the rounds."""
    for way in ways:
        if not PROMPTS[kind].labels and (way.soft or way.choose):
            continue
        size = len(pairs) // (rounds + 1) // (2 if way.dtype == "float32" else 1)
        parts = [pairs[at * size : (at + 1) * size] for at in range(rounds + 1)]
        results, memory = [Measured(way, "wall"), Measured(way, "wall")], []
        for number, part in enumerate(parts):
            for result, engine in zip(results, (old, TransformersEngine), strict=True):
                run = gpu.own(subject, way, kind, part, engine)
                if number:
                    result.rounds.append(gpu.clocked(subject, run, size))
                else:
                    memory.append(peak_of(run, size))
        before, after = ([reply for row in result.rounds for reply in row["replies"]] for result in results)
        yield {
            "way": way.name,
            "pairs": size,
            "pairs_per_second": [result.rate for result in results],
            "spread": [result.spread for result in results],
            "ratio": results[1].rate / results[0].rate,
            "memory": memory,
            "same": f"{sum(map(str.__eq__, before, after))}/{len(after)}",
        }


def peak_of(run: gpu.Run, count: int) -> float:
    """The peak of GPU memory in GB above that of the weights, in a first run."""
    if not torch.cuda.is_available():
        run(count)
        return 0.0
    torch.cuda.reset_peak_memory_stats()
    weights = torch.cuda.memory_allocated()
    run(count)
    return float(torch.cuda.max_memory_allocated() - weights) / 2**30


HEADER = """| way | pairs/s, old | new | ratio | spread | same replies | memory, old (GB) | new |
|---|---:|---:|---:|---:|---:|---:|---:|"""


def line(row: dict[str, Any]) -> str:
    """The figures of a way as a line of a Markdown table."""
    (old, new), memory = row["pairs_per_second"], row["memory"]
    return (
        f"| {row['way']} | {old:.0f} | {new:.0f} | {row['ratio']:.2f} | {max(row['spread']):.0%} "
        f"| {row['same']} | {memory[0]:.1f} | {memory[1]:.1f} |"
    )


def main() -> None:
    """Measure; every way is printed and in the JSON file as soon as it is measured."""
    parser = gpu.options(__doc__, "t5_engines")
    parser.add_argument("old", type=Path, help="huggingface.py of another version")
    parser.add_argument("--ways", default="", help="a regular expression for the names of ways")
    parser.add_argument("--pairs", type=int, default=3072, help="in all rounds together (default: 3072)")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shape = arguments.shapes or ("t5-tiny" if arguments.smoke else "flan-t5-large")
    pairs = gpu.pairs_of(SMOKE_PAIRS if arguments.smoke else arguments.pairs)
    ways = [way for way in WAYS if re.search(arguments.ways, way.name)]
    old, context = engine_of(arguments.old), gpu.context_of(device)
    record: dict[str, Any] = {"environment": context, "results": []}
    print(", ".join(f"{key} {value}" for key, value in context.items()), flush=True)
    for kind in arguments.tasks.split(","):
        subject = gpu.made(shape, kind, pairs, device, arguments.work, arguments.batch_tokens)
        print(f"\n### {shape}, {kind}\n\n{HEADER}", flush=True)
        for row in compare(subject, kind, pairs, ways, old, arguments.rounds):
            print(line(row), flush=True)
            record["results"].append({"shape": shape, "task": kind, **row})
            if arguments.json:
                arguments.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        del subject
        gc.collect()


if __name__ == "__main__":
    main()
