"""Attacks on input files, outputs and folders."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from exam_pp.manifest import SUFFIX
from exam_pp.store.temporary import create_part, create_work_folder, lock_path
from scripts.reliability.attacks.attack import Attack
from scripts.reliability.damaged_models import BUNDLED
from scripts.reliability.fuzz import Ran, run_inside, snapshot
from scripts.reliability.good_files import GOOD, RATED, lay_out

_REFUSED = "one sentence; no file is changed"
_KEPT = "the output is written; the input is kept"
_BANK = "--bank bank.jsonl --model fake"
_GRADE = f"grade graded.jsonl {_BANK}"


def _refused(
    *commands: str, prepare: Callable[[Path], object] = lambda _folder: None
) -> Callable[[Path], str]:
    """An attack whose commands must each end with one sentence, and leave all files as they are."""

    def attack(folder: Path) -> str:
        lay_out(folder)
        prepare(folder)
        before = snapshot(folder)
        for command in commands:
            problem = _refusal_problem(run_inside(folder, command)) or _change(before, snapshot(folder))
            if problem:
                return f"{command}: {problem}"
        return ""

    return attack


def _refusal_problem(ran: Ran) -> str:
    if ran.crash:
        return ran.crash
    if ran.code not in {1, 2}:
        return f"exit code {ran.code}"
    last = ran.message.splitlines()[-1] if ran.message else ""
    return "" if last.startswith(("exam-pp: ", "Error: ")) else f"the message is {ran.message!r}"


def _change(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    return f"changed files: {changed}" if changed else ""


def _kept(command: str, output: str, prepare: Callable[[Path], list[Path]]) -> Callable[[Path], str]:
    """An attack whose command must write its output and keep the files that ``prepare`` returns."""

    def attack(folder: Path) -> str:
        lay_out(folder)
        precious = {path: path.read_bytes() for path in prepare(folder)}
        names = {f"INPUT{number}": path.relative_to(folder) for number, path in enumerate(precious)}
        ran = run_inside(folder, command.format(**names))
        if ran.code or ran.crash:
            return f"exit code {ran.code}: {ran.crash or ran.message}"
        if not (folder / output).exists():
            return "no output"
        return "".join(
            f"{path.name} was changed or removed. "
            for path, content in precious.items()
            if not path.exists() or path.read_bytes() != content
        )

    return attack


def _with_content(path: Path, content: str = GOOD["graded.jsonl"]) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def _leftover(folder: Path) -> list[Path]:
    """What a killed process leaves beside ``out.jsonl``, with the graded file as its content."""
    lock_path(folder / "out.jsonl").touch()
    part, stream = create_part(folder / "out.jsonl")
    stream.close()
    return [_with_content(part)]


def _leftover_work(folder: Path) -> list[Path]:
    """What a killed ``db`` leaves beside ``out.duckdb``, with a graded file in its folder."""
    lock_path(folder / "out.duckdb", "work").touch()
    return [_with_content(create_work_folder(folder / "out.duckdb") / "in.jsonl")]


def _named_like_a_temporary_file(folder: Path) -> list[Path]:
    lock_path(folder / "out.jsonl").touch()
    names = (".out.jsonl.part", ".out.jsonl.0123456789abcdef.part")
    return [_with_content(folder / name) for name in names]


def _linked_to_a_temporary_file(folder: Path) -> list[Path]:
    """Hard links to the input, with the name of a killed process's file and a common name."""
    part = _leftover(folder)[0]
    part.unlink()
    part.hardlink_to(folder / "graded.jsonl")
    (folder / ".out.jsonl.part").hardlink_to(folder / "graded.jsonl")
    return [folder / "graded.jsonl", part]


def _lock_of_journal(folder: Path) -> None:
    for name in ("..out.jsonl.journal.lock", ".out.jsonl.journal-wal", ".out.jsonl.lock"):
        _with_content(folder / name)


def _prompt(folder: Path) -> None:
    template = (
        'name = "Mine"\nkind = "question"\ntemplate = "{question} {context}"\nscale = 5\nreading = "rating"\n'
    )
    _with_content(folder / "pr.toml", template)


def _hard_links(folder: Path) -> None:
    for name in ("graded.jsonl", "bank.jsonl", "qrels.txt", "ratings.json", "bank_edits.json"):
        (folder / f"link-{name}").hardlink_to(folder / name)
    (folder / "symlink").symlink_to(folder / "link-graded.jsonl")


def _write_protected(folder: Path) -> None:
    _with_content(folder / "out.jsonl", "precious\n").chmod(0o444)


def _local_model(folder: Path) -> None:
    shutil.copytree(BUNDLED, folder / "model")


def _link_to_itself(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")


@contextmanager
def _at_the_lock(step: Callable[[], None]) -> Iterator[None]:
    """Do a step when the first output is locked, which is between two passes over the inputs."""
    lock, steps = fcntl.flock, [step]

    def locked(*arguments: Any) -> None:
        lock(*arguments)
        if steps:
            steps.pop()()

    with mock.patch.object(fcntl, "flock", locked):
        yield


def _replaced(content: str, *commands: str) -> Callable[[Path], str]:
    """An attack that moves another file to the place of the graded file between two passes."""

    def attack(folder: Path) -> str:
        for command in commands:
            lay_out(folder)
            new = _with_content(folder / "new.jsonl", content)
            with _at_the_lock(lambda new=new: new.replace(folder / "graded.jsonl")):  # type: ignore[misc]
                ran = run_inside(folder, command)
            problem = _refusal_problem(ran) or ("there is an output" if (folder / "out").exists() else "")
            if "was replaced or changed" not in ran.message:
                problem = problem or f"the message is {ran.message!r}"
            if problem:
                return f"{command}: {problem}"
        return ""

    return attack


_NEW_FOLDERS = ("split graded.jsonl -n 2 -o new/out", "export runs graded.jsonl -o new/out")
_EXISTING_FOLDERS = (
    "split graded.jsonl --by-query -o new/out",
    "convert graded.jsonl --from graded --to run -o new/out/",
)
"""Commands that write a folder with two files."""


def _signals_at_every_step(commands: Sequence[str], *, exists: bool) -> Callable[[Path], str]:
    """An attack by SIGTERM or SIGINT before every change of a folder by commands that write folders."""

    def attack(folder: Path) -> str:
        place = folder / "place"
        for command in commands:
            for step in count(1):
                sent = (signal.SIGTERM, signal.SIGINT)[step % 2]
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                lay_out(place)
                if exists:
                    (place / "new" / "out").mkdir(parents=True)
                before = snapshot(place).keys()
                ran, was_sent = _with_signal_at(step, sent, place, command)
                if not was_sent and step > 1:
                    break
                problem = _half_problem(ran, sent, snapshot(place).keys() - before)
                if problem:
                    return f"{command}, {sent.name} at step {step}: {problem}"
        return ""

    return attack


def _with_signal_at(number: int, sent: signal.Signals, place: Path, command: str) -> tuple[Ran, bool]:
    """Run a command, and send a signal before a step; returns whether there was such a step."""
    steps = count(1)
    was_sent = False

    def with_signal(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            nonlocal was_sent
            if next(steps) == number:
                was_sent = True
                signal.raise_signal(sent)
            return original(*arguments, **options)

        return step

    with ExitStack() as patches:
        for function in ("open", "mkdir", "rename", "replace", "unlink", "rmdir"):
            patches.enter_context(mock.patch.object(os, function, with_signal(getattr(os, function))))
        ran = run_inside(place, command)
    return ran, was_sent


def _half_problem(ran: Ran, sent: signal.Signals, written: set[str]) -> str:
    if ran.crash:
        return ran.crash
    if ran.code != 128 + sent:
        return f"exit code {ran.code} ({ran.message})"
    if any("/." in f"/{name}" for name in written):
        return f"leftovers: {sorted(written)}"
    files = {name for name in written if not name.endswith(SUFFIX)}
    whole = len(files) == 2 or not written  # the manifest of the folder is written last
    return "" if whole else f"not all files: {sorted(written)}"


ATTACKS: tuple[Attack, ...] = (
    Attack(
        "A1: the input is the temporary file that a killed process left",
        _KEPT,
        _kept("rename {INPUT0} --system a=z -o out.jsonl", "out.jsonl", _leftover),
    ),
    Attack(
        "A1: the input is in the work folder that a killed process left",
        _KEPT,
        _kept("db {INPUT0} -o out.duckdb", "out.duckdb", _leftover_work),
    ),
    Attack(
        "A1: a file is named like a temporary file, but is not from exam_pp",
        "the output is written; the file is kept",
        _kept("merge {INPUT0} -o out.jsonl", "out.jsonl", _named_like_a_temporary_file),
    ),
    Attack(
        "A1: a temporary file is a hard link to the input",
        _KEPT,
        _kept("rename {INPUT0} --system a=z -o out.jsonl", "out.jsonl", _linked_to_a_temporary_file),
    ),
    Attack(
        "A1: the input is the lock of the output, or the lock or log of its journal",
        _REFUSED,
        _refused(
            f"grade ..out.jsonl.journal.lock {_BANK} --prompt-class {RATED} -o out.jsonl",
            f"grade .out.jsonl.journal-wal {_BANK} --prompt-class {RATED} -o out.jsonl",
            "rename .out.jsonl.lock --system a=z -o out.jsonl",
            prepare=_lock_of_journal,
        ),
    ),
    Attack(
        "the output is a file of the local model",
        _REFUSED,
        _refused(
            *(
                f"grade graded.jsonl --bank bank.jsonl --model model --prompt-class {RATED} -o model/{name}"
                for name in ("config.json", "model.safetensors", "tokenizer.json")
            ),
            prepare=_local_model,
        ),
    ),
    Attack(
        "A1: the output is a hard link to an input, or a symbolic link to it",
        _REFUSED,
        _refused(
            "rename graded.jsonl --system a=z -o link-graded.jsonl",
            "rename graded.jsonl --system a=z -o symlink",
            "merge other.jsonl --like graded.jsonl -o link-graded.jsonl",
            f"{_GRADE} --prompt-class {RATED} -o link-bank.jsonl",
            f"{_GRADE} --prompt-class {RATED} -o out --journal link-bank.jsonl",
            f"{_GRADE} --prompt-class {RATED} -o out --status link-graded.jsonl",
            "evaluate judgments qrels.txt --runs runs -o link-qrels.txt",
            "apply-edits graded.jsonl ratings.json --force -o link-ratings.json",
            "bank apply bank.jsonl bank_edits.json --force -o link-bank_edits.json",
            prepare=_hard_links,
        ),
    ),
    Attack(
        "A2: the output is the prompt file",
        _REFUSED,
        _refused(
            f"{_GRADE} --prompt-file pr.toml -o pr.toml",
            "reread graded.jsonl --prompt-file pr.toml -o pr.toml",
            "apply-edits graded.jsonl ratings.json --force --prompt-file pr.toml -o pr.toml",
            prepare=_prompt,
        ),
    ),
    Attack(
        "A3: the output is a run in a folder of runs",
        _REFUSED,
        _refused(
            "query graded.jsonl 'SELECT 1' --runs runs -o runs/a.run",
            "db graded.jsonl --runs runs -o runs/a.run",
            f"analyze sweep graded.jsonl --grader model --prompt-class {RATED} --runs runs "
            "--official official.json -o runs/a.run",
            "import --runs runs --texts texts.tsv -o runs/b.run",
        ),
    ),
    Attack(
        "A4: a secondary output is an input",
        _REFUSED,
        _refused(
            f"evaluate qrels graded.jsonl --grader model --prompt-class {RATED} --runs runs "
            "--official official.json --qrels-output official.json -o x",
            "convert bank.jsonl --to bank-csv -o x --dropped-fields bank.jsonl",
        ),
    ),
    Attack(
        "A5: the trace is the journal",
        _REFUSED,
        _refused(
            "nuggetize graded.jsonl --queries queries.tsv --model fake -o x --trace .x.journal",
            "nuggetize graded.jsonl --queries queries.tsv --model fake -o x --trace .x.journal-wal",
            f"{_GRADE} --prompt-class {RATED} -o x --status ..x.journal.lock",
        ),
    ),
    Attack(
        "A6: the output is write-protected (also for root)",
        _REFUSED,
        _refused("rename graded.jsonl --system a=z -o out.jsonl", prepare=_write_protected),
    ),
    Attack(
        "B4: an input is replaced between two passes",
        "one sentence; no output",
        _replaced(GOOD["graded.jsonl"], "merge graded.jsonl other.jsonl -o out"),
    ),
    Attack(
        "B4: an input is replaced by a shorter or another file between two passes",
        "one sentence; no output",
        _replaced(
            '["q9", []]\n',
            "merge graded.jsonl other.jsonl -o out",
            "apply-edits graded.jsonl ratings.json --force -o out",
            "sample graded.jsonl --max-queries 1 -o out",
        ),
    ),
    Attack(
        "B6: SIGTERM and Ctrl-C at every step of commands that write a new folder",
        "all files or none, no leftovers",
        _signals_at_every_step(_NEW_FOLDERS, exists=False),
    ),
    Attack(
        "B6: SIGTERM and Ctrl-C at every step of commands that write into a folder",
        "all files or none, no leftovers",
        _signals_at_every_step(_EXISTING_FOLDERS, exists=True),
    ),
    Attack(
        "D5: the output is a symbolic link to itself",
        _REFUSED,
        _refused(
            "rename graded.jsonl --system a=z -o loop",
            "split graded.jsonl -n 2 -o loop",
            "export runs graded.jsonl -o loop",
            prepare=_link_to_itself,
        ),
    ),
)
