"""Causal models on CTranslate2: refused models, requests for the engine, and cached instructions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import Part, Request
from tests.llm.asking import LABELS, answers, ask, texts
from tests.llm.test_causal import options

pytest.importorskip("ctranslate2")

SHORT_INSTRUCTION = (
    "Rate from 0 to 5 how well the passage answers the question; reply with the number alone. Passage: "
)


def fast(folder: Path, **more: Any) -> ModelOptions:
    return ModelOptions(str(folder), **{"pipeline": "text-generation", "engine": "ctranslate2", **more})


def instructed(text: str, labels: tuple[str, ...] = LABELS, instruction: str = SHORT_INSTRUCTION) -> Request:
    parts = (Part(instruction), Part(text, "context", may_be_cut=True))
    return Request(parts if instruction else parts[1:], labels, 16, one_line=True)


_WINDOW = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 64}
_DYNAMIC = {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}}


@pytest.mark.parametrize(("changes", "message"), [(_WINDOW, r"\b64\b"), (_DYNAMIC, r"\(dynamic\)")])
def test_models_are_refused_whose_errors_short_prompts_do_not_show(
    causal_checkpoints: dict[str, Path], tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = shutil.copytree(causal_checkpoints["plain"], tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(ModelError, match=f"CTranslate2 .*{message}"):
        load_llm(fast(folder))
    assert load_llm(fast(folder, engine="auto")).provenance()["engine"] == "transformers"


def test_the_engine_is_used_only_on_request(causal_checkpoints: dict[str, Path]) -> None:
    folder = causal_checkpoints["chat"]
    assert load_llm(fast(folder, engine="auto")).provenance()["engine"] == "transformers"
    provenance = load_llm(fast(folder, engine="auto", compute_type="float32")).provenance()
    assert (provenance["engine"], provenance["dtype"]) == ("ctranslate2", "float32")
    with pytest.raises(ModelError, match="greedy"):
        load_llm(fast(folder, num_beams=3))


def test_the_number_of_cached_instructions_is_limited(
    causal_checkpoints: dict[str, Path], prompts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine never frees cached prefixes, so their number must not grow with the prompts."""
    monkeypatch.setattr("exam_pp.plugins.ctranslate2.causal._MAX_PREFIXES", 1)
    llm: Any = load_llm(fast(causal_checkpoints["plain"]))
    second = "Say how much of the question the following text answers, as a number from 0 to 5. Text: "
    instructions = (SHORT_INSTRUCTION, second, "")
    requests = [instructed(text, (), instruction) for instruction in instructions for text in prompts[:2]]
    replies = answers(llm, requests)
    assert len(llm._kept) == 1
    reference = options(causal_checkpoints["plain"])
    assert texts(replies) == texts(ask(reference, requests))
