"""Sentence vectors of a checkpoint for judges by similarity, and vectors of tokens for BERTScore."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import cosine_in
from exam_pp.plugins.rag_metrics.embeddings import TokenEmbedder
from tests.llm.asking import answers
from tests.llm.test_similarity import PASSAGES, QUESTION, request

SETTINGS: dict[str, Any] = {
    "pipeline": "sentence-similarity",
    "cut_points": (0.1, 0.3, 0.5, 0.7, 0.9),
    "query_prefix": "query: ",
    "passage_prefix": "passage: ",
}


def test_a_checkpoint_gives_the_cosine_of_means(nli_checkpoint: Path) -> None:
    llm = load_llm(ModelOptions(str(nli_checkpoint), **SETTINGS))
    model = AutoModel.from_pretrained(nli_checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(nli_checkpoint)

    def mean(text: str) -> torch.Tensor:
        with torch.inference_mode():
            encoded = tokenizer(text, truncation=True, max_length=128, return_tensors="pt")
            states: torch.Tensor = model(**encoded).last_hidden_state[0].double()
            return states.mean(0)

    passages = [passage for passage in PASSAGES if passage.strip()]
    for passage, reply in zip(passages, answers(llm, [*map(request, passages)]), strict=True):
        expected = torch.cosine_similarity(mean(f"query: {QUESTION}"), mean(f"passage: {passage.strip()}"), 0)
        assert cosine_in(reply.text) == pytest.approx(expected.item(), abs=1e-5)
        assert (reply.tokens_cut > 0) == (passage == PASSAGES[-1])
    facts = llm.provenance()
    assert facts["cut_points"] == list(SETTINGS["cut_points"])
    assert (facts["query_prefix"], facts["passage_prefix"]) == ("query: ", "passage: ")


@pytest.mark.parametrize(
    ("file", "content", "name"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "pooling_mode_cls_token"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}], "Dense"),
    ],
)
def test_checkpoints_with_other_vectors_are_refused(
    nli_checkpoint: Path, tmp_path: Path, file: str, content: Any, name: str
) -> None:
    folder = shutil.copytree(nli_checkpoint, tmp_path / "model")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(ModelError, match=f"with {name}, not as means"):
        load_llm(ModelOptions(str(folder), **SETTINGS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs -M cut_points"),
        ({"cut_points": (0.5,), "query_prefix": ""}, "needs -M cut_points .* and -M passage_prefix"),
        (
            {"cut_points": (0.5,), "query_prefix": "", "passage_prefix": "", "engine": "ctranslate2"},
            "cannot be used with --model-pipeline sentence-similarity",
        ),
    ],
)
def test_settings_that_are_needed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_llm(ModelOptions("nobody/nothing", pipeline="sentence-similarity", **options))


# Vectors of tokens for BERTScore

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
