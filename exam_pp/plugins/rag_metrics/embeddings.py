"""Vectors of tokens from a layer of a local encoder, for BERTScore, and of sentences as their means."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from exam_pp._version import __version__
from exam_pp.errors import ModelError
from exam_pp.llm.backends import BACKENDS
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.batch_plan import plan_batches
from exam_pp.llm.checkpoint import ModelCheckpoint, PlacedModel, longest_input
from exam_pp.llm.encoding import clean
from exam_pp.llm.similarity import SentenceVector, Side, SimilarityLLM, Text

if TYPE_CHECKING:
    import numpy

UNLIMITED_TOKENS = 512
"""Default limit of models with relative positions, which is that of most encoders."""

_SPACE_FIRST = {"roberta", "gpt2"}
"""Model types with byte-level tokens, whose first word bert-score encodes with a space before it."""

_OTHER_POOLING = {
    f"pooling_mode_{name}"
    for name in ("cls_token", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
}
"""Keys of the pooling of sentence-transformers."""


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

    @property
    def _loader(self) -> str:
        return "AutoModel"

    def _check_pipeline(self) -> None:
        """Accept every architecture: its head is not used."""

    def check_means(self) -> None:
        """Raise ModelError if the files for sentence-transformers ask for other vectors than means."""
        modules = self._json("modules.json") or []
        types = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
        others = [name for name in types if name not in ("Transformer", "Pooling", "Normalize")]
        pooling = next(
            (m.get("path", "") for m in modules if str(m.get("type")).endswith("Pooling")), "1_Pooling"
        )
        settings = self._json(f"{pooling}/config.json") or {}
        others += [key for key, value in settings.items() if value is True and key in _OTHER_POOLING]
        if others:
            raise ModelError(
                f"The model {self.options.model!r} makes sentence vectors with {others[0]}, not as means of "
                "the vectors of tokens: use another model."
            )

    def _json(self, name: str) -> Any:
        """The content of a file of the checkpoint; None if it is missing."""
        from transformers.utils import cached_file

        path = cached_file(
            self.path, name, revision=self.revision,
            _raise_exceptions_for_missing_entries=False, _raise_exceptions_for_connection_errors=False,
        )  # fmt: skip
        return None if path is None else json.loads(Path(path).read_text("utf-8"))

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
        self.checkpoint = EncoderCheckpoint(options)
        self._tokenizer = self.checkpoint.tokenizer
        self._limit = longest_input(self.checkpoint, UNLIMITED_TOKENS)
        self._placed = PlacedModel(self.checkpoint)
        model = self._placed.model
        self._model = model.get_encoder() if self.checkpoint.config.is_encoder_decoder else model
        layers = int(self.checkpoint.config.num_hidden_layers)
        self.name = options.model
        self.layer = layer or layers
        if not 1 <= self.layer <= layers:
            raise ModelError(
                f"The model {options.model!r} has no layer {layer}; its layers are 1 to {layers}."
            )
        self._batch_tokens = options.batch_tokens or self._placed.encoder_batch_tokens

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the vectors."""
        return {
            **self.checkpoint.identity,
            **self._placed.provenance(),
            "layer": self.layer,
            "max_input_tokens": self._limit,
            "exam_pp": __version__,
        }

    def vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text, in order; equal texts are encoded once."""
        unique = list(dict.fromkeys(texts))
        space = " " if self.checkpoint.config.model_type in _SPACE_FIRST else ""
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
        ids, mask = self._placed.padded(rows, self._tokenizer.pad_token_id or 0)
        with self._torch.inference_mode():
            output = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        states = output.hidden_states[self.layer].double().cpu().numpy()
        return [states[index, : len(row)] for index, row in enumerate(rows)]


class SentenceEmbedder:
    """Sentence vectors of a local encoder: the means of the vectors of all tokens, scaled to length 1.

    A text is encoded alone, because padding and other texts change the last digits. ``prefixes`` come before
    the texts of each side.
    """

    def __init__(self, options: ModelOptions, prefixes: Mapping[Side, str]) -> None:
        self._tokens = TokenEmbedder(options)
        self._tokens.checkpoint.check_means()
        self._prefixes = prefixes
        self.name = options.model

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the vectors."""
        prefixes = {f"{side}_prefix": prefix for side, prefix in self._prefixes.items()}
        return {"pipeline": "sentence-similarity", **self._tokens.provenance(), **prefixes}

    def vectors(self, texts: Sequence[Text]) -> Generator[SentenceVector]:
        """The vector of each text, in order."""
        import numpy as np

        for text, side in texts:
            (tokens,) = self._tokens.vectors([self._prefixes[side] + text])
            mean = tokens.vectors.mean(axis=0)
            yield SentenceVector(mean / np.linalg.norm(mean), tokens.tokens_cut)


def load_similarity(options: ModelOptions) -> SimilarityLLM:
    """Load a judge by similarity from a checkpoint; raises :class:`ModelError` without its three settings."""
    if not options.cut_points or options.query_prefix is None or options.passage_prefix is None:
        raise ModelError(
            f"The model {options.model!r} needs -M cut_points with the lowest cosine of each grade from 1 "
            "on, and -M query_prefix and -M passage_prefix, which can be empty."
        )
    prefixes: Mapping[Side, str] = {"query": options.query_prefix, "passage": options.passage_prefix}
    return SimilarityLLM(SentenceEmbedder(options, prefixes), options.cut_points)


BACKENDS.add("sentence-similarity", load_similarity)
