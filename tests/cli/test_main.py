"""The group of all commands."""

from __future__ import annotations

import io
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import cli, main
from exam_pp.errors import StoppedError
from tests.conftest import passage, rubric

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "


def test_control_characters_of_ids_and_keys_are_escaped(
    write_jsonl: Callable[[str, list[Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    grades = rubric({"q/a": 1}, tokens_cut={"\n\x1b[2J": "many"})
    file = write_jsonl("graded.jsonl", [["q", [passage("p", exam_grades=[grades])]]])
    with pytest.raises(SystemExit):
        main(["validate", str(file), "--format", "text"])
    with pytest.raises(SystemExit):
        main(["evaluate", "cover", str(file)])
    shown, err = capsys.readouterr()
    assert "\x1b" not in shown
    assert err.count("\n") == 1
    assert "tokens_cut.\\n\\x1b[2J" in err


@pytest.mark.parametrize("command", ["validate", "convert -o out --to bank", "merge -o out", "bank show"])
def test_an_input_whose_name_is_too_long(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "n" * 300])
    assert stop.value.code == 1
    shown = capsys.readouterr()
    assert "File name too long" in shown.out + shown.err


@pytest.mark.parametrize(
    ("command", "where", "kept"),
    [
        (["grade", "--model", "fake", "--prompt", "FagB"],
         "exam_pp.phases.grading.grading_run.grade_file", True),
        (["merge"], "exam_pp.phases.passages.merge.merge_files", False),
    ],
)  # fmt: skip
def test_the_message_of_ctrl_c_mentions_kept_replies(
    command: list[str], where: str, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    passages = tmp_path / "passages.jsonl"
    passages.write_text('["q", []]\n')
    monkeypatch.setattr(where, interrupted)
    with pytest.raises(SystemExit) as stopped:
        main([*command, str(passages), "-o", str(tmp_path / "out.jsonl")])
    assert stopped.value.code == 130
    message = capsys.readouterr().err.strip()
    assert message.startswith("exam-pp: interrupted")
    assert ("replies" in message) is kept


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_a_query_of_duckdb(
    sent: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB raises a RuntimeError in place of the exception of the signal."""

    def query(**_options: Any) -> None:
        with suppress(KeyboardInterrupt, StoppedError):
            signal.raise_signal(sent)
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(cli, "main", query)
    with pytest.raises(SystemExit) as stop:
        main(["query"])
    assert stop.value.code == code
    assert capsys.readouterr().err.strip() in {"exam-pp: interrupted.", "exam-pp: stopped by SIGTERM."}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "words", "expected"),
    [
        (io.StringIO, [], rf"({TIME}.*\n)+"),
        (io.StringIO, ["-q"], ""),
        (Terminal, [], r"Merged(?!.*:\d\d:).*"),
    ],
)
def test_messages_have_a_time_only_in_log_files(
    stream: type[io.StringIO], words: list[str], expected: str, tiny_passages: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    log = stream()
    monkeypatch.setattr("sys.stderr", log)
    main([*words, "merge", str(tiny_passages), "-o", "out.jsonl"])
    assert re.fullmatch(expected, log.getvalue(), re.DOTALL if stream is Terminal else 0)
