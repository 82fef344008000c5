"""``exam-pp run`` with the log of a live workbench."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.plugins.serve.log import Log
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import file_sha256
from tests.plugins.serve.studies import nuggets_study, questions_study


def write_log(*changes: dict[str, object]) -> Log:
    header = {"judge": "lexical", "bank_sha256": file_sha256("bank.jsonl")}
    log = Log.open(Path("study/live/log.jsonl"), header)
    log.append(log.new("ann", "c", [{"n": n, **change} for n, change in enumerate(changes, 1)]))
    log.close()
    return log


@pytest.mark.parametrize("make", [questions_study, nuggets_study])
def test_run_takes_the_log_up(make: object, capsys: pytest.CaptureFixture[str]) -> None:
    make()  # type: ignore[operator]
    write_log(
        {"op": "remove", "query_id": "q1", "id": "q1/0", "reason": "vague"},
        {"op": "add", "query_id": "q2", "text": "Tyres are round", "importance": "vital"},
    )
    capsys.readouterr()
    main(["-v", "run", "study"])
    out, err = capsys.readouterr()
    assert "$ exam-pp bank apply bank.jsonl study/live/log.jsonl" in out
    assert "Correct grades: open" not in out, "the served page is for that, and --edits would be refused"
    assert "1 pair graded" in err or "3 pairs graded" in err or "2 pairs graded" in err
    (refined,) = Path("study").glob("refined*.jsonl")
    bank = read_bank(refined)
    (added,) = [e for e in bank.entries("q2").values() if e.text == "Tyres are round"]
    assert added.importance == "vital"
    assert "q1/0" not in bank.entries("q1")
    (record,) = next(line for line in bank.lines if line.query_id == "q1").info["history"]
    assert (record["by"], record["op"], record["reason"]) == ("ann", "remove", "vague")
    main(["-v", "run", "study"])
    assert "graded" not in capsys.readouterr().err, "the second time nothing is computed again"


def test_edits_beside_a_log_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    questions_study()
    write_log()
    Path("edits.json").write_text('{"format": "exam_pp.edits.v1"}')
    with pytest.raises(SystemExit):
        main(["run", "study", "--edits", "edits.json"])
    assert (
        "Corrections of this study are in study/live/log.jsonl: leave out --edits." in capsys.readouterr().err
    )


def test_a_log_of_another_bank_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    questions_study()
    write_log({"op": "remove", "query_id": "q1", "id": "q1/0"})
    Path("bank.jsonl").write_text(Path("bank.jsonl").read_text().replace("snow", "slush"))
    with pytest.raises(SystemExit):
        main(["run", "study"])
    assert "study/live/log.jsonl changes another bank than those of this study" in capsys.readouterr().err
