"""Damaged model folders, and what `exam-pp grade` or `exam-pp score-answers` does with each of them.

Usage: python -m scripts.reliability.damaged_models [NAME ...] [--every N]

Prints the outcome of every kind of damage, or of those that are named.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

BUNDLED = Path(__file__).resolve().parents[2] / "exam_pp" / "bundled"
LIMIT = 30
"""Seconds within which a command must end."""

Pipeline = str
_SEQ2SEQ, _CAUSAL, _CLASSIFIER = "text2text", "text-generation", "text-classification"


@dataclass(frozen=True)
class Damage:
    """A kind of damage: its name, the pipeline of the model, and the function that changes its folder."""

    name: str
    pipeline: Pipeline
    apply: Callable[[Path], None]


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit code (None if it was stopped after :data:`LIMIT` seconds) and messages."""

    damage: str
    code: int | None
    messages: str
    seconds: float

    @property
    def problem(self) -> str:
        """The problem, or "" for a success and for one sentence with exit code 1."""
        if self.code is None:
            return f"{self.damage}: has not ended after {LIMIT} s"
        if self.code == 0:
            return ""
        lines = self.messages.strip().splitlines()
        if self.code != 1 or len(lines) != 1 or not lines[0].startswith("exam-pp: "):
            return f"{self.damage}: exit code {self.code}: {self.messages[-600:]}"
        return ""


def _json(name: str, **changes: Any) -> Callable[[Path], None]:
    """Change keys of a JSON file; the value ``...`` removes a key."""

    def apply(folder: Path) -> None:
        path = folder / name
        value = json.loads(path.read_text("utf-8")) | changes
        kept = {key: item for key, item in value.items() if item is not ...}
        path.write_text(json.dumps(kept), encoding="utf-8")

    return apply


def _text(name: str, text: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return apply


def _bytes(name: str, data: bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return apply


def _cut(name: str, keep: int) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[:keep])

    return apply


def _tokenizer(**changes: Any) -> Callable[[Path], None]:
    return _json("tokenizer.json", **changes)


def _vocabulary(*entries: object) -> Callable[[Path], None]:
    """Replace the entries of the vocabulary."""

    def apply(folder: Path) -> None:
        path = folder / "tokenizer.json"
        value = json.loads(path.read_text("utf-8"))
        value["model"]["vocab"] = list(entries)
        path.write_text(json.dumps(value), encoding="utf-8")

    return apply


_CONFIG, _GENERATION, _TOKENIZER_CONFIG = "config.json", "generation_config.json", "tokenizer_config.json"

_SEQ2SEQ_CONFIGS: tuple[dict[str, Any], ...] = (
    {"d_model": "x"}, {"d_model": 0}, {"d_model": -1}, {"d_model": 10**12}, {"d_model": None},
    {"d_model": 1.5}, {"d_model": [1]}, {"num_layers": 10**6}, {"num_layers": 10**5},
    {"num_layers": -1}, {"num_layers": 0}, {"num_layers": "x"}, {"num_decoder_layers": 10**6},
    {"num_heads": 10**9}, {"num_heads": 0}, {"vocab_size": 10**13}, {"vocab_size": -5},
    {"vocab_size": "x"}, {"dtype": "x"}, {"dtype": 5}, {"layer_norm_epsilon": "nan"},
    {"layer_norm_epsilon": {}}, {"eos_token_id": "x"}, {"eos_token_id": 10**9},
    {"pad_token_id": -3}, {"pad_token_id": "x"}, {"decoder_start_token_id": "x"},
    {"decoder_start_token_id": 10**9}, {"decoder_start_token_id": [[1]]},
    {"feed_forward_proj": "x"}, {"feed_forward_proj": 3}, {"dropout_rate": "x"},
    {"relative_attention_num_buckets": -2}, {"relative_attention_max_distance": 0},
    {"num_labels": 10**10}, {"id2label": 5}, {"id2label": {"x": "y"}}, {"architectures": 7},
    {"architectures": ["X"]}, {"architectures": [{}]}, {"model_type": "x"}, {"model_type": {}},
    {"model_type": ...}, {"is_encoder_decoder": "x"}, {"quantization_config": 5},
    {"quantization_config": {"quant_method": "x"}}, {"attn_implementation": "x"},
    {"_attn_implementation": "org/kernel"}, {"attn_implementation": "org/kernel"},
    {"attn_implementation": 5}, {"tie_word_embeddings": "x"}, {"n_positions": "x"},
    {"n_positions": -1}, {"auto_map": {"AutoConfig": "x.X"}}, {"torch_dtype": {}},
    {"dense_act_fn": "x"}, {"transformers_version": 7}, {"forced_bos_token_id": "x"},
    {"bad_words_ids": 5},
)  # fmt: skip
_CAUSAL_CONFIGS: tuple[dict[str, Any], ...] = (
    {"num_hidden_layers": 10**6}, {"hidden_size": "x"}, {"max_position_embeddings": "x"},
    {"max_position_embeddings": -1}, {"max_position_embeddings": 10**12}, {"eos_token_id": "x"},
    {"eos_token_id": [[1]]}, {"eos_token_id": 10**9}, {"rope_parameters": 5},
    {"rope_parameters": {"rope_type": "x"}}, {"rms_norm_eps": "x"}, {"head_dim": 10**9},
    {"head_dim": 0}, {"attn_implementation": "org/kernel"}, {"hidden_act": "x"},
)  # fmt: skip
_CLASSIFIER_CONFIGS: tuple[dict[str, Any], ...] = (
    {"id2label": 5}, {"id2label": []}, {"id2label": {}}, {"id2label": {"x": "consistent"}},
    {"id2label": {"7": "consistent"}}, {"id2label": {"-1": "consistent"}},
    {"id2label": {"0": "consistent", "1": "Consistent"}}, {"id2label": {"0": 5, "1": {}}},
    {"num_labels": 5}, {"num_labels": 10**10}, {"num_labels": "x"}, {"problem_type": "x"},
    {"problem_type": 5}, {"problem_type": "multi_label_classification"}, {"problem_type": "regression"},
    {"max_position_embeddings": "x"}, {"max_position_embeddings": -1},
    {"max_position_embeddings": 4}, {"max_position_embeddings": 10**12},
    {"type_vocab_size": 0}, {"type_vocab_size": 10**12}, {"type_vocab_size": "x"},
    {"hidden_size": 17}, {"hidden_size": "x"}, {"num_hidden_layers": 10**6},
    {"num_attention_heads": 0}, {"num_attention_heads": 7}, {"hidden_act": "x"},
    {"pad_token_id": "x"}, {"pad_token_id": 10**9}, {"vocab_size": 5}, {"classifier_dropout": "x"},
    {"architectures": ["BertForMaskedLM"]}, {"architectures": []}, {"model_type": "llama"},
    {"auto_map": {"AutoModelForSequenceClassification": "x.X"}}, {"auto_map": 5}, {"prompt": 5},
    {"foundation": 5}, {"layer_norm_eps": "x"},
)  # fmt: skip
_GENERATION_CONFIGS: tuple[dict[str, Any], ...] = (
    {"max_new_tokens": -1}, {"max_new_tokens": "x"}, {"max_new_tokens": 10**15}, {"num_beams": -3},
    {"num_beams": "x"}, {"cache_implementation": "x"}, {"watermarking_config": 5},
    {"watermarking_config": {"x": 1}}, {"eos_token_id": [[1]]}, {"eos_token_id": "x"},
    {"pad_token_id": {}}, {"bos_token_id": "x"}, {"decoder_start_token_id": "x"},
    {"forced_bos_token_id": [1]}, {"temperature": -1}, {"suppress_tokens": "x"},
)  # fmt: skip
_TOKENIZER_CONFIGS: tuple[dict[str, Any], ...] = (
    {"model_max_length": "x"}, {"model_max_length": -1}, {"model_max_length": []}, {"pad_token": None},
    {"pad_token": {}}, {"pad_token": {"content": 5}}, {"pad_token": "no such token"}, {"eos_token": None},
    {"eos_token": 5}, {"unk_token": None}, {"tokenizer_class": "x"}, {"tokenizer_class": 5},
    {"chat_template": 5}, {"chat_template": "{{ x.y.z }}"}, {"chat_template": "{% for"},
    {"added_tokens_decoder": {"x": 5}}, {"extra_special_tokens": 5},
)  # fmt: skip

_REGEX = {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}
_TOKENIZER_CHANGES: dict[str, Callable[[Path], None]] = {
    "bad regex": _tokenizer(normalizer=_REGEX),
    "charsmap that panics": _tokenizer(
        normalizer={
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(b"\xff\xff\xff\x7f" + bytes(16)).decode(),
        }
    ),
    "charsmap of one byte": _tokenizer(
        normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"\x01").decode()}
    ),
    "charsmap without base64": _tokenizer(
        normalizer={"type": "Precompiled", "precompiled_charsmap": "%%%"}
    ),
    "normalizer of a number": _tokenizer(normalizer=5),
    "no model": _tokenizer(model=None),
    "unknown model": _tokenizer(model={"type": "X"}),
    "no vocabulary": _vocabulary(),
    "vocabulary of numbers": _vocabulary(1, 2),
    "vocabulary of one token": _vocabulary(["a", 0.0]),
    "added tokens out of range": _tokenizer(added_tokens=[{"id": 10**9, "content": "x"}]),
    "negative truncation": _tokenizer(truncation={"max_length": -1}),
    "a list": _text("tokenizer.json", "[]"),
    "no JSON": _text("tokenizer.json", "{"),
    "deep JSON": _text("tokenizer.json", "[" * 100_000),
}  # fmt: skip

_FILES: dict[str, Callable[[Path], None]] = {
    f"{name}: {kind}": change
    for name in (_CONFIG, _GENERATION, _TOKENIZER_CONFIG)
    for kind, change in {
        "a list": _text(name, "[]"),
        "empty": _text(name, ""),
        "no JSON": _text(name, "{"),
        "deep JSON": _text(name, "[" * 100_000),
        "null": _text(name, "null"),
        "a huge integer": _text(name, '{"model_type": "t5", "x": ' + "9" * 5000 + "}"),
    }.items()
} | {
    "model.safetensors: cut off": _cut("model.safetensors", 5000),
    "model.safetensors: empty": _cut("model.safetensors", 0),
    "model.safetensors: a huge header": _bytes("model.safetensors", b"\xff" * 7 + b"\x7f{}"),
    "model.safetensors: missing": lambda folder: (folder / "model.safetensors").unlink(),
}


def damages() -> Iterator[Damage]:
    """Every kind of damage."""
    for pipeline, configs in ((_SEQ2SEQ, _SEQ2SEQ_CONFIGS), (_CAUSAL, _CAUSAL_CONFIGS)):
        files = {_CONFIG: configs, _GENERATION: _GENERATION_CONFIGS, _TOKENIZER_CONFIG: _TOKENIZER_CONFIGS}
        for name, kinds in files.items():
            for changes in kinds:
                yield Damage(f"{pipeline}, {name}: {_shown(changes)}", pipeline, _json(name, **changes))
    for name, configs in ((_CONFIG, _CLASSIFIER_CONFIGS), (_TOKENIZER_CONFIG, _TOKENIZER_CONFIGS)):
        for changes in configs:
            damage = f"{_CLASSIFIER}, {name}: {_shown(changes)}"
            yield Damage(damage, _CLASSIFIER, _json(name, **changes))
    for name, apply in _TOKENIZER_CHANGES.items():
        yield Damage(f"{_SEQ2SEQ}, tokenizer.json: {name}", _SEQ2SEQ, apply)
    for name, apply in _FILES.items():
        yield Damage(f"{_SEQ2SEQ}, {name}", _SEQ2SEQ, apply)


def _shown(changes: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {'missing' if value is ... else json.dumps(value)}" for key, value in changes.items()
    )


def make_models(folder: Path) -> dict[Pipeline, Path]:
    """Copy the bundled grader, and make a causal model and a classifier: tiny, random, with its tokenizer."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

    folders = {
        _SEQ2SEQ: folder / "seq2seq",
        _CAUSAL: folder / "causal",
        _CLASSIFIER: folder / "classifier",
    }
    for target in folders.values():
        shutil.copytree(BUNDLED, target)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=11944, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=2048, bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folders[_CAUSAL])
    of_classifier = BertConfig(
        vocab_size=11944, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=512, pad_token_id=0, id2label={0: "hallucinated", 1: "consistent"},
        label2id={"hallucinated": 0, "consistent": 1},
    )  # fmt: skip
    BertForSequenceClassification(of_classifier).save_pretrained(folders[_CLASSIFIER])
    (folders[_CLASSIFIER] / "generation_config.json").unlink(missing_ok=True)
    answer = (
        '{"paragraph_id": "s/q", "text": "It was opened in 1932.", "paragraph_data": {"judgments": [], '
        '"rankings": [{"method": "s", "paragraphId": "s/q", "queryId": "q", "rank": 1, "score": 1, '
        '"role": "answer", "citations": ["p"]}]}}'
    )
    passage = '{"paragraph_id": "p", "text": "The bridge was opened in 1932."}'
    (folder / "answers.jsonl").write_text(f'["q", [{answer}, {passage}]]\n', encoding="utf-8")
    (folder / "passages.jsonl").write_text(
        '["q", [{"paragraph_id": "p", "text": "The bridge was opened in 1932."}]]\n', encoding="utf-8"
    )
    entry = {
        "query_id": "q",
        "question_id": "q/1",
        "question_text": "When was the bridge opened?",
        "gold_answers": ["1932"],
    }
    bank = {"test_collection": "c", "query_id": "q", "query_text": "a query"}
    (folder / "bank.jsonl").write_text(json.dumps(bank | {"items": [entry]}) + "\n", encoding="utf-8")
    return folders


def tried(damage: Damage, models: dict[Pipeline, Path], engine: str = "transformers") -> Outcome:
    """Grade a passage or score an answer with a damaged copy of a model, in a child of this process.

    A child process needs no second for the import of torch, which this process has imported.
    """
    source = models[damage.pipeline]
    with tempfile.TemporaryDirectory(dir=source.parent) as name:
        model = Path(name) / "model"
        shutil.copytree(source, model)
        damage.apply(model)
        log = Path(name) / "messages"
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _grade(model, damage.pipeline, engine, log)
        code = _wait(child, started)
        return Outcome(damage.name, code, log.read_text("utf-8", "replace"), time.monotonic() - started)


def _grade(model: Path, pipeline: Pipeline, engine: str, log: Path) -> None:
    """Replace this process by a grading, or by a scoring of answers."""
    from exam_pp.cli.main import main

    code = 1
    try:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
        os.environ["EXAM_PP_CACHE"] = str(model.parent / "cache")
        os.chdir(model.parent.parent)
        rates = ["grade", "passages.jsonl", "--bank", "bank.jsonl", "--max-tokens", "4", "--prompt-class",
                 "QuestionSelfRatedUnanswerablePromptWithChoices", "--engine", engine]  # fmt: skip
        scores = ["score-answers", "answers.jsonl", "--positive-class", "consistent"]
        main(
            [*(scores if pipeline == _CLASSIFIER else rates), "-q", "--model", str(model),
             "--model-pipeline", pipeline, "-o", str(model.parent / "out.jsonl")]
        )  # fmt: skip
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:  # noqa: BLE001 - the traceback is the outcome
        import traceback

        traceback.print_exc()
        code = 99
    finally:
        os._exit(code)


def _wait(child: int, started: float) -> int | None:
    while time.monotonic() - started < LIMIT:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main(names: Sequence[str], every: int = 1) -> None:
    with tempfile.TemporaryDirectory() as folder:
        models = make_models(Path(folder))
        wrong = 0
        for damage in islice(damages(), 0, None, every):
            if names and not any(name in damage.name for name in names):
                continue
            outcome = tried(damage, models)
            wrong += bool(outcome.problem)
            first = (outcome.messages.strip().splitlines() or [""])[-1]
            mark = "PROBLEM" if outcome.problem else "ok"
            print(
                f"{mark:8}{outcome.code} {outcome.seconds:5.1f} s  {damage.name}: {first[:250]}", flush=True
            )
    print(f"{wrong} problems")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only damages whose names contain one of these texts")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th damage")
    options = parser.parse_args()
    main(options.names, options.every)
