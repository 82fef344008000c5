"""The group of all commands."""

from __future__ import annotations

import pytest

from exam_pp.cli.main import main


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("gradee", "No such command 'gradee'. Did you mean 'grade'?"),
        ("verfy-answers", "Did you mean 'verify-answers'?"),
        ("xyzzy", "No such command 'xyzzy'."),
    ],
)
def test_a_mistyped_command(typed: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([typed, "--model", "x"])
    assert stop.value.code == 2
    assert words in capsys.readouterr().err


def test_options_before_the_command_are_no_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--helpp"])
    assert stop.value.code == 2
    assert "No such option" in capsys.readouterr().err
