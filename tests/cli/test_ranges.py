"""Number options reject NaN with a usage error."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main


@pytest.mark.parametrize(
    "command",
    [
        "bank apply BANK --secret nan -o a.jsonl --also secret=b.jsonl",
        "bank clinic GRADED --bank BANK -S too-easy=nan",
        "bank clinic GRADED --bank BANK -S discrimination=NaN",
        "evaluate cover GRADED -S confidence=nan",
    ],
)
def test_not_a_number(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("BANK", "GRADED"):
        Path(name).touch()
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 2
    assert "is not a number" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "evaluate elo GRADED -S samples=1000000000",
        "evaluate elo GRADED --elo tournaments=1000000000",
        "bank clinic GRADED -S samples=1000000000",
        "canaries add GRADED --top 100000000 -o out",
    ],
)
def test_numbers_that_would_take_days_or_all_memory(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("GRADED").touch()
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 2
    assert "00 is not in the range " in capsys.readouterr().err
