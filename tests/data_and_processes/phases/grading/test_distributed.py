"""Process groups and SIGTERM, with real processes and the fake model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal, journal_path, rank_journals
from tests.conftest import REPOSITORY

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


ACCELERATE = [sys.executable, "-m", "accelerate.commands.accelerate_cli"]


WriteLines = Callable[[str, list[Any]], Path]


# Ends itself by a signal at its 20th reply, when the first batch (of 16) is in the journal; in a group, when
# every process has come so far.
ENDED = """
import os, signal, sys, time
from pathlib import Path
from exam_pp.cli.main import main
from exam_pp.llm import fake

quick, replies = fake.lexical_reply, []
rank, size = os.environ.get("RANK", "0"), int(os.environ.get("WORLD_SIZE", 1))

def reply(request):
    replies.append(request)
    if len(replies) == 20:
        Path(os.environ["MARK"] + rank).touch()
        while not all(Path(os.environ["MARK"] + str(one)).exists() for one in range(size)):
            time.sleep(0.01)
        if rank == os.environ["ENDED"]:
            os.kill(os.getpid(), signal.Signals[os.environ["SIGNAL"]])
    return quick(request)

fake.lexical_reply = reply
main(sys.argv[1:])
"""


@pytest.fixture
def many(write_jsonl: WriteLines) -> Path:
    texts = [
        {"paragraph_id": f"p{i}", "text": f"This text number {i % 70} was " + "written " * (i % 9)}
        for i in range(80)
    ]
    return write_jsonl("many.jsonl", [["q1", texts[:50]], ["007", texts[50:]], ["q1", texts[30:]]])


@pytest.fixture
def whole(many: Path, tiny_bank: Path, tmp_path: Path) -> bytes:
    output = tmp_path / "whole.jsonl.gz"
    main(["-q", *command(many, tiny_bank, output)])
    return output.read_bytes()


def command(passages: Path, bank: Path, output: Path, *more: str, model: str = "fake") -> list[str]:
    return ["grade", str(passages), "-o", str(output), "--bank", str(bank), "--model", model,
            "--prompt", RATING, *more]  # fmt: skip


def free_port() -> str:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return str(server.getsockname()[1])


def start(arguments: list[str], mark: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ENDED, *arguments],
        env={**os.environ, "MARK": str(mark), **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


LAUNCHERS = {
    "accelerate": [*ACCELERATE, "launch", "--multi_gpu", "--num_processes", "2", "--main_process_port"],
    "torchrun": [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port"],
}


def launch(
    *arguments: str, launcher: str = "accelerate", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Two processes; without GPUs, accelerate starts a single one unless ``--multi_gpu`` asks for several."""
    return subprocess.run(
        [*LAUNCHERS[launcher], free_port(), *arguments],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("launcher", list(LAUNCHERS))
def test_two_launched_processes_write_the_output_of_a_single_one(
    launcher: str, many: Path, tiny_bank: Path, tmp_path: Path, whole: bytes
) -> None:
    pytest.importorskip("accelerate")
    output = tmp_path / "group.jsonl.gz"
    done = launch("-m", "exam_pp", *command(many, tiny_bank, output), launcher=launcher)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == whole
    assert done.stderr.count("230 pairs graded") == 1  # only rank 0 logs
    assert "UserWarning" not in done.stderr
    assert not list(tmp_path.glob("*.journal*"))


# A real model. The second process dies in the first run, after two batches are in its journal.
MORTAL = """
import os, signal, sys
from pathlib import Path
from exam_pp.cli.main import main
from exam_pp.llm.batched import BatchedLLM

finish, batches = BatchedLLM._finish, []

def mortal(self, *arguments):
    batches.append(arguments)
    mark = Path(os.environ["MARK"])
    if os.environ["RANK"] == "1" and len(batches) == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return finish(self, *arguments)

BatchedLLM._finish = mortal
main(sys.argv[1:])
"""


def test_two_processes_with_a_real_model_continue_after_a_process_died(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, t5_folder: Path
) -> None:
    pytest.importorskip("accelerate")
    texts = [
        {
            "paragraph_id": f"p{i}",
            "text": f"Text number {i} was written by " + f"a clerk of year {i}. " * (i % 9),
        }
        for i in range(30)
    ]
    passages = write_jsonl("texts.jsonl", [["q1", texts], ["007", texts[:10]]])
    alone, output, script = tmp_path / "alone.jsonl.gz", tmp_path / "group.jsonl.gz", tmp_path / "mortal.py"
    options = ["-M", "engine=transformers", "-M", "batch_tokens=400", "--device", "cpu"]
    main(["-q", *command(passages, tiny_bank, alone, *options, model=str(t5_folder))])

    script.write_text(MORTAL, "utf-8")
    grade = [str(script), *command(passages, tiny_bank, output, *options, model=str(t5_folder))]
    runs = [launch(*grade, MARK=str(tmp_path / "mark")) for _ in range(2)]
    assert runs[0].returncode != 0
    assert (tmp_path / "mark").exists()
    assert runs[1].returncode == 0, runs[1].stderr
    assert "Continuing with " in runs[1].stderr
    assert not list(tmp_path.glob("*.journal*"))
    ratings, expected = read_ratings(output), read_ratings(alone)
    assert len(set(expected.values())) > 2
    assert ratings.keys() == expected.keys()
    for key, (text, rating, soft) in ratings.items():
        assert (text, rating) == expected[key][:2]
        assert soft == pytest.approx(expected[key][2], abs=1e-3)


def read_ratings(path: Path) -> dict[tuple[str, str, str], tuple[str, int, float | None]]:
    """Reply, rating and expected rating by query, passage and question."""
    return {
        (query.query_id, passage.passage_id, rating.entry_id): (
            dict(grades.answers)[rating.entry_id],
            rating.self_rating,
            rating.expected,
        )
        for query in read_passages(path)
        for passage in query.passages
        for grades in passage.rubric_grades or ()
        for rating in grades.self_ratings or ()
    }


def test_replies_are_kept_if_a_process_dies(
    many: Path, tiny_bank: Path, tmp_path: Path, whole: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    output = tmp_path / "group.jsonl.gz"
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    group |= {"ENDED": "1", "SIGNAL": "SIGKILL"}
    first, second = (
        start(command(many, tiny_bank, output), tmp_path / "mark", RANK=str(i), **group) for i in (0, 1)
    )
    second.communicate()
    _, stderr = first.communicate()
    assert first.returncode == 1
    assert "repeat the command to continue" in stderr
    assert "Traceback" not in stderr
    assert not output.exists()
    (left,) = rank_journals(journal_path(output))
    with Journal(left) as journal:
        assert len(journal) >= 16
    main(command(many, tiny_bank, output))  # a single process continues the run of two
    assert output.read_bytes() == whole
    assert "Continuing with " in capsys.readouterr().err
    assert not list(tmp_path.glob("*.journal*"))


def test_sigterm_finishes_the_batch_and_the_same_command_continues(
    many: Path, tiny_bank: Path, tmp_path: Path, whole: bytes
) -> None:
    output = tmp_path / "out.jsonl.gz"
    arguments = command(many, tiny_bank, output)
    process = start(arguments, tmp_path / "mark", ENDED="0", SIGNAL="SIGTERM")
    _, stderr = process.communicate()
    assert process.returncode == 143
    assert stderr.strip().splitlines()[-1].startswith("exam-pp: stopped by SIGTERM")
    with Journal(journal_path(output)) as journal:
        assert len(journal) == 32  # the second batch, in which the signal came, was finished
    main(["-q", *arguments])
    assert output.read_bytes() == whole
