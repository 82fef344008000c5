"""Commands in the environment of a process group."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main


@pytest.mark.parametrize(
    "command", ["generate questions {0}", "generate nuggets {0}", "nuggetize {0} --queries {0}"]
)
def test_only_grade_supports_process_groups(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("WORLD_SIZE", "2"), ("RANK", "1"), ("MASTER_ADDR", "localhost")):
        monkeypatch.setenv(name, value)
    queries = tmp_path / "q.tsv"
    queries.write_text("q\tWhat?\n")
    words = command.format(queries).split()
    arguments = [*words, "--model", "fake", "-o", str(tmp_path / "bank.jsonl")]
    with pytest.raises(SystemExit, match="1"):
        main(arguments)
    assert "`exam-pp grade`" in capsys.readouterr().err
    assert not (tmp_path / "bank.jsonl").exists()
