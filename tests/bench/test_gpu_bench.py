"""The benchmarks on a GPU: the same code on tiny models, its count of operations, and lengths of replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
from transformers import LlamaConfig, T5Config  # noqa: E402

from scripts.bench import chain_model, engines, gpu  # noqa: E402
from scripts.bench.flops import Work, peak_of, work_of  # noqa: E402

CONFIGS = {
    "t5": T5Config(
        **gpu.SHAPES["t5-tiny"], num_decoder_layers=2, feed_forward_proj="gated-gelu", dropout_rate=0.0,
        tie_word_embeddings=False, decoder_start_token_id=0,
    ),
    "llama": LlamaConfig(**gpu.SHAPES["llama-tiny"], tie_word_embeddings=False),
}  # fmt: skip
CHAINS = [[5, 1], [6, 7, 1], [8, 9, 10, 11, 1], [12, 1], [13, 1], [14, 15, 1]]


def made(name: str) -> Any:
    model = chain_model.make_model(CONFIGS[name], "cpu", torch.float32)
    model.set_attn_implementation("eager")  # torch does not count the operations of faster attention
    for stack in (model.encoder, model.decoder) if name == "t5" else ():
        stack.config._attn_implementation = "eager"  # transformers 5.17 does not pass it on
    return model


def test_the_operations_of_a_decoder_are_those_that_torch_counts() -> None:
    model, tokens, reply = made("llama"), 20, 3
    work = work_of(model)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        cache = model.base_model(torch.ones(1, tokens, dtype=torch.long), use_cache=True).past_key_values
        for _ in range(reply - 1):
            cache = model.base_model(
                torch.ones(1, 1, dtype=torch.long), past_key_values=cache, use_cache=True
            ).past_key_values
    # torch counts attention to later tokens, and not the output layer, which this pass does not run.
    later = 4 * work.attention * (tokens**2 - tokens * (tokens + 1) / 2)
    counted = counter.get_total_flops() - later + 2 * work.output * reply
    # transformers before 5.4 computes the angles of positions as a product of matrices, which counts, too.
    assert work.of(tokens, reply) == pytest.approx(counted, rel=1e-3)


def test_the_operations_of_t5_are_those_that_torch_counts() -> None:
    model, tokens = made("t5"), 20
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        model(
            input_ids=torch.ones(1, tokens, dtype=torch.long),
            decoder_input_ids=torch.zeros(1, 1, dtype=torch.long),
        )
    assert work_of(model).of(tokens, 1) == counter.get_total_flops()


def test_beams_and_a_shared_start_count_once() -> None:
    work = Work(prompt=1000, reply=1000, output=50, attention=10, is_encoder_decoder=False)
    one, five = work.of(30, 4), work.of(30, 4, beams=5)
    read = 2 * 1000 * 30 + 4 * 10 * 30 * 31 / 2
    assert five - read == 5 * (one - read)
    assert one - work.of(30, 4, shared=10) == 2 * 1000 * 10 + 4 * 10 * 10 * 11 / 2


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H200", 989.0),
        ("NVIDIA H100 PCIe", 756.0),
        ("NVIDIA A100-SXM4-80GB", 312.0),
        ("NVIDIA L40S", 362.0),
        ("NVIDIA A10G", 70.0),
        ("NVIDIA RTX A4000", None),
    ],
)
def test_the_peak_of_a_gpu(name: str, peak: float | None) -> None:
    assert peak_of(name) == peak


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("beams", [1, 5])
def test_every_reply_of_a_made_model_is_one_of_its_chains(name: str, beams: int) -> None:
    model = made(name)
    random = torch.Generator().manual_seed(1)
    prompts = [[*torch.randint(100, 8000, (40,), generator=random).tolist(), 3] for _ in range(8)]
    chain_model.set_replies(model, prompts, CHAINS)
    replies = set()
    for prompt in prompts:
        output = model.generate(
            torch.tensor([prompt]), num_beams=beams, num_return_sequences=min(beams, 3), max_new_tokens=30,
            do_sample=False, early_stopping=beams > 1, eos_token_id=1, pad_token_id=0,
        )  # fmt: skip
        start = 1 if name == "t5" else len(prompt)
        rows = [row[start:].tolist() for row in output]
        replies |= {tuple(row[: row.index(1) + 1]) for row in rows}
    assert replies <= {tuple(chain) for chain in CHAINS}
    assert len(replies) > 1


def smoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> Any:
    """The results of a tiny run, in this process."""
    output = tmp_path / "results.json"
    command = ["engines", "--gpu", "--smoke", "--work", str(tmp_path / "work"), "--json", str(output)]
    monkeypatch.setattr("sys.argv", [*command, "--seconds", "0.05", "--peak", "100", *options])
    engines.main()
    return json.loads(output.read_text())
