"""The layer of an encoder in its name, in the notation of bert-score."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from exam_pp.llm.base import ModelOptions
from exam_pp.plugins.rag_metrics.commands import _embedder
from exam_pp.plugins.rag_metrics.consistency import default_layer


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None]]:
    """Model and layer of each encoder that is made."""
    found: list[tuple[str, int | None]] = []

    def make(options: ModelOptions, layer: int | None) -> None:
        found.append((options.model, layer))

    monkeypatch.setattr("exam_pp.plugins.rag_metrics.embeddings.TokenEmbedder", make)
    return found


def test_the_layer_follows_the_name(made: list[tuple[str, int | None]]) -> None:
    _embedder("roberta-large_L9", None)
    _embedder("roberta-large", None)
    _embedder("my_Large", None)
    assert made == [
        ("roberta-large", 9),
        ("roberta-large", default_layer("roberta-large")),
        ("my_Large", None),
    ]


def test_a_folder_of_such_a_name_is_the_encoder(made: list[tuple[str, int | None]]) -> None:
    Path("encoder_L9").mkdir()
    _embedder("encoder_L9", None)
    assert made == [("encoder_L9", None)]


def test_layers_are_counted_from_one(made: list[tuple[str, int | None]]) -> None:
    with pytest.raises(click.UsageError, match="roberta-large_L0: layers are counted from 1"):
        _embedder("roberta-large_L0", None)
    assert made == []
