"""Attacks by file names, numbers and damaged model folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from exam_pp.errors import ModelError
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.checkpoint import import_transformers
from scripts.reliability.attacks.attack import Attack
from scripts.reliability.damaged_models import BUNDLED, LIMIT, damages

_DEMO = Path(__file__).resolve().parents[3] / "data" / "demo"
_LATIN_1 = b"K\xf6ln"
_ONE_SENTENCE = "one sentence, exit code 1 or 2"


def _sentence(folder: Path, arguments: Sequence[str | bytes], *, timeout: float = 60) -> tuple[int, str]:
    """Run exam-pp in a folder; returns the exit code and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "exam_pp", "-q", *arguments],
        cwd=folder, capture_output=True, check=False, timeout=timeout,
        env=os.environ | {"PYTHONPATH": str(_DEMO.parents[1])},
    )  # fmt: skip
    return done.returncode, done.stderr.decode("utf-8", "backslashreplace")


def refusal_problem(result: tuple[int, str], named: str = "") -> str:
    """The problem of a result that is not one sentence on standard error with exit code 1 or 2, or ""."""
    code, message = result
    if code not in (1, 2):
        return f"exit code {code}: {message[-300:]}"
    if "Traceback" in message or len(message.splitlines()) != 1:
        return f"not one sentence: {message[-300:]}"
    return "" if named in message else f"{named!r} is not named: {message[-300:]}"


def _run_named_in_latin_1(*arguments: str) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        (folder / "runs").mkdir()
        name = os.fsdecode(_LATIN_1)
        shutil.copy(_DEMO / "runs" / "bm25.run", folder / "runs" / f"{name}.run")
        return refusal_problem(_sentence(folder, arguments), "K\\xf6ln.run")

    return attack


def _argument_in_latin_1(*arguments: str | bytes) -> Callable[[Path], str]:
    return lambda folder: refusal_problem(_sentence(folder, arguments), "K\\xf6ln")


def _odd_number(name: str, text: str, field: str, *arguments: str) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        (folder / name).write_text(text, encoding="utf-8")
        return refusal_problem(_sentence(folder, arguments), f"{name}, line 2, {field}:")

    return attack


DAMAGES = (
    'config.json: d_model "x"',
    "model.safetensors: cut off",
    "config.json: num_layers 1000000",
    "config.json: a list",
    "generation_config.json: a list",
    "generation_config.json: max_new_tokens -1",
    'tokenizer_config.json: model_max_length "x"',
    "tokenizer.json: bad regex",
    "tokenizer.json: charsmap that panics",
)
"""Kinds of damage that are tried here; `python -m scripts.reliability.damaged_models` tries all."""


def _damaged_models(folder: Path) -> str:
    """Load damaged copies of the bundled grader in this process, which imports torch once."""
    import_transformers()
    kinds = {damage.name: damage for damage in damages()}
    for name in DAMAGES:
        model = folder / "model"
        shutil.copytree(BUNDLED, model)
        kinds[f"text2text, {name}"].apply(model)
        started = time.monotonic()
        try:
            load_llm(ModelOptions(str(model), engine="transformers"))
        except ModelError as error:
            if len(str(error).splitlines()) != 1:
                return f"{name}: not one sentence: {error}"
        else:
            return f"{name}: the model was loaded"
        if time.monotonic() - started > LIMIT:
            return f"{name}: took {time.monotonic() - started:.0f} s"
        shutil.rmtree(model)
    return ""


_QRELS = str(_DEMO / "qrels.txt")

ATTACKS: tuple[Attack, ...] = (
    Attack(
        "a run file whose name is not UTF-8: `evaluate judgments`", _ONE_SENTENCE,
        _run_named_in_latin_1("evaluate", "judgments", _QRELS, "--runs", "runs"),
    ),
    Attack(
        "a run file whose name is not UTF-8: `import`", _ONE_SENTENCE,
        _run_named_in_latin_1(
            "import", "--runs", "runs", "--texts", str(_DEMO / "passages.tsv"), "-o", "out.jsonl"
        ),
    ),
    Attack(
        "a run file whose name is not UTF-8: `db`", _ONE_SENTENCE,
        _run_named_in_latin_1("db", "--runs", "runs", "-o", "out.duckdb"),
    ),
    Attack(
        "an argument that is not UTF-8: name of a system", _ONE_SENTENCE,
        _argument_in_latin_1("rename", _QRELS, "--system", b"bm25=" + _LATIN_1, "-o", "out.jsonl"),
    ),
    Attack(
        "an argument that is not UTF-8: SQL", _ONE_SENTENCE,
        _argument_in_latin_1("query", _QRELS, b"SELECT '" + _LATIN_1 + b"'"),
    ),
    Attack(
        "an argument that is not UTF-8: output", _ONE_SENTENCE,
        _argument_in_latin_1("merge", _QRELS, "-o", _LATIN_1 + b".jsonl"),
    ),
    Attack(
        "a rank `1_0` in a run", "file, line and field in one sentence, exit code 1",
        _odd_number(
            "a.run", "q Q0 p 1 2.0 s\nq Q0 p2 1_0 1.0 s\n", "rank",
            "evaluate", "judgments", _QRELS, "--runs", "a.run",
        ),
    ),
    Attack(
        "a grade in full-width digits in qrels", "file, line and field in one sentence, exit code 1",
        _odd_number(
            "qrels.txt", "q 0 p 1\nq 0 p2 ２\n", "grade",
            "evaluate", "judgments", "qrels.txt", "--runs", str(_DEMO / "runs"),
        ),
    ),
    Attack(
        f"a damaged model folder, {len(DAMAGES)} kinds of damage", f"one sentence within {LIMIT} s",
        _damaged_models,
    ),
)  # fmt: skip
