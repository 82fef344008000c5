"""Which log `exam-pp serve` takes, and what the edits of a study come to in a new one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, OutputError
from exam_pp.plugins.serve.live import log_of
from exam_pp.plugins.serve.log import Log, folded
from exam_pp.plugins.serve.workbench import Workbench
from exam_pp.store.edits import file_sha256
from exam_pp.studies.engine import Engine
from exam_pp.studies.inputs import read_study
from tests.plugins.serve.studies import questions_study

STUDY, BANK = Path("study"), Path("bank.jsonl")


def workbench() -> Workbench:
    study = read_study(STUDY / "study.toml", {}, outside=True)
    (board,) = Engine(study, STUDY, reports=False, refine=False).run().boards
    return Workbench(board, None)


def opened(bench: Workbench, *edits: str, banks: tuple[Path, ...] = (BANK,)) -> Log:
    log = log_of(STUDY, bench, banks, edits)
    log.close()
    return log


def write_edits(path: str, *ratings: dict[str, Any], **more: Any) -> None:
    known = {"query_id": "q1", "passage_id": "q1-p0", "id": "q1/0"}
    rated = [{**known, **rating} for rating in ratings]
    Path(path).write_text(json.dumps({"format": "exam_pp.edits.v1", "ratings": rated, **more}))


def scores(capsys: pytest.CaptureFixture[str]) -> Any:
    """The leaderboard of the command line after ``exam-pp run``."""
    main(["-q", "run", "study"])
    capsys.readouterr()
    main(["-q", "evaluate", "cover", "study/corrected.jsonl.gz", "--bank", "bank.jsonl", "--format", "json"])
    return json.loads(capsys.readouterr().out)["tables"]


def test_everybody_keeps_their_ratings_and_resolutions(capsys: pytest.CaptureFixture[str]) -> None:
    questions_study()
    write_edits(
        "edits.json",
        {"by": "ana", "rating": 0},
        {"by": "ben", "rating": 5, "comment": "see the end"},
        {"by": "ben", "rating": 5, "id": "q1/1", "resolves": True},
        {"rating": 1, "id": "q1/1"},
        reviewer="cid",
        graded_sha256=file_sha256("study/graded.jsonl.gz"),
        bank=[{"op": "remove", "query_id": "q1", "id": "q1/0"}],
    )
    bench = workbench()
    main(["-q", "run", "study", "--edits", "edits.json"])
    before = scores(capsys)
    log = opened(bench, "edits.json")
    edits = folded(log.events, log.header["bank_sha256"])
    assert [(r.by, r.entry_id, r.rating, r.resolves, r.comment) for r in edits.ratings] == [
        ("ana", "q1/0", 0, False, None),
        ("ben", "q1/0", 5, False, "see the end"),
        ("ben", "q1/1", 5, True, None),
        ("cid", "q1/1", 1, False, None),
    ]
    assert edits.bank == [], "`exam-pp run --edits` does not apply changes of the bank either"
    assert scores(capsys) == before
    assert opened(bench, "edits.json").seq == log.seq, "the second time the log has them"


def test_the_log_of_somebody_else_can_be_the_edits_of_a_study() -> None:
    questions_study()
    write_edits("edits.json", {"by": "ana", "rating": 0}, {"by": "ben", "rating": 5})
    bench = workbench()
    opened(bench, "edits.json")
    (STUDY / "live/log.jsonl").rename("colleague.jsonl")
    log = opened(bench, "colleague.jsonl")
    assert [(event.by, event.item.rating) for event in log.events] == [("ana", 0), ("ben", 5)]


def test_edits_that_cannot_be_taken_leave_no_log() -> None:
    questions_study()
    write_edits("edits.json", {"rating": 0})
    with pytest.raises(DataError, match="reviewer: is empty"):
        opened(workbench(), "edits.json")
    assert not (STUDY / "live").exists()


def test_a_log_is_found_by_its_bank() -> None:
    questions_study()
    bench = workbench()
    write_edits("edits.json", {"by": "ana", "rating": 0})
    first = opened(bench, "edits.json")
    assert first.path == STUDY / "live/log.jsonl"
    first.path.rename(STUDY / "live/log-7.jsonl")
    assert opened(bench).path == STUDY / "live/log-7.jsonl"
    other = {"judge": "lexical", "bank_sha256": "b" * 64}
    Log.open(STUDY / "live/log.jsonl", other).close()
    assert opened(bench, banks=(BANK,)).seq == 1


def test_a_second_bank_has_a_log_of_its_own() -> None:
    questions_study()
    bench = workbench()
    opened(bench)
    Path("more.jsonl").write_text(BANK.read_text().replace("snow", "slush"))
    bench.bank_sha256 = "c" * 64
    assert opened(bench, banks=(BANK, Path("more.jsonl"))).path == STUDY / "live/log-2.jsonl"


def test_after_a_change_of_the_bank_the_error_says_how_to_keep_ratings() -> None:
    questions_study()
    write_edits("edits.json", {"by": "ana", "rating": 0, "id": "q1/1"})
    opened(workbench(), "edits.json")
    BANK.write_text(BANK.read_text().replace("snow", "slush"))
    with pytest.raises(OutputError) as error:
        opened(workbench())
    assert "study/live/log.jsonl is of a bank that is not in this study or has changed" in str(error.value)
    assert "`exam-pp run study --edits corrections.jsonl` keeps its ratings" in str(error.value)
    (STUDY / "live/log.jsonl").rename("corrections.jsonl")
    main(["-q", "run", "study", "--edits", "corrections.jsonl"])
    assert opened(workbench(), "corrections.jsonl").seq == 1
