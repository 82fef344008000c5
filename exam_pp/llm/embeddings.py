"""Vectors of the tokens of texts from a layer of a local encoder, for BERTScore."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from exam_pp._version import __version__
from exam_pp.errors import ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.batch_plan import plan_batches
from exam_pp.llm.checkpoint import ModelCheckpoint, PlacedModel, longest_input
from exam_pp.llm.encoding import clean

if TYPE_CHECKING:
    import numpy

UNLIMITED_TOKENS = 512
"""Default limit of models with relative positions, which is that of most encoders."""

_SPACE_FIRST = {"roberta", "gpt2"}
"""Model types with byte-level tokens, whose first word bert-score encodes with a space before it."""

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 4096, 65536


class TokenVectors(NamedTuple):
    """The vectors of a text's tokens.

    ``vectors`` has the shape (tokens, dimensions). ``weights`` are 0 for the special tokens at both ends and
    1 for all others, as in bert-score. ``tokens_cut`` counts the tokens beyond the model's limit.
    """

    vectors: numpy.ndarray[Any, Any]
    weights: numpy.ndarray[Any, Any]
    tokens_cut: int


class EncoderCheckpoint(ModelCheckpoint):
    """A checkpoint with an encoder, whatever its head; of T5-like models, the encoder alone is used."""

    pipeline = "feature-extraction"

    @property
    def _loader(self) -> str:
        return "AutoModel"

    def _check_pipeline(self) -> None:
        """Accept every architecture: its head is not used."""

    def _check_weights(self, missing: Collection[str], unexpected: Collection[str]) -> None:
        # Heads are unexpected, and checkpoints of masked language models lack the pooler.
        super()._check_weights([name for name in missing if "pooler" not in name], [])


class TokenEmbedder:
    """A local encoder that returns the vectors of tokens from one of its layers.

    ``layer``: The layer, from 1; None: the last one.
    """

    def __init__(self, options: ModelOptions, layer: int | None = None) -> None:
        import torch

        self._torch = torch
        self._checkpoint = EncoderCheckpoint(options)
        self._tokenizer = self._checkpoint.tokenizer
        self._limit = longest_input(self._checkpoint, UNLIMITED_TOKENS)
        self._placed = PlacedModel(self._checkpoint)
        model = self._placed.model
        self._model = model.get_encoder() if self._checkpoint.config.is_encoder_decoder else model
        layers = int(self._checkpoint.config.num_hidden_layers)
        self.name = options.model
        self.layer = layer or layers
        if not 1 <= self.layer <= layers:
            raise ModelError(
                f"The model {options.model!r} has no layer {layer}; its layers are 1 to {layers}."
            )
        usual = _GPU_BATCH_TOKENS if self._placed.on_gpu else _CPU_BATCH_TOKENS
        self._batch_tokens = options.batch_tokens or usual

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the vectors."""
        return {
            **self._checkpoint.identity,
            **self._placed.provenance(),
            "layer": self.layer,
            "max_input_tokens": self._limit,
            "exam_pp": __version__,
        }

    def vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text, in order; equal texts are encoded once."""
        unique = list(dict.fromkeys(texts))
        space = " " if self._checkpoint.config.model_type in _SPACE_FIRST else ""
        encoded = [
            self._tokenizer(space + clean(text).strip(), verbose=False)["input_ids"] for text in unique
        ]
        short = [self._shortened(ids) for ids in encoded]
        made: dict[str, TokenVectors] = {}
        for batch in plan_batches([len(ids) for ids in short], self._batch_tokens):
            for index, vectors in zip(batch, self._run([short[index] for index in batch]), strict=True):
                cut = len(encoded[index]) - len(short[index])
                made[unique[index]] = TokenVectors(vectors, self._weights(short[index]), cut)
        return [made[text] for text in texts]

    def _shortened(self, ids: list[int]) -> list[int]:
        """The ids within the limit; the special token at the end is kept."""
        over = len(ids) - self._limit
        if over <= 0:
            return ids
        last = ids[-1:] if ids[-1] in self._tokenizer.all_special_ids else []
        return ids[: self._limit - len(last)] + last

    def _weights(self, ids: Sequence[int]) -> numpy.ndarray[Any, Any]:
        import numpy as np

        ignored = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}
        return np.array([float(token not in ignored) for token in ids])

    def _run(self, rows: Sequence[Sequence[int]]) -> list[numpy.ndarray[Any, Any]]:
        torch = self._torch
        longest = max(map(len, rows))
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        with torch.inference_mode():
            output = self._model(
                input_ids=ids.to(self._placed.device),
                attention_mask=mask.to(self._placed.device),
                output_hidden_states=True,
            )
        states = output.hidden_states[self.layer].double().cpu().numpy()
        return [states[index, : len(row)] for index, row in enumerate(rows)]
