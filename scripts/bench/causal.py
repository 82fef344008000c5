"""Benchmark of the engines for causal models, in pairs per second, with a comparison of the replies.

Usage: python -m scripts.bench.causal [--work FOLDER] [--tasks rating,extraction] [--rounds 3] [--json FILE]
                                      [--smoke]
       python -m scripts.bench.causal --gpu [--seconds 4] [--shapes llama-8b,smollm2] [--peak TFLOPS] ...

The model is a Llama of 8 layers and 512 dimensions with known answers (see keyed_llama.py), which is made in
the work folder on first use. Passages, questions, processes and clock are the same as in engines.py.
`--gpu` measures the real model smollm2 and a Llama of 8 billion weights on a GPU (see gpu.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.bench import gpu, keyed_llama, keyed_model
from scripts.bench.engines import PASSAGES
from scripts.bench.engines_task import demo_pairs
from scripts.bench.engines_worker import PROMPTS, Measured, Task, Way, bench

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
    """A keyed Llama and its pairs, stored in the folder for reuse."""
    if (folder / "task.json").exists():
        return Task.read(folder)
    task = Task(kind, folder / "checkpoint", demo_pairs(passages))
    # Repeat the templates, because real vocabularies encode the words of prompts in few tokens.
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
    arguments = gpu.options(__doc__, "causal").parse_args()
    if arguments.gpu:
        gpu.bench(arguments, ["llama-8b", "smollm2"], ["llama-tiny"])
        return
    shape, passages = dict(keyed_llama.SMALL), PASSAGES
    ways: Sequence[Way] = WAYS
    if arguments.smoke:
        shape |= {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
        # A model of this size gives other replies in 8 bits.
        ways, passages = tuple(way for way in WAYS if not way.compute_type), 2

    def make(folder: Path, kind: str) -> Task:
        return make_task(folder / f"{kind}-{shape['hidden_size']}-{passages}", kind, shape, passages)

    bench(arguments, make, ways, lambda _, results: table(results))


if __name__ == "__main__":
    main()
