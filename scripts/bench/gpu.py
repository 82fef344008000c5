"""Measurement of grading on a GPU for `engines.py --gpu` and `causal.py --gpu`.

The ways take turns in one process, because they share the weights of the model, once in float32 and once in
bfloat16. The clock is the wall clock, read when the GPU has finished. Every way grades the first pairs of the
same list, as many as it can in about ``--seconds``; the pairs are in an order in which every start of the
list has about the same mix of lengths. With `--smoke`, tiny models run on the CPU if there is no GPU.

A made model has random weights and known lengths of replies (see `chain_model.py`). Nothing of its weights is
stored; only its config and tokenizer are written to the work folder.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import logging
import os
import platform
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
import transformers

from exam_pp.errors import MissingExtraError
from exam_pp.graders.make import RATING_TOKENS
from exam_pp.judges import SMOLLM2
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm.causal import CausalCheckpoint, CausalLLM, shared_start
from exam_pp.llm.checkpoint import ModelCheckpoint
from exam_pp.llm.encoding import PromptEncoder
from exam_pp.llm.huggingface import Checkpoint, TransformersEngine
from exam_pp.llm.seq2seq import Seq2SeqLLM
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Request
from scripts.bench import chain_model, keyed_llama, keyed_model
from scripts.bench.engines_task import QUESTIONS, demo_pairs
from scripts.bench.engines_worker import PROMPTS, PUBLISHED_LENGTH, Measured, Way, parser_of, verdict_of
from scripts.bench.flops import PEAKS, Work, peak_of, work_of

RATIO, SHARE = 25.0, 0.35
"""Targets: pairs a second over those of the published loop, and share of the peak in bfloat16."""
PUBLISHED, GREEDY = "published loop", "one prompt at a time, greedy"
EXACT = "exam_pp float32, beam 5"

_LOOPS = (Way(PUBLISHED, inner_batch=1), Way(GREEDY, beams=1, inner_batch=1, dtype="bfloat16"))
_T5: dict[str, Any] = {"dtype": "bfloat16"}
_CHAT: dict[str, Any] = {"dtype": "bfloat16", "beams": 1, "pipeline": "text-generation"}
WAYS = {
    "text2text": (
        *_LOOPS,
        Way(EXACT),
        Way("exam_pp, beam 5", **_T5),
        Way("exam_pp, beam 5, soft", **_T5, soft=True),
        Way("exam_pp, greedy", **_T5, beams=1),
        Way("exam_pp, greedy, soft", **_T5, beams=1, soft=True),
        Way("exam_pp, choose", **_T5, beams=1, choose=True),
    ),
    "text-generation": (
        *_LOOPS,
        Way("exam_pp", **_CHAT),
        Way("exam_pp, soft", **_CHAT, soft=True),
        Way("exam_pp, choose", **_CHAT, choose=True),
    ),
}
"""The ways for each pipeline."""

SHAPES: dict[str, dict[str, Any]] = {
    "flan-t5-large": {
        "d_model": 1024, "d_kv": 64, "d_ff": 2816, "num_layers": 24, "num_heads": 16, "vocab_size": 32128,
    },
    "flan-t5-small": keyed_model.SMALL | {"vocab_size": 32128},
    "t5-tiny": keyed_model.TINY | {"vocab_size": 8192},
    "llama-8b": {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
    },
    "qwen3-8b": {
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 8192,
    },
    "smollm2-shape": {
        "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
        "num_key_value_heads": 3, "vocab_size": 49152, "max_position_embeddings": 8192,
    },
    "llama-tiny": {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 8192, "max_position_embeddings": 8192,
    },
}  # fmt: skip
"""Settings of made models; FLAN-T5 and the Qwen3 and Llama 3 of 8 billion weights have the published ones."""

_PAIRS, _SMOKE_PAIRS = 4096, 16
_PROBE = 64
"""Number of pairs by which a batched way is timed before the rounds."""
_LONG = 3
"""A warm-up that takes this many times the seconds of a round is not repeated."""
_EXTRACTION_LENGTHS = (1, 2, 3, 5, 8, 12, 20)
_ENOUGH_MEMORY = 1.15
"""Memory for the weights in float32, with that of activations, over their bytes."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Subject:
    """A model under measurement, with its weights by dtype on the device.

    ``model`` is its name for exam_pp, which reads config and tokenizer there.
    """

    name: str
    pipeline: str
    model: str
    device: str
    weights: dict[str, Any]
    tokenizer: Any
    batch_tokens: int | None = None

    @property
    def work(self) -> Work:
        """The operations that prompts and replies need."""
        return work_of(self.weights["bfloat16"])

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(weight.numel() for weight in self.weights["bfloat16"].parameters())

    def ids(self, text: str) -> list[int]:
        """The token ids of a prompt."""
        if self.pipeline == "text2text":
            return list(self.tokenizer(text, return_token_type_ids=False)["input_ids"])
        return keyed_llama.rendered(self.tokenizer, text)

    def checkpoint(self, options: ModelOptions) -> ModelCheckpoint:
        """The checkpoint of these options, whose weights are already on the device."""
        kind = Checkpoint if self.pipeline == "text2text" else CausalCheckpoint
        checkpoint: ModelCheckpoint = kind(options)
        checkpoint.placed_model = (  # type: ignore[method-assign]
            lambda dtype, device: self.weights[options.dtype]
        )
        return checkpoint


Pairs = list[tuple[str, str]]


def pairs_of(count: int) -> Pairs:
    """Pairs of passage and question; every start of the list has about the same mix of passage lengths.

    The passages of the demo are few, so their words are also rotated.
    """
    base = demo_pairs(count // QUESTIONS + 1)
    turns = range(0, count, len(base))
    pairs = [(_rotated(passage, turn // len(base)), question) for turn in turns for passage, question in base]
    pairs = sorted(pairs[:count], key=lambda pair: len(pair[0]))
    bits = count.bit_length()
    return [pairs[at] for at in sorted(range(count), key=lambda at: f"{at:0{bits}b}"[::-1])]


def _rotated(text: str, turn: int) -> str:
    words = text.split()
    at = 7 * turn % len(words)
    return " ".join(words[at:] + words[:at])


def made(name: str, kind: str, pairs: Pairs, device: str, work: Path, batch_tokens: int | None) -> Subject:
    """A model of a shape, made on the device, whose replies are labels or 1 to 20 words."""
    shape = SHAPES[name]
    is_t5 = "d_model" in shape
    tokenizer = _tokenizer(is_t5)
    if is_t5:
        end = tokenizer.eos_token_id
        config = transformers.T5Config(
            **shape, num_decoder_layers=shape["num_layers"], feed_forward_proj="gated-gelu", dropout_rate=0.0,
            tie_word_embeddings=False, decoder_start_token_id=0, pad_token_id=0, eos_token_id=end,
            architectures=["T5ForConditionalGeneration"],
        )  # fmt: skip
    else:
        end = tokenizer.convert_tokens_to_ids("<|im_end|>")
        qwen = "head_dim" in shape
        config = (transformers.Qwen3Config if qwen else transformers.LlamaConfig)(
            **shape, bos_token_id=None, eos_token_id=end, pad_token_id=None, tie_word_embeddings=False,
            architectures=["Qwen3ForCausalLM" if qwen else "LlamaForCausalLM"],
        )  # fmt: skip
    folder = work / f"{name}-{kind}"
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    half = chain_model.make_model(config, device, torch.bfloat16)
    weights = {"bfloat16": half}
    subject = Subject(
        name,
        "text2text" if is_t5 else "text-generation",
        str(folder),
        device,
        weights,
        tokenizer,
        batch_tokens,
    )
    prompts = [subject.ids(text_of(kind, pair)) for pair in pairs[:_PROBE]]
    chain_model.set_replies(half, prompts, _chains(kind, tokenizer, end))
    _add_float32(subject)
    return subject


@cache
def _tokenizer(is_t5: bool) -> Any:
    """A tokenizer that encodes the words of the demo and of the prompts in few tokens, as real ones do."""
    demo = [text for pair in demo_pairs(10**6) for text in pair]
    texts = [*dict.fromkeys(demo), *[prompt.template for prompt in PROMPTS.values()] * 30]
    return keyed_model.make_tokenizer(texts) if is_t5 else keyed_llama.byte_tokenizer(texts, True, 8000, 8192)


def _chains(kind: str, tokenizer: Any, end: int) -> list[list[int]]:
    """The token ids of all replies: the labels of the scale, or 1 to 20 words."""
    labels = PROMPTS[kind].labels
    if labels:
        return [[*tokenizer(label, add_special_tokens=False)["input_ids"], end] for label in labels]
    words = sorted(
        token_id
        for token, token_id in tokenizer.get_vocab().items()
        if token[:1] in "▁Ġ" and len(token) > 3 and token[1:].isascii() and token[1:].isalpha()
    )
    chosen = iter(random.Random(0).sample(words, sum(_EXTRACTION_LENGTHS)))
    return [[*(next(chosen) for _ in range(length)), end] for length in _EXTRACTION_LENGTHS]


def real(device: str, batch_tokens: int | None) -> Subject:
    """The real model smollm2; raises MissingExtraError if its package is not installed."""
    checkpoint = CausalCheckpoint(ModelOptions(SMOLLM2))
    model = checkpoint.model(torch.bfloat16).to(device)
    weights = {"bfloat16": model}
    subject = Subject(
        SMOLLM2, "text-generation", SMOLLM2, device, weights, checkpoint.tokenizer, batch_tokens
    )
    _add_float32(subject)
    return subject


def _add_float32(subject: Subject) -> None:
    """Add the same weights in float32, if they fit into the memory of the GPU."""
    if subject.device == "cuda":
        free, _ = torch.cuda.mem_get_info()
        if free < 4 * _ENOUGH_MEMORY * subject.parameters:
            log.warning("The weights of %s in float32 do not fit into the GPU's memory", subject.name)
            return
    subject.weights["float32"] = copy.deepcopy(subject.weights["bfloat16"]).float()


def text_of(kind: str, pair: tuple[str, str]) -> str:
    """The prompt for a pair."""
    values = {"context": pair[0], "question": pair[1]}
    return "".join(part.text for part in PROMPTS[kind].render(values))


def requests_of(kind: str, pairs: Pairs, way: Way) -> list[Request]:
    """The requests of a grading, with the reading policy that is the default for the pipeline."""
    prompt, chats = PROMPTS[kind], way.pipeline == "text-generation"
    return [
        Request(
            prompt.render({"context": passage, "question": question}),
            prompt.labels if way.soft or way.choose else (),
            RATING_TOKENS if chats and prompt.labels else DEFAULT_MAX_NEW_TOKENS,
            one_line=True,
            search=prompt.label_search("chat" if chats else "default"),
        )
        for passage, question in pairs
    ]


Run = Callable[[int], list[str]]
"""Grades this number of pairs and returns the replies."""


def loop(subject: Subject, way: Way, kind: str, pairs: Pairs) -> Run:
    """The published loop: a call of `generate` for every prompt, with at most 512 tokens in a reply."""
    model = subject.weights[way.dtype]
    ends = {model.config.eos_token_id, subject.tokenizer.eos_token_id}
    decoding = transformers.GenerationConfig(
        num_beams=way.beams,
        early_stopping=way.beams > 1,
        do_sample=False,
        max_new_tokens=PUBLISHED_LENGTH - 1,
        eos_token_id=sorted(ends),
        pad_token_id=subject.tokenizer.pad_token_id,
        decoder_start_token_id=getattr(model.config, "decoder_start_token_id", None),
    )

    def reply(pair: tuple[str, str]) -> str:
        ids = torch.tensor([subject.ids(text_of(kind, pair))], device=subject.device)
        output = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=decoding)[0]
        start = 0 if subject.pipeline == "text2text" else ids.shape[1]
        return str(subject.tokenizer.decode(output[start:], skip_special_tokens=True)).strip()

    def run(count: int) -> list[str]:
        with torch.inference_mode():
            return [reply(pair) for pair in pairs[:count]]

    return run


def own(subject: Subject, way: Way, kind: str, pairs: Pairs, engine_of: Any = TransformersEngine) -> Run:
    """exam_pp's own batches; caches of tokens start empty in every round, as in a run of the program."""
    requests = requests_of(kind, pairs, way)
    options = ModelOptions(
        subject.model,
        pipeline=subject.pipeline,
        device=subject.device,
        dtype=way.dtype,
        engine="transformers",
        num_beams=way.beams,
        batch_tokens=subject.batch_tokens,
        choose=way.choose,
    )

    checkpoint = subject.checkpoint(options)

    def llm() -> LLM:
        if not isinstance(checkpoint, Checkpoint):
            assert isinstance(checkpoint, CausalCheckpoint)
            return CausalLLM(checkpoint)
        encoder = PromptEncoder(checkpoint.tokenizer, checkpoint.max_input_tokens)
        engine = engine_of(options, checkpoint)
        return Seq2SeqLLM(options, encoder, engine, checkpoint.identity, checkpoint.max_new_tokens)

    def run(count: int) -> list[str]:
        replies = dict(llm().generate(requests[:count]))
        failed = next((reply.error for reply in replies.values() if reply.error), None)
        if failed:
            raise SystemExit(f"{subject.name}, {way.name}: {failed}")
        return [replies[index].text for index in range(len(replies))]

    return run


def clocked(subject: Subject, run: Run, count: int) -> dict[str, Any]:
    """Wall seconds until the GPU has finished, and the replies."""
    _wait_for(subject.device)
    start = time.perf_counter()
    replies = run(count)
    _wait_for(subject.device)
    return {"wall": time.perf_counter() - start, "replies": replies}


def _wait_for(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def count_of(subject: Subject, way: Way, run: Run, pairs: Pairs, seconds: float) -> int:
    """Warm a way up; returns how many pairs it grades in these seconds, at least 1."""
    probe = 1 if way.is_published else min(_PROBE, len(pairs))
    wall = float(clocked(subject, run, probe)["wall"])
    if wall < _LONG * seconds:
        wall = float(clocked(subject, run, probe)["wall"])
    count = max(1, min(len(pairs), int(seconds / wall * probe)))
    if count > probe and not way.is_published:
        clocked(subject, run, count)  # full batches load other kernels and take more memory than the probe
    return count


def measure(subject: Subject, kind: str, pairs: Pairs, rounds: int, seconds: float) -> list[Measured]:
    """Measure the ways in turn in every round."""
    ways = [
        way
        for way in WAYS[subject.pipeline]
        if way.dtype in subject.weights and (PROMPTS[kind].labels or not (way.soft or way.choose))
    ]
    runs = [(loop if way.is_published else own)(subject, way, kind, pairs) for way in ways]
    counts = [count_of(subject, way, run, pairs, seconds) for way, run in zip(ways, runs, strict=True)]
    results = [Measured(way, "wall") for way in ways]
    for _ in range(rounds):
        for result, run, count in zip(results, runs, counts, strict=True):
            result.rounds.append(clocked(subject, run, count))
    return results


def operations(subject: Subject, kind: str, pairs: Pairs, result: Measured) -> float:
    """The operations that the replies of a way need, by the formula of `flops.py`."""
    work, way = subject.work, result.way
    prompts = [subject.ids(text_of(kind, pair)) for pair in pairs[: len(result.replies)]]
    shared = len(shared_start(prompts)) if len(prompts) > 1 else 0
    replies = [
        1 if way.choose else len(subject.tokenizer(reply, add_special_tokens=False)["input_ids"]) + 1
        for reply in result.replies
    ]
    needed = [
        work.of(len(prompt), reply, way.beams, shared) for prompt, reply in zip(prompts, replies, strict=True)
    ]
    return sum(needed)


def agreement(result: Measured, other: Measured | None) -> str:
    """The number of equal replies as ``EQUAL/ALL``; "" without the other way.

    A reply that is the start of the other one is equal: ratings of chat models end when they are known.
    """
    if other is None or result is other:
        return ""
    both = list(zip(result.replies, other.replies, strict=False))
    equal = sum(a == b or bool(a and b and (a.startswith(b) or b.startswith(a))) for a, b in both)
    return f"{equal}/{len(both)}"


def record_of(
    subject: Subject, kind: str, pairs: Pairs, results: Sequence[Measured], peak: float | None
) -> list[dict[str, Any]]:
    """The figures of the ways, for JSON and tables; ``peak`` is in TFLOPS."""
    by_name = {result.way.name: result for result in results}
    published = by_name.get(PUBLISHED)
    records = []
    for result in results:
        needed = operations(subject, kind, pairs, result)
        records.append(
            {
                "way": result.way.name,
                "dtype": result.way.dtype,
                "beams": result.way.beams,
                "pairs": len(result.replies),
                "seconds": [row["wall"] for row in result.rounds],
                "spread": result.spread,
                "pairs_per_second": result.rate,
                "ratio": result.rate / published.rate if published else None,
                "teraflops": needed / result.seconds / 1e12,
                "share_of_peak": needed / result.seconds / 1e12 / peak if peak else None,
                "same_as_published": agreement(result, published),
                "same_as_greedy": agreement(result, by_name.get(GREEDY)),
                "replies": result.replies,
            }
        )
    return records


def table(records: Sequence[dict[str, Any]]) -> str:
    """The figures as a Markdown table."""
    lines = [
        "| way | dtype | pairs | pairs/s | vs published | TFLOPS | share of peak | same as published "
        "| same as greedy | spread |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in records:
        cells = [
            row["way"],
            row["dtype"],
            str(row["pairs"]),
            f"{row['pairs_per_second']:.1f}",
            "" if row["ratio"] is None else f"{row['ratio']:.1f}",
            f"{row['teraflops']:.2f}",
            "" if row["share_of_peak"] is None else f"{row['share_of_peak']:.1%}",
            row["same_as_published"],
            row["same_as_greedy"],
            f"{row['spread']:.0%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdicts(results: Sequence[Measured], records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The targets for the ways of exam_pp in bfloat16, and equal replies in float32."""
    by_name = {result.way.name: result for result in results}
    rows: list[dict[str, Any]] = []
    for result, record in zip(results, records, strict=True):
        way, published = result.way, by_name.get(PUBLISHED)
        if way.is_published or way.dtype != "bfloat16":
            continue
        ratio, share = record["ratio"], record["share_of_peak"]
        verdict = "no verdict: float32 does not fit"
        if published is not None:
            verdict = verdict_of(ratio, RATIO, float("inf"), result, published)
        rows.append(
            {"target": f"{way.name} / {PUBLISHED}", "measured": ratio, "required": RATIO, "verdict": verdict}
        )
        verdict = "no verdict: unknown peak"
        if share is not None:
            verdict = verdict_of(share, SHARE, float("inf"), result)
        rows.append(
            {"target": f"{way.name}: share of peak", "measured": share, "required": SHARE, "verdict": verdict}
        )
    if EXACT in by_name:
        exact, published = by_name[EXACT], by_name[PUBLISHED]
        rows.append(
            {
                "target": f"{EXACT}: replies of the {PUBLISHED}",
                "measured": agreement(exact, published),
                "required": "all",
                "verdict": "met" if exact.is_same_as(published) else "**not met**",
            }
        )
    return rows


def verdict_table(rows: Sequence[dict[str, Any]]) -> str:
    """The targets as a Markdown table."""
    lines = ["| target | measured | required | verdict |", "|---|---:|---:|---|"]
    for row in rows:
        cells = [_number(row["measured"]), _number(row["required"])]
        lines.append(f"| {row['target']} | {cells[0]} | {cells[1]} | {row['verdict']} |")
    return "\n".join(lines)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return "" if value is None else str(value)


def options(description: str | None, name: str) -> argparse.ArgumentParser:
    """The options of a benchmark that can run on a GPU."""
    parser = parser_of(description, name)
    group = parser.add_argument_group("on a GPU")
    group.add_argument("--gpu", action="store_true", help="measure on the first GPU by wall clock")
    group.add_argument("--shapes", help=f"comma-separated names: {', '.join([SMOLLM2, *SHAPES])}")
    group.add_argument("--seconds", type=float, default=4.0, help="time for each way and round (default: 4)")
    group.add_argument(
        "--peak", type=float, metavar="TFLOPS", help=f"of bfloat16; known for {', '.join(PEAKS)}"
    )
    group.add_argument("--batch-tokens", type=int, help="padded tokens in a batch of exam_pp")
    return parser


def context_of(device: str) -> dict[str, Any]:
    """Device and versions, as the context of the numbers."""
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    versions |= {"transformers": transformers.__version__}
    if not device.startswith("cuda"):
        return {"device": "CPU", **versions}
    properties = torch.cuda.get_device_properties(0)
    memory = f"{properties.total_memory / 2**30:.0f} GiB"
    return {"device": properties.name, "memory": memory, "cuda": torch.version.cuda, **versions}


def bench(arguments: argparse.Namespace, shapes: Sequence[str], smoke_shapes: Sequence[str]) -> None:
    """Measure every task on every shape, print Markdown, and write JSON after every task.

    ``shapes`` and ``smoke_shapes`` are measured without ``--shapes``.
    """
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not arguments.smoke:
        raise SystemExit("torch finds no GPU: add --smoke to run tiny models on the CPU.")
    chosen = arguments.shapes.split(",") if arguments.shapes else smoke_shapes if arguments.smoke else shapes
    context = context_of(device)
    peak = arguments.peak or peak_of(context["device"])
    pairs = pairs_of(_SMOKE_PAIRS if arguments.smoke else _PAIRS)
    record: dict[str, Any] = {"environment": context, "peak_teraflops": peak, "results": []}
    print(", ".join(f"{key} {value}" for key, value in context.items()), f"; peak {peak} TFLOPS", flush=True)
    for name in chosen:
        for kind in arguments.tasks.split(","):
            begin = time.perf_counter()
            subject = _subject(name, kind, pairs, device, arguments)
            if subject is None:
                continue
            results = measure(
                subject, kind, pairs, 1 if arguments.smoke else arguments.rounds, arguments.seconds
            )
            records = record_of(subject, kind, pairs, results, peak)
            rows = verdicts(results, records)
            tokens = fmean(len(subject.ids(text_of(kind, pair))) for pair in pairs[:_PROBE])
            heading = {"shape": subject.name, "task": kind, "parameters": subject.parameters}
            heading |= {"prompt_tokens": tokens, "total_seconds": time.perf_counter() - begin}
            print(
                f"\n### {subject.name} ({subject.parameters / 1e6:,.0f} million weights), {kind}, prompts of "
                f"{tokens:.0f} tokens ({heading['total_seconds']:.0f} s)\n\n{table(records)}\n\n"
                f"{verdict_table(rows)}",
                flush=True,
            )
            record["results"].append({**heading, "ways": records, "verdicts": rows})
            if arguments.json:
                arguments.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
            del subject
            gc.collect()
            if device == "cuda":
                torch.cuda.empty_cache()


def _subject(
    name: str, kind: str, pairs: Pairs, device: str, arguments: argparse.Namespace
) -> Subject | None:
    """The model of a name; None for the real model if it is not installed."""
    if name == SMOLLM2:
        try:
            return real(device, arguments.batch_tokens)
        except MissingExtraError as error:
            print(f"\n{error} Not measured here; --shapes smollm2-shape has its size.", flush=True)
            return None
    if name not in SHAPES:
        raise SystemExit(f"No shape named {name!r}: use {', '.join([SMOLLM2, *SHAPES])}.")
    return made(name, kind, pairs, device, arguments.work, arguments.batch_tokens)
