"""Small checkpoints for tests: with keyed answers, and flat ones whose hypotheses nearly tie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from scripts.bench import keyed_model  # noqa: E402 - needs torch
from tests.llm import small_models  # noqa: E402

# Tests run in parallel processes, whose threads would slow each other down.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def texts(demo_data: Path) -> list[str]:
    """A few fixed sentences to train tokenizers, of eight queries."""
    lines = (demo_data / "passages.tsv").read_text("utf-8").splitlines(keepends=True)
    return re.split(r"(?<=[.!?])\s+", "".join(lines[:161]))


@pytest.fixture(scope="session")
def prompts(texts: list[str]) -> list[str]:
    return [" ".join(texts[i * 7 : i * 7 + 1 + i % 5]) for i in range(24)]


@pytest.fixture(scope="session")
def conversion_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", autouse=True)
def _cache(conversion_cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("EXAM_PP_CACHE", str(conversion_cache))
        yield


@pytest.fixture(scope="session")
def checkpoints(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], prompts: list[str]
) -> dict[str, Path]:
    """``keyed`` replies like a grader; ``flat`` gives long replies whose hypotheses nearly tie."""
    folders: dict[str, Path] = {}
    tokenizer = keyed_model.make_tokenizer(texts, 3000)
    for name, kind, flatten in (("keyed", "rating", 1.0), ("flat", "extraction", 0.35)):
        model = keyed_model.make_model(tokenizer, keyed_model.TINY, seed=3)
        answers = keyed_model.grader_answers(len(prompts), kind, prompts)
        keyed_model.key_answers(model, tokenizer, prompts, answers)
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight * flatten)
        folders[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(folders[name])
        tokenizer.save_pretrained(folders[name])
    return folders


@pytest.fixture(scope="session")
def causal_checkpoints(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], prompts: list[str]
) -> dict[str, Path]:
    """``chat`` and ``plain`` reply like graders; ``flat`` gives long replies with near ties."""
    folders: dict[str, Path] = {}
    for name, kind, flat in (("chat", "rating", 1.0), ("plain", "rating", 1.0), ("flat", "extraction", 0.3)):
        tokenizer = small_models.byte_tokenizer(texts, chat=name != "plain")
        answers = keyed_model.grader_answers(len(prompts), kind, prompts)
        folders[name] = tmp_path_factory.mktemp(name)
        small_models.save_llama(folders[name], tokenizer, prompts, answers, flat)
    return folders


@pytest.fixture(scope="session")
def qa_checkpoint(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("qa")
    small_models.save_bert_qa(folder, texts)
    return folder


@pytest.fixture(scope="session")
def nli_checkpoint(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("nli")
    small_models.save_bert_classifier(folder, texts, ["entailment", "neutral", "contradiction"])
    return folder


@pytest.fixture(scope="session")
def t5_qa_checkpoint(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    """A T5-style model for extractive question answering, whose tokenizer does not insert its ``<cls>``."""
    folder = tmp_path_factory.mktemp("t5-qa")
    small_models.save_t5_qa(folder, texts)
    return folder
