"""Network of the bundled grader: a small T5 whose initial weights contain circuits for matching and copying.

The residual stream has three parts: *content* (a random vector per word stem), *trail* (the decaying sum of
the contents of the preceding tokens, for copying), and *flags*. The heads are initialised as follows:

* encoder layer 1: one head computes the trail, one detects whether the context mark is to the left;
* encoder layer 2: equal tokens of entry and passage attend to each other; without an equal token they attend
  to the context mark;
* encoder layer 3: one head collects the matches of the neighbourhood;
* decoder: self-attention computes the trail of the written tokens, and cross-attention finds the position
  with the same trail. This copies correctly even if a passage repeats text, which would confuse a match of
  the last one or two tokens. One head pools the matched flags of the entry.

All weights except the relative position biases are trained from this start.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from transformers import T5Config, T5ForConditionalGeneration

from . import data, tokenizer

CONTENT, TRAIL, FLAGS = 96, 72, 24
D_MODEL = CONTENT + TRAIL + FLAGS
FLAG_AT = CONTENT + TRAIL
(ONE, IS_CONTEXT, WORTH, CASED, STARTS, ENDS, IS_MARK, IN_PASSAGE, MATCHED, ASKED, NEARBY) = range(
    FLAG_AT, FLAG_AT + 11
)
HEADS, D_KV = 5, 72
TRAIL_HEAD, LEFT_HEAD, MATCH_HEAD, BACK_HEAD, LOCAL_HEAD = range(HEADS)
FADE = 0.75  # weight of a token in the trail, relative to the next token


def make_config(vocabulary: tokenizer.Vocabulary, layers: int = 3, d_ff: int = 256) -> T5Config:
    """The configuration of a T5 that is small enough for the package."""
    return T5Config(
        vocab_size=-(-len(vocabulary.pieces) // 8) * 8, d_model=D_MODEL, d_kv=D_KV, d_ff=d_ff,
        num_layers=layers, num_decoder_layers=2, num_heads=HEADS, dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, initializer_factor=1.0,
    )  # fmt: skip


def _offsets(attention: Any, bidirectional: bool) -> torch.Tensor:
    """A representative relative position (key minus query) for each bucket."""
    buckets: int = attention.relative_attention_num_buckets
    positions = torch.arange(-200, 201)
    indexes = attention._relative_position_bucket(positions, bidirectional=bidirectional, num_buckets=buckets)
    first: dict[int, int] = {}
    for position, bucket in sorted(
        zip(positions.tolist(), indexes.tolist(), strict=True), key=lambda x: abs(x[0])
    ):
        first.setdefault(bucket, position)
    return torch.tensor([first.get(b, 0) for b in range(buckets)])


def _set_biases(model: T5ForConditionalGeneration) -> None:
    """Fix the position biases of the heads: decaying left, all left, everything (twice), neighbourhood."""
    for stack, both in ((model.encoder, True), (model.decoder, False)):
        attention = stack.block[0].layer[0].SelfAttention
        offset = _offsets(attention, both)
        bias = torch.zeros(len(offset), HEADS)
        last = -1 if both else 0  # the input at a decoder position is the token before the predicted token
        bias[:, TRAIL_HEAD] = torch.where(offset > last, -30.0, (last - offset) * math.log(FADE))
        bias[:, LEFT_HEAD] = torch.where(offset > 0, -30.0, 0.0)
        bias[:, LOCAL_HEAD] = -offset.abs().float() / 6
        attention.relative_attention_bias.weight.copy_(bias)
        attention.relative_attention_bias.weight.requires_grad_(False)


def _rows(head: int, start: int = 0, stop: int = D_KV) -> slice:
    return slice(head * D_KV + start, head * D_KV + stop)


def _orthogonal(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """Orthonormal rows (or columns, whichever are fewer)."""
    square = torch.randn(max(rows, columns), max(rows, columns), generator=generator)
    basis: torch.Tensor = torch.linalg.qr(square)[0]
    return basis[:rows, :columns].contiguous()


def _embed(
    model: T5ForConditionalGeneration, vocabulary: tokenizer.Vocabulary, generator: torch.Generator
) -> None:
    """Initialise the embeddings: random content for each stem, and flags from the word lists."""
    weight = model.shared.weight
    weight.zero_()
    contents: dict[str, torch.Tensor] = {}
    for i, (piece, base, cased) in enumerate(
        zip(vocabulary.pieces, vocabulary.base, vocabulary.cased, strict=True)
    ):
        if base not in contents:
            contents[base] = torch.randn(CONTENT, generator=generator)
        own = torch.randn(CONTENT, generator=generator)  # distinguishes forms of a stem
        weight[i, :CONTENT] = contents[base] if piece == base else 0.9 * contents[base] + 0.45 * own
        if piece == tokenizer.PAD:  # also the start token of the decoder, before any token is written
            weight[i, :CONTENT] = 0.0
        weight[i, ONE] = 1.0
        worth = data.WORTH.get(base.removeprefix("Ġ"), 1.0) if base.startswith("Ġ") else 0.4
        mark = len(piece) == 3 and piece.startswith("î")
        letters = piece.removeprefix("Ġ").isalnum() and not mark and i > 2
        weight[i, WORTH] = 2 * worth if letters else -1.0
        weight[i, CASED] = 1.5 if cased else -1.0
        weight[i, STARTS] = 1.0 * piece.startswith("Ġ")
        weight[i, ENDS] = 3.0 * (piece in ".?!;")
        weight[i, IS_MARK] = 3.0 * mark
    weight[vocabulary.pieces.index(tokenizer.spelled(tokenizer.CONTEXT)), IS_CONTEXT] = 6.0


def _encoder_circuits(model: T5ForConditionalGeneration, generator: torch.Generator) -> torch.Tensor:
    """Initialise the heads for trail, segment and matching; returns the projection of the trail."""
    project = _orthogonal(TRAIL, CONTENT, generator)
    first, second, third = (model.encoder.block[i].layer[0].SelfAttention for i in range(3))
    first.q.weight[_rows(TRAIL_HEAD)] *= 0.1
    first.v.weight[_rows(TRAIL_HEAD), :CONTENT] = 1.5 * project
    first.o.weight[CONTENT:FLAG_AT, _rows(TRAIL_HEAD)] = torch.eye(TRAIL)
    at = _rows(LEFT_HEAD, 0, 1)
    first.q.weight[at, ONE], first.k.weight[at, IS_CONTEXT] = 1.0, 1.0
    first.v.weight[at, IS_CONTEXT], first.o.weight[IN_PASSAGE, at] = 0.5, 1.0
    for head, toward in ((MATCH_HEAD, 1.0), (BACK_HEAD, -1.0)):
        same = _orthogonal(68, CONTENT, generator) * math.sqrt(18 / 68)
        second.q.weight[_rows(head, 0, 68), :CONTENT] = same
        second.k.weight[_rows(head, 0, 68), :CONTENT] = same
        side = _rows(head, 68, 69)
        second.q.weight[side, ONE], second.k.weight[side, IN_PASSAGE] = 2.0, 1.0 * toward
        second.k.weight[side, IS_CONTEXT] = 0.8 if toward > 0 else 1.4
        hit = _rows(head, 69, 70)
        second.v.weight[hit, IN_PASSAGE] = toward
        second.v.weight[hit, ONE] = 0.0 if toward > 0 else 3.0
        second.v.weight[hit, IS_CONTEXT] = -0.5
        second.o.weight[MATCHED if toward > 0 else ASKED, hit] = 1.0
    near = _rows(LOCAL_HEAD, 0, 1)
    third.v.weight[near, ASKED], third.o.weight[NEARBY, near] = 1.0, 2.0
    return project


def _decoder_circuits(
    model: T5ForConditionalGeneration, project: torch.Tensor, generator: torch.Generator
) -> None:
    """Initialise the heads for copying and for pooling the entry's matches."""
    own = model.decoder.block[0].layer[0].SelfAttention
    own.q.weight[_rows(TRAIL_HEAD)] *= 0.1
    own.v.weight[_rows(TRAIL_HEAD), :CONTENT] = 1.5 * project
    own.o.weight[CONTENT:FLAG_AT, _rows(TRAIL_HEAD)] = torch.eye(TRAIL)
    carry = _orthogonal(CONTENT, CONTENT, generator)
    for block in model.decoder.block:
        cross = block.layer[1].EncDecAttention
        for i, head in enumerate((MATCH_HEAD, BACK_HEAD)):
            look = _rows(head, 0, 70)
            cross.q.weight[look], cross.k.weight[look] = 0.0, 0.0
            cross.q.weight[look, CONTENT : CONTENT + 70] = 2.0 * torch.eye(70)
            cross.k.weight[look, CONTENT : CONTENT + 70] = 1.5 * torch.eye(70)
            near = _rows(head, 70, 71)
            cross.q.weight[near, ONE], cross.k.weight[near, NEARBY] = 1.0, 1.0
            part = carry[i * CONTENT // 2 : (i + 1) * CONTENT // 2]
            cross.v.weight[_rows(head, 0, CONTENT // 2), :CONTENT] = part
            cross.o.weight[:CONTENT, _rows(head, 0, CONTENT // 2)] = 2.5 * part.T
            form = _rows(head, CONTENT // 2, CONTENT // 2 + 2)
            cross.v.weight[form, CASED : STARTS + 1] = torch.eye(2)
            cross.o.weight[CASED : STARTS + 1, form] = 5.0 * torch.eye(2)
        pool = _rows(LOCAL_HEAD, 0, 1)
        cross.q.weight[pool, ONE], cross.k.weight[pool, IN_PASSAGE], cross.k.weight[pool, WORTH] = (
            2.0,
            -2.0,
            1.0,
        )
        cross.v.weight[pool, MATCHED], cross.o.weight[MATCHED, pool] = 1.0, 1.0


def make_model(
    vocabulary: tokenizer.Vocabulary, seed: int, layers: int = 3, d_ff: int = 256
) -> T5ForConditionalGeneration:
    """A model with initial weights; the same seed gives the same model."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = T5ForConditionalGeneration(make_config(vocabulary, layers, d_ff))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "shared" not in name and "lm_head" not in name:
                weight.copy_(
                    torch.randn(weight.shape, generator=generator) * 0.2 / math.sqrt(weight.shape[1])
                )
        _embed(model, vocabulary, generator)
        _set_biases(model)
        _decoder_circuits(model, _encoder_circuits(model, generator), generator)
    return model


def _keep(weight: torch.Tensor, rows: slice | None = None, columns: slice | None = None) -> None:
    """Freeze these rows or columns by zeroing their gradients; momentum steps keep the zeros."""

    def mask(gradient: torch.Tensor) -> torch.Tensor:
        gradient = gradient.clone()
        if rows is not None:
            gradient[rows] = 0.0
        if columns is not None:
            gradient[:, columns] = 0.0
        return gradient

    weight.register_hook(mask)  # type: ignore[no-untyped-call]


def protect_copying(model: T5ForConditionalGeneration) -> None:
    """Freeze the copying circuit, because training would make its sharp attention less sharp."""
    for stack in (model.encoder, model.decoder):
        own = stack.block[0].layer[0].SelfAttention
        for matrix in (own.q, own.k, own.v):
            _keep(matrix.weight, rows=_rows(TRAIL_HEAD))
        _keep(own.o.weight, columns=_rows(TRAIL_HEAD))
    for block in model.decoder.block:
        cross = block.layer[1].EncDecAttention
        for head in (MATCH_HEAD, BACK_HEAD):
            for matrix in (cross.q, cross.k):
                _keep(matrix.weight, rows=_rows(head, 0, 70))
            _keep(cross.v.weight, rows=_rows(head))
            _keep(cross.o.weight, columns=_rows(head))


class Helper(torch.nn.Module):
    """Auxiliary outputs of the encoder: whether an entry word is covered, and a token is in the clause."""

    def __init__(self) -> None:
        super().__init__()
        self.read = torch.nn.Linear(D_MODEL, 2)
        torch.nn.init.zeros_(self.read.weight)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.read(states)
        return scores
