"""Conversion for CTranslate2: checked, and repeated if damaged; devices and types."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, huggingface, load_llm
from exam_pp.plugins.ctranslate2 import conversion
from tests.llm.asking import answers, rate

ctranslate2 = pytest.importorskip("ctranslate2")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXAM_PP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctranslate2"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda weights: weights[: len(weights) // 2],
    "zeroed": lambda weights: weights[:50_000] + bytes(50_000) + weights[100_000:],  # answers all the same
    "empty": lambda _weights: b"",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_conversion_is_repeated(
    cache: Path, checkpoints: dict[str, Path], damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = ModelOptions(str(checkpoints["keyed"]), engine="ctranslate2")
    load_llm(options)
    (folder,) = cache.iterdir()
    weights = folder / "model.bin"
    whole = weights.read_bytes()
    weights.write_bytes(DAMAGES[damage](whole))
    assert load_llm(options).provenance()["engine"] == "ctranslate2"
    assert weights.read_bytes() == whole
    load_llm(options)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert sum(str(folder) in warning for warning in warnings) == 1


@pytest.mark.parametrize(
    ("pipeline", "name", "method"),
    [("text2text", "Translator", "translate_batch"), ("text-generation", "Generator", "generate_batch")],
)
def test_a_missing_gpu_library_is_noticed_before_the_first_batch(
    checkpoints: dict[str, Path],
    causal_checkpoints: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    pipeline: Any,
    name: str,
    method: str,
) -> None:
    """CTranslate2 loads GPU libraries when they are first needed."""

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("Library libcublas.so.12 is not found or cannot be loaded")

    without_library = type(name, (getattr(ctranslate2, name),), {method: fails})
    monkeypatch.setattr(ctranslate2, name, without_library)
    folder = checkpoints["keyed"] if pipeline == "text2text" else causal_checkpoints["plain"]
    with pytest.raises(ModelError, match=r"libcublas\.so\.12"):
        load_llm(ModelOptions(str(folder), pipeline, engine="ctranslate2"))
    llm = load_llm(ModelOptions(str(folder), pipeline))
    assert llm.provenance()["engine"] == "transformers"
    assert answers(llm, [rate("a b c", (), 3)])[0].error is None


@pytest.mark.parametrize(
    ("compute_type", "dtype"), [("float32", "float32"), ("bfloat16", "bfloat16"), ("int8_bfloat16", "auto")]
)
def test_long_replies_use_the_same_precision_and_a_device_with_enough_memory(
    checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch, compute_type: str, dtype: str
) -> None:
    llm: Any = load_llm(ModelOptions(str(checkpoints["keyed"]), engine="ctranslate2"))
    engine = llm._engine
    engine._placement = replace(engine._placement, device="cuda", compute_type=compute_type)
    loads: list[tuple[str | None, str]] = []

    class Full:
        def __init__(self, options: ModelOptions, _checkpoint: Any) -> None:
            loads.append((options.device, options.dtype))
            if options.device != "cpu":
                raise ModelError("The model 'm' cannot be loaded: CUDA out of memory.")

    monkeypatch.setattr(huggingface, "TransformersEngine", Full)
    assert isinstance(engine._load_reference(), Full)
    assert loads == [(None, dtype), ("cpu", dtype)]


EXPECTED = [[0.6, 0.3, 0.1 - 1e-8, 1e-8], [0.9, 0.06, 0.04 - 1e-8, 1e-8]]


@pytest.mark.parametrize(
    ("actual", "accepted"),
    [
        (EXPECTED, ["float32", "bfloat16", "float16", "int8"]),
        ([[0.5, 0.35, 0.15 - 1e-7, 1e-7], [0.88, 0.06, 0.06 - 1e-7, 1e-7]], ["bfloat16", "int8"]),
        ([[1 - 3e-40, *[1e-40] * 3]] * 2, []),
        ([[0.25] * 4] * 2, []),
        ([[float("nan")] * 4] * 2, []),
    ],
    ids=["equal", "as SmolLM2-135M rounded to 8 bits", "certainty", "noise", "missing"],
)
@pytest.mark.parametrize("compute_type", ["float32", "bfloat16", "float16", "int8"])
def test_a_conversion_with_other_distributions_is_refused(
    actual: list[list[float]], accepted: list[str], compute_type: str
) -> None:
    log = [torch.tensor(rows, dtype=torch.float64).log() for rows in (actual, EXPECTED)]
    with nullcontext() if compute_type in accepted else pytest.raises(ModelError, match="disagrees"):
        conversion.check_distributions(zip(*log, strict=True), compute_type)


@pytest.mark.parametrize(
    ("options", "device", "compute_type"),
    [
        ({}, "cuda", "float32"),
        ({"device": "cuda:1"}, "cuda", "bfloat16"),
        ({"compute_type": "int8"}, "cuda", "int8"),
        ({"dtype": "float16"}, "cuda", "float16"),
        ({}, "cpu", "float32"),
    ],
)
def test_compute_types(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], device: str, compute_type: str
) -> None:
    """The second GPU supports bfloat16."""
    monkeypatch.setattr(
        ctranslate2, "get_supported_compute_types",
        lambda _device, index=0: {"float32", "float16"} | ({"bfloat16"} if index else set()),
    )  # fmt: skip
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 2)
    model = ModelOptions("m", **options)
    assert conversion.engine_device(model) == "cuda"
    assert conversion.engine_compute_type(model, device) == compute_type
    assert conversion.worker_threads(model, "cuda") == (1, 0)


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_a_wrong_conversion_of_a_seq2seq_model_is_noticed(
    compute_type: str, checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the correction of the tied-embeddings flag the output layer has a wrong scale."""
    monkeypatch.setenv("EXAM_PP_CACHE", str(tmp_path))

    def convert_plainly(checkpoint: Any, folder: Path, compute_type: str) -> None:
        ctranslate2.converters.TransformersConverter(checkpoint.path).convert(
            str(folder), quantization=compute_type, force=True
        )

    monkeypatch.setattr(conversion, "_convert", convert_plainly)
    with pytest.raises(ModelError, match="disagrees"):
        load_llm(ModelOptions(str(checkpoints["keyed"]), engine="ctranslate2", compute_type=compute_type))
    assert not list((tmp_path / "ctranslate2").iterdir())
    assert load_llm(ModelOptions(str(checkpoints["keyed"]))).provenance()["engine"] == "transformers"
