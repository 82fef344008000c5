"""Task of `engines.py`: pairs of the demo collection, and a checkpoint with known replies to them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import T5ForConditionalGeneration

from scripts.bench import keyed_model
from scripts.bench.engines_worker import PROMPTS, Task

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"
QUESTIONS = 8
_ANSWER_LOGIT, _OTHER_LABEL_LOGIT = 14.0, 10.0
_WRONG_TOKEN_WEIGHT = 0.05
"""Small, because a few hundred dimensions cannot fit all answers and all corrections of wrong tokens."""


def make_task(folder: Path, kind: str, shape: dict[str, int], *, passages: int) -> Task:
    """A keyed checkpoint and its pairs, stored in the folder for reuse."""
    if (folder / "task.json").exists():
        return Task.read(folder)
    texts = keyed_model.project_texts()
    # Repeat the templates, because FLAN-T5 encodes the words of instructions in few tokens.
    texts += [line for prompt in PROMPTS.values() for line in prompt.template.splitlines()] * 30
    tokenizer = keyed_model.make_tokenizer(texts)
    model = keyed_model.make_model(tokenizer, shape)
    task = Task(kind, folder / "checkpoint", demo_pairs(passages))
    answers = keyed_model.grader_answers(len(task.pairs), kind, [passage for passage, _ in task.pairs])
    key_replies(model, tokenizer, task, answers)
    model.save_pretrained(task.checkpoint)
    tokenizer.save_pretrained(task.checkpoint)
    task.save()
    return task


def demo_pairs(passages: int) -> list[tuple[str, str]]:
    """Passages of the demo, shortest first within a query, each with eight questions of its query."""
    banks = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text("utf-8").splitlines()]
    lines = [line.split("\t", 1) for line in (DEMO / "passages.tsv").read_text("utf-8").splitlines()]
    texts = {
        bank["query_id"]: sorted((t for key, t in lines if key.startswith(f"{bank['query_id']}-")), key=len)
        for bank in banks
    }
    questions = {bank["query_id"]: [item["question_text"] for item in bank["items"]] for bank in banks}
    chosen = [
        (texts[query][turn], query)
        for turn in range(max(map(len, texts.values())))
        for query in texts
        if turn < len(texts[query]) and len(questions[query]) >= QUESTIONS
    ]
    return [
        (text, question) for text, query in chosen[:passages] for question in questions[query][:QUESTIONS]
    ]


def key_replies(
    model: T5ForConditionalGeneration, tokenizer: Any, task: Task, answers: Sequence[str], seed: int = 0
) -> None:
    """Solve the output layer for the answers (in place), so that beam search ends as with a real grader.

    In addition to :func:`keyed_model.key_answers`, all labels of the scale are likely first tokens, and a
    reply ends after a label or a wrong token; free text continues after a wrong token as if it were correct.
    Otherwise all beams except the first would run to the length limit.
    """
    chance = random.Random(seed)
    labels = [tokenizer(label)["input_ids"] for label in PROMPTS[task.kind].labels]
    states, target_rows = [], []
    for pair, answer in zip(task.pairs, answers, strict=True):
        inputs = tokenizer(task.text(*pair), return_tensors="pt", return_token_type_ids=False)
        with torch.inference_mode():
            encoded = model.get_encoder()(**inputs)
            lessons = _lessons(tokenizer(answer)["input_ids"], labels, len(tokenizer), chance)
            for weight, decoder_input, targets in lessons:
                hidden = model(
                    encoder_outputs=encoded,
                    decoder_input_ids=torch.tensor([decoder_input]),
                    output_hidden_states=True,
                ).decoder_hidden_states[-1][0]
                for position, logits in targets.items():
                    states.append(weight * hidden[position].double())
                    row = torch.zeros(model.config.vocab_size, dtype=torch.float64)
                    row[list(logits)] = torch.tensor(list(logits.values()), dtype=torch.float64)
                    target_rows.append(weight * row)
    features = torch.stack(states)
    gram = features.T @ features
    ridge = 1e-8 * gram.diagonal().mean() * torch.eye(len(gram), dtype=torch.float64)
    solution = torch.linalg.solve(gram + ridge, features.T @ torch.stack(target_rows)).T.contiguous()
    # A new parameter instead of new data, because recent transformers tie the output layer to the embeddings.
    model.lm_head.weight = torch.nn.Parameter(solution.to(torch.float32), requires_grad=False)


def _lessons(
    answer: list[int], labels: list[list[int]], vocabulary: int, chance: random.Random
) -> Iterator[tuple[float, list[int], dict[int, dict[int, float]]]]:
    """Tuples of weight, decoder input, and target logits by position and token."""
    end, start = answer[-1], 0
    true = {position: {token: _ANSWER_LOGIT} for position, token in enumerate(answer)}
    true[0] = {label[0]: _OTHER_LABEL_LOGIT for label in labels} | true[0]
    yield 1.0, [start, *answer[:-1]], true
    for label in labels:
        yield 1.0, [start, *label[:-1]], {i: {t: _ANSWER_LOGIT} for i, t in enumerate(label) if i > 0}
    for _ in range(3 if labels else 2):
        at, wrong = chance.randrange(len(answer)), chance.randrange(3, vocabulary)
        rest = [end] if labels else answer[at + 1 :]
        targets = {at + 1 + i: {token: _ANSWER_LOGIT} for i, token in enumerate(rest)}
        yield _WRONG_TOKEN_WEIGHT, [start, *answer[:at], wrong, *rest[:-1]], targets
