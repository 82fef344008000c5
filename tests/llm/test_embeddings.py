"""Vectors of tokens for BERTScore, against transformers itself, on small checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions
from exam_pp.llm.embeddings import TokenEmbedder

TEXTS = ["The Moon pulls the oceans.", "", "Tides rise twice a day. " * 40, "The Moon pulls the oceans.", "5"]


@pytest.mark.parametrize("layer", [1, 2])
def test_the_vectors_are_the_hidden_states_of_the_layer(nli_checkpoint: Path, layer: int) -> None:
    embedder = TokenEmbedder(ModelOptions(str(nli_checkpoint)), layer)
    model = AutoModel.from_pretrained(nli_checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(nli_checkpoint)
    made = embedder.vectors(TEXTS)
    for text, vectors in zip(TEXTS, made, strict=True):
        inputs = tokenizer(text.strip(), truncation=True, max_length=128, return_tensors="pt")
        with torch.inference_mode():
            states = model(**inputs, output_hidden_states=True).hidden_states[layer][0]
        assert vectors.vectors == pytest.approx(states.double().numpy(), abs=1e-5)
        inner = len(inputs["input_ids"][0]) - 2
        assert vectors.weights.tolist() == [0.0, *[1.0] * inner, 0.0]
        assert (vectors.tokens_cut > 0) == (text == TEXTS[2])
    assert embedder.provenance()["layer"] == layer


def test_t5_like_models_have_an_encoder(checkpoints: dict[str, Path]) -> None:
    embedder = TokenEmbedder(ModelOptions(str(checkpoints["keyed"])))
    vectors, empty = embedder.vectors(["The Moon pulls the oceans.", ""])
    assert vectors.vectors.shape[0] == len(vectors.weights) > 1
    assert np.isfinite(vectors.vectors).all()
    assert len(empty.weights) == 1


def test_a_layer_that_the_model_lacks(nli_checkpoint: Path) -> None:
    with pytest.raises(ModelError, match="no layer 3; its layers are 1 to 2"):
        TokenEmbedder(ModelOptions(str(nli_checkpoint)), 3)
    assert TokenEmbedder(ModelOptions(str(nli_checkpoint))).layer == 2
