"""Resumable training of the bundled grader, with orthogonalised momentum for matrices."""

from __future__ import annotations

import json
import logging
import math
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.nn import functional
from transformers import GenerationConfig, PreTrainedTokenizerFast, T5ForConditionalGeneration

from . import data, tokenizer
from .model import Helper, make_model, protect_copying

log = logging.getLogger("bundled_grader")
IGNORE = -100
LONGEST_REPLY = 64
LONGEST_PROMPT = 400
CHUNK = 2048  # examples generated at once; a chunk is sorted by length and split into batches


@dataclass(frozen=True)
class Settings:
    """Hyperparameters; together they determine the result."""

    seed: int = 7
    steps: int = 1700
    batch_tokens: int = 3500
    matrix_rate: float = 0.002
    rate: float = 0.001
    warm_up: int = 60
    layers: int = 3
    d_ff: int = 256
    start: str = ""  # checkpoint to start from, with new optimizers


@dataclass
class Batch:
    """Token ids and targets of a training step."""

    source: torch.Tensor
    target: torch.Tensor
    covered: torch.Tensor  # for entry tokens: 1 if their word is in the passage
    clause: torch.Tensor  # for passage tokens: 1 if they are in the clause that answers


_CACHE: dict[str, PreTrainedTokenizerFast] = {}


def _tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer, built once per process."""
    if "tokenizer" not in _CACHE:
        _CACHE["tokenizer"] = tokenizer.build_tokenizer(tokenizer.build_vocabulary())
    return _CACHE["tokenizer"]


def _word_flags(tokens: list[str], stop: int, matched: frozenset[str]) -> list[int]:
    """1 for each entry token before ``stop`` whose word is among the matched stems, else 0."""
    flags = [IGNORE] * len(tokens)
    start = 1
    while start < stop:
        end = start + 1
        while end < stop and tokens[end].isalnum() and not tokens[end].startswith(("Ġ", "î")):
            end += 1
        word = "".join(tokens[start:end]).removeprefix("Ġ").lower()
        if word.isalnum():
            flags[start:end] = [int(tokenizer.stem(word) in matched)] * (end - start)
        start = end
    return flags


def _clause_flags(ids: list[int], start: int, clause: list[int]) -> list[int]:
    """1 for each passage token in the first occurrence of the clause, else 0."""
    flags = [IGNORE] * start + [0] * (len(ids) - start)
    size = len(clause)
    for at in range(start, len(ids) - size + 1) if size else ():
        if ids[at : at + size] == clause:
            flags[at : at + size] = [1] * size
            return flags
    return [IGNORE] * len(ids)


def make_chunk(
    seed: int, number: int, count: int = CHUNK, held_out: bool = False
) -> list[tuple[list[int], ...]]:
    """The examples of a chunk as lists of ids and flags; the same seed and number give the same chunk."""
    made = data.Generator(seed * 1_000_003 + number, held_out)
    examples = [made.example() for _ in range(count)]
    tok = _tokenizer()
    sources = tok([x.source for x in examples], truncation=True, max_length=LONGEST_PROMPT).input_ids
    targets = tok([x.reply for x in examples], truncation=True, max_length=LONGEST_REPLY).input_ids
    clauses = tok([x.clause for x in examples], add_special_tokens=False).input_ids
    marks = {tok.convert_tokens_to_ids(tokenizer.spelled(m)) for m in (tokenizer.CONTEXT, tokenizer.GOLD)}
    rows: list[tuple[list[int], ...]] = []
    for example, source, target, clause in zip(examples, sources, targets, clauses, strict=True):
        middle = next((i for i, x in enumerate(source) if x in marks), len(source))
        covered = _word_flags(tok.convert_ids_to_tokens(source), middle, example.matched)
        rows.append((source, target, covered, _clause_flags(source, middle, clause)))
    return rows


def _pad(rows: list[list[int]], value: int) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


def cut_batches(rows: list[tuple[list[int], ...]], limit: int, seed: int) -> list[Batch]:
    """Split rows of similar length into batches of at most ``limit`` padded tokens, in random order."""
    rows = sorted(rows, key=lambda r: len(r[0]) + 3 * len(r[1]))
    groups: list[list[tuple[list[int], ...]]] = [[]]
    width = 0
    for row in rows:
        size = len(row[0]) + 3 * len(row[1])
        if groups[-1] and max(width, size) * (len(groups[-1]) + 1) > limit:
            groups.append([])
            width = 0
        groups[-1].append(row)
        width = max(width, size)
    order = torch.randperm(len(groups), generator=torch.Generator().manual_seed(seed)).tolist()
    fills = (0, IGNORE, IGNORE, IGNORE)
    return [Batch(*(_pad([r[i] for r in groups[g]], fills[i]) for i in range(4))) for g in order]


def stream(settings: Settings, skip: int = 0) -> Iterator[Batch]:
    """The batches of a run from step ``skip`` on; a second process generates the next chunk in advance."""
    with ProcessPoolExecutor(1) as pool:
        number = step = 0
        coming = pool.submit(make_chunk, settings.seed, number)
        while True:
            rows = coming.result()
            coming = pool.submit(make_chunk, settings.seed, number + 1)
            for batch in cut_batches(rows, settings.batch_tokens, settings.seed + number):
                if step >= skip:
                    yield batch
                step += 1
            number += 1


def _orthogonalise(gradients: torch.Tensor) -> torch.Tensor:
    """Approximate the nearest semi-orthogonal matrices of a stack by five Newton-Schulz steps."""
    x: torch.Tensor = gradients / (gradients.norm(dim=(1, 2), keepdim=True) + 1e-7)
    flip = x.shape[1] > x.shape[2]
    x = x.mT.contiguous() if flip else x
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.mT if flip else x


class MatrixMomentum(torch.optim.Optimizer):
    """Momentum with orthogonalised steps, for the inner matrices; matrices of the same shape are stacked."""

    def __init__(self, parameters: list[torch.nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            shapes: dict[torch.Size, list[torch.nn.Parameter]] = {}
            for weight in group["params"]:
                if weight.grad is not None:
                    shapes.setdefault(weight.shape, []).append(weight)
            for shape, weights in shapes.items():
                steps = []
                for weight in weights:
                    momentum = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                    momentum.mul_(group["momentum"]).add_(weight.grad)
                    steps.append(weight.grad + group["momentum"] * momentum)
                step = group["lr"] * math.sqrt(max(1.0, shape[0] / shape[1]))
                for weight, change in zip(weights, _orthogonalise(torch.stack(steps)), strict=True):
                    weight.sub_(change, alpha=step)


def losses(
    model: T5ForConditionalGeneration, helper: Helper, batch: Batch
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss of the reply, and the loss of the auxiliary outputs."""
    mask = (batch.source != 0).long()
    states = model.encoder(input_ids=batch.source, attention_mask=mask).last_hidden_state
    known = batch.target != IGNORE
    written = model._shift_right(batch.target)
    hidden = model.decoder(
        input_ids=written, encoder_hidden_states=states, encoder_attention_mask=mask, use_cache=False
    ).last_hidden_state
    logits = functional.linear(hidden[known] * model.model_dim**-0.5, model.shared.weight)
    each = functional.cross_entropy(logits, batch.target[known], reduction="none")
    # A token of a reply of n tokens has the weight n ** -0.5, so that long copies do not count n times.
    lengths = known.sum(1, keepdim=True).expand_as(known)[known]
    main = (each * lengths.float().rsqrt()).sum() / len(known)
    aid = helper(states)
    extra = torch.zeros(())
    for i, flags in enumerate((batch.covered, batch.clause)):
        known = flags != IGNORE
        if known.any():
            extra = extra + functional.binary_cross_entropy_with_logits(
                aid[..., i][known], flags[known].float()
            )
    return main, extra


@dataclass
class Trainer:
    """Model, optimizers and the progress of the training."""

    settings: Settings
    work_dir: Path
    step: int = 0
    seconds: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        s = self.settings
        self.model = make_model(tokenizer.build_vocabulary(), s.seed, s.layers, s.d_ff)
        if s.start:
            load_weights(self.model, Path(s.start))
        protect_copying(self.model)
        self.helper = Helper()
        inside = [
            p for n, p in self.model.named_parameters()
            if p.dim() == 2 and p.requires_grad and "shared" not in n and "lm_head" not in n
        ]  # fmt: skip
        taken = {id(p) for p in inside}
        rest = [p for p in self.model.parameters() if p.requires_grad and id(p) not in taken]
        self.optimizers: list[torch.optim.Optimizer] = [
            MatrixMomentum(inside, s.matrix_rate),
            torch.optim.AdamW(
                [*rest, *self.helper.parameters()], lr=s.rate, betas=(0.9, 0.98), weight_decay=0.0
            ),
        ]
        self.inside = inside

    @property
    def state_file(self) -> Path:
        return self.work_dir / "state.pt"

    def save_state(self) -> None:
        """Write the training state atomically, so that a kill leaves a complete file."""
        self.work_dir.mkdir(parents=True, exist_ok=True)
        state = {
            "model": self.model.state_dict(), "helper": self.helper.state_dict(), "step": self.step,
            "optimizers": [o.state_dict() for o in self.optimizers], "seconds": self.seconds,
            "settings": vars(self.settings), "history": self.history,
        }  # fmt: skip
        new = self.state_file.with_suffix(".new")
        torch.save(state, new)
        new.replace(self.state_file)

    def load_state(self) -> None:
        """Continue from the state file; exits if its settings differ."""
        state = torch.load(self.state_file, weights_only=True)
        if state["settings"] != vars(self.settings):
            raise SystemExit(f"{self.state_file} was made with other settings: {state['settings']}")
        self.model.load_state_dict(state["model"])
        self.helper.load_state_dict(state["helper"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.step, self.seconds, self.history = state["step"], state["seconds"], state["history"]

    def _set_rates(self) -> None:
        """Warm up, keep the rate, and decrease it to 0 over the last third."""
        s = self.settings
        share = min(1.0, (self.step + 1) / s.warm_up, (s.steps - self.step) / (s.steps / 3))
        for optimizer, rate in zip(self.optimizers, (s.matrix_rate, s.rate), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * share

    def run(self, save_every: float = 60.0) -> None:
        """Train to the last step."""
        started = saved = time.monotonic()
        before = self.seconds
        recent: list[tuple[float, float]] = []
        batches = stream(self.settings, self.step)
        while self.step < self.settings.steps:
            self._set_rates()
            main, extra = losses(self.model, self.helper, next(batches))
            (main + 0.5 * extra).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.grad is not None], 2.0)
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            self.step += 1
            recent.append((main.item(), float(extra.detach())))
            now = time.monotonic()
            self.seconds = before + now - started
            if self.step % 25 == 0:
                mean = [sum(x) / len(recent) for x in zip(*recent, strict=True)]
                recent.clear()
                self.history.append(
                    {"step": self.step, "seconds": self.seconds, "loss": mean[0], "aid": mean[1]}
                )
                log.info("step %d, %.0f s: loss %.3f, aids %.3f", self.step, self.seconds, *mean)
            if now - saved > save_every:
                self.save_state()
                saved = time.monotonic()
        batches.close()  # type: ignore[attr-defined]
        self.save_state()


def load_weights(model: T5ForConditionalGeneration, checkpoint: Path) -> None:
    """Load the weights of an older checkpoint; initialise marks that it lacks as in :data:`LATER_MARKS`.

    Exits if other pieces differ.
    """
    pieces = tokenizer.build_vocabulary().pieces
    known = PreTrainedTokenizerFast.from_pretrained(checkpoint).get_vocab()
    if sorted(known, key=known.__getitem__) != pieces[: len(known)]:
        raise SystemExit(f"{checkpoint} has other pieces; only the marks at the end may be missing.")
    weights = T5ForConditionalGeneration.from_pretrained(checkpoint, dtype=torch.float32).state_dict()
    old = weights["shared.weight"]
    rows = model.shared.weight.detach().clone()
    rows[: len(known)] = old[: len(known)]
    for mark, like in tokenizer.LATER_MARKS.items():
        if (at := pieces.index(tokenizer.spelled(mark))) >= len(known):
            rows[at] = rows[pieces.index(tokenizer.spelled(like))]
    tied = {name: rows for name, weight in weights.items() if weight.shape == old.shape}
    model.load_state_dict(weights | tied)


def save_checkpoint(model: T5ForConditionalGeneration, out: Path) -> None:
    """Write a checkpoint to a temporary folder, then move its files to ``out`` one by one."""
    temporary = out.with_name(out.name + ".new")
    shutil.rmtree(temporary, ignore_errors=True)
    copy = T5ForConditionalGeneration(model.config)
    copy.load_state_dict(model.state_dict())
    copy.half()
    copy.generation_config = GenerationConfig(
        decoder_start_token_id=0, eos_token_id=1, pad_token_id=0, max_new_tokens=LONGEST_REPLY
    )
    copy.save_pretrained(temporary)
    _tokenizer().save_pretrained(temporary)
    config = json.loads((temporary / "config.json").read_text())
    config["dtype"] = "float32"  # stored in half precision, loaded in single precision
    (temporary / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    out.mkdir(parents=True, exist_ok=True)
    for path in temporary.iterdir():
        path.chmod(0o644)  # safetensors writes files with mode 0600
        path.replace(out / path.name)
    temporary.rmdir()
