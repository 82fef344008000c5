"""Figures on the held-out split: templates, topical words and attributes that training never uses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from . import data, tokenizer


def answer(checkpoint: Path, prompts: Sequence[str], batch: int = 32, beams: int = 5) -> list[str]:
    """Replies of a checkpoint, decoded as the published method decodes."""
    tok = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    replies = [""] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        inputs = tok(
            [prompts[i] for i in chosen], return_tensors="pt", padding=True, truncation=True, max_length=512
        )
        with torch.inference_mode():
            out = model.generate(
                input_ids=inputs.input_ids, attention_mask=inputs.attention_mask,
                num_beams=beams, early_stopping=True, max_length=512,
            )  # fmt: skip
        for i, reply in zip(chosen, tok.batch_decode(out, skip_special_tokens=True), strict=True):
            replies[i] = reply
    return replies


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _score(example: data.Example, reply: str) -> dict[str, float]:
    """What is counted of one reply."""
    reply, goal = _tidy(reply), _tidy(example.reply)
    found = {"exact": float(reply == goal)}
    if example.mark in (tokenizer.RATE_QUESTION, tokenizer.RATE_NUGGET):
        distance = abs(int(reply) - int(goal)) if reply in {"0", "1", "2", "3", "4", "5"} else 5
        found["within one"] = float(distance <= 1)
        found["is a rating"] = float(reply in {"0", "1", "2", "3", "4", "5"})
    elif example.mark in (tokenizer.ANSWER, tokenizer.EXTRACT):
        found["unanswerable right"] = float((reply == "unanswerable") == (goal == "unanswerable"))
        if reply != "unanswerable":
            found["is a span"] = float(bool(reply) and reply in _tidy(example.passage))
    return found


def held_out_figures(
    checkpoint: Path, seed: int = 1, count: int = 600, held_out: bool = True
) -> dict[str, float]:
    """Means over generated examples, by kind of prompt, e.g. ``rate_question within one``."""
    made = data.Generator(seed + 10_000_019, held_out)
    examples = [made.example() for _ in range(count)]
    sums: dict[str, list[float]] = defaultdict(list)
    for example, reply in zip(examples, answer(checkpoint, [x.source for x in examples]), strict=True):
        for name, value in _score(example, reply).items():
            sums[f"{data.PROMPTS[example.mark]} {name}"].append(value)
    return {name: sum(values) / len(values) for name, values in sorted(sums.items())}
