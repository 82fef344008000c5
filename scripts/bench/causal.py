"""Benchmark of the engines for causal models: pairs a second, answers compared.

Usage: python -m scripts.bench.causal [--work FOLDER] [--tasks rating,extraction] [--rounds 3] [--json FILE]
                                      [--smoke]

The model is a Llama of 8 layers and 512 dimensions that gives known answers (see keyed_llama.py), made in the
work folder on the first use. Passages, questions, processes and clock are those of engines.py.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scripts.bench import keyed_llama, keyed_model
from scripts.bench.engines import PASSAGES, environment
from scripts.bench.engines_task import demo_pairs
from scripts.bench.engines_worker import PROMPTS, Measured, Task, Way, measure

ONE = "transformers, one prompt at a time"
_CAUSAL: dict[str, Any] = {"pipeline": "text-generation", "beams": 1}
_FAST: dict[str, Any] = {**_CAUSAL, "engine": "ctranslate2"}

WAYS = (
    Way(ONE, **_CAUSAL, batch_tokens=1),
    Way("transformers, instruction in every row", **_CAUSAL, shares=False),
    Way("transformers, instruction in every row, soft", **_CAUSAL, shares=False, soft=True),
    Way("transformers", **_CAUSAL),
    Way("transformers, soft", **_CAUSAL, soft=True),
    Way("CTranslate2", **_FAST),
    Way("CTranslate2, soft", **_FAST, soft=True),
    Way("CTranslate2 int8", **_FAST, compute_type="int8"),
    Way("CTranslate2 int8, soft", **_FAST, compute_type="int8", soft=True),
)


def make_task(folder: Path, kind: str, shape: dict[str, Any], passages: int) -> Task:
    """A keyed Llama and its pairs; kept in the folder for the next time."""
    if (folder / "task.json").exists():
        return Task.read(folder)
    task = Task(kind, folder / "checkpoint", demo_pairs(passages))
    # Real vocabularies need few tokens for the prompts' own words.
    texts = [*keyed_model.project_texts(), *[prompt.template for prompt in PROMPTS.values()] * 30]
    tokenizer = keyed_llama.byte_tokenizer(texts, True, 8000, shape["max_position_embeddings"])
    answers = keyed_model.grader_answers(len(task.pairs), kind, [passage for passage, _ in task.pairs])
    prompts = [task.text(*pair) for pair in task.pairs]
    keyed_llama.save_llama(task.checkpoint, tokenizer, prompts, answers, shape=shape)
    task.save()
    return task


def table(results: Sequence[Measured]) -> str:
    """The measurements of a task as a Markdown table."""
    by_name = {result.way.name: result for result in results}
    lines = [
        "| way | pairs/s | vs one prompt at a time | vs transformers | same replies | spread |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        engine = by_name["transformers, soft" if result.way.soft else "transformers"]
        cells = [
            result.way.name,
            f"{result.rate:.1f}",
            f"{result.rate / by_name[ONE].rate:.2f}",
            f"{result.rate / engine.rate:.2f}",
            result.same_as(by_name[ONE]),
            f"{result.spread:.0%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print Markdown, write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "exam_pp-bench-causal")
    parser.add_argument("--tasks", default=",".join(PROMPTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smoke", action="store_true", help="a tiny model, one round: does the bench work?")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    # One thread a process, whatever libraries think; ways with more ask for them themselves.
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    os.environ["EXAM_PP_CACHE"] = str(arguments.work / "cache")
    shape = keyed_llama.SMALL | (
        {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2} if arguments.smoke else {}
    )
    # A model this small is not itself any more in 8 bits.
    ways = [way for way in WAYS if not (arguments.smoke and way.compute_type)]
    passages, rounds = (2, 1) if arguments.smoke else (PASSAGES, arguments.rounds)
    found, tasks = environment(), {}
    print(", ".join(f"{key} {value}" for key, value in found.items()))
    for kind in arguments.tasks.split(","):
        folder = arguments.work / f"{kind}-{shape['hidden_size']}-{passages}"
        task = make_task(folder, kind, shape, passages)
        chosen = [way for way in ways if kind == "rating" or not way.soft]
        results = measure(folder, chosen, rounds, "cpu")
        print(f"\n### {kind}, {len(task.pairs)} pairs\n\n{table(results)}")
        tasks[kind] = [asdict(result) for result in results]
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"environment": found, "tasks": tasks}, indent=1) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
