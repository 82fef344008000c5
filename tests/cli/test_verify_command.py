"""`exam-pp verify grading` as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main


def test_text(tiny_passages: Path, tiny_bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["verify", "grading", str(tiny_passages), "--bank", str(tiny_bank), "--query", "q1", "--limit", "1"])
    out = capsys.readouterr().out
    assert "What text is this?\n------------------\n" in out
    assert "     5         3  p1       Text of p1.\n" in out
    assert "1 more passages are not shown." in out
    assert "007" not in out


def test_tsv_and_json(tiny_passages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "report.tsv"
    main(["verify", "grading", str(tiny_passages), "--format", "tsv", "-o", str(output)])
    with output.open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [row["rating"] for row in rows] == ["5", "1", "4", "0", "2"]
    capsys.readouterr()
    main(["verify", "grading", str(tiny_passages), "--format", "json"])
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["rating"] for row in table["rows"]] == [5, 1, 4, 0, 2]


def test_the_input_is_no_output(tiny_passages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tiny_passages.read_bytes()
    with pytest.raises(SystemExit) as stop:
        main(["verify", "grading", str(tiny_passages), "-o", str(tiny_passages)])
    assert stop.value.code == 1
    assert "is also an input" in capsys.readouterr().err
    assert tiny_passages.read_bytes() == before


def test_an_alias_or_a_wrong_class(tiny_passages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["verify", "grading", str(tiny_passages), "--answers-class", "NuggetExtractionPromt"])
    assert "it holds: QuestionSelfRatedUnanswerablePromptWithChoices" in capsys.readouterr().err
