"""Names of files and folders in ``exam-pp query``, and the formats of its outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main


def test_csv_where_a_command_writes_it(tiny_passages: Path) -> None:
    main(["query", str(tiny_passages), "SELECT 1 AS one, 2 AS two", "-o", "x.csv"])
    assert Path("x.csv").read_text().startswith("one,two")


@pytest.mark.parametrize("arguments", [["--runs", "runs", "FROM runs"], ["x.jsonl", "--save", "x.jsonl"]])
def test_no_output_without_inputs(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["query", *arguments])
    assert stop.value.code in (1, 2)
    assert capsys.readouterr().out == ""
