"""The group of all commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from tests.conftest import passage, rubric


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("gradee", "'grade'"),
        ("verfy-answers", "'verify-answers'"),
        ("xyzzy", "'xyzzy'"),
    ],
)
def test_a_mistyped_command(typed: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([typed, "--model", "x"])
    assert stop.value.code == 2
    assert name in capsys.readouterr().err


def test_a_mistyped_command_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["verify", "gradng", "file"])
    assert stop.value.code == 2
    assert "'grading'" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["analyze", "bank", "evaluate", "export", "generate", "verify"])
def test_the_help_of_a_group_has_full_sentences(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([group, "--help"])
    listed = capsys.readouterr().out.partition("Commands:")[2]
    assert listed.strip().endswith(".")
    assert "..." not in listed


def test_a_mistyped_option_is_not_a_mistyped_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--helpp"])
    assert stop.value.code == 2
    assert "--helpp" in capsys.readouterr().err


def test_control_characters_of_ids_and_keys_are_escaped(
    write_jsonl: Callable[[str, list[Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    grades = rubric({"q/a": 1}, tokens_cut={"\n\x1b[2J": "many"})
    file = write_jsonl("graded.jsonl", [["q", [passage("p", exam_grades=[grades])]]])
    with pytest.raises(SystemExit):
        main(["validate", str(file), "--format", "text"])
    with pytest.raises(SystemExit):
        main(["query", str(file), "SELECT * FROM ratings"])
    shown, err = capsys.readouterr()
    assert "\x1b" not in shown
    assert err.count("\n") == 1
    assert "tokens_cut.\\n\\x1b[2J" in err


@pytest.mark.parametrize("command", ["validate", "convert -o out --to bank", "merge -o out", "bank lint"])
def test_an_input_whose_name_is_too_long(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "n" * 300])
    assert stop.value.code == 1
    shown = capsys.readouterr()
    assert "File name too long" in shown.out + shown.err


@pytest.mark.parametrize(
    ("command", "where", "kept"),
    [
        (["grade", "--model", "fake", "--prompt-class", "FagB"],
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
