"""Notes on a cutoff that is deeper than the rankings of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.sweep import sweep
from exam_pp.phases.evaluation.rubric import cover
from exam_pp.phases.evaluation.uncertainty import Statistics
from exam_pp.phases.review.review_material import review_material
from exam_pp.reports.analysis.report_folder.assembly import write_evaluation
from exam_pp.reports.analysis.report_folder.inputs import Sources
from exam_pp.reports.analysis.sweep import sweep_report
from tests.conftest import passage, rubric

WriteJsonl = Callable[[str, list[Any]], Path]
Write = Callable[..., Path]


@pytest.fixture
def write(write_jsonl: WriteJsonl) -> Write:
    """A function that writes a graded file of one query from passage ids with their ranks by system."""

    def graded(passages: dict[str, dict[str, int]], query_id: str = "q") -> Path:
        def of(passage_id: str, grade: int, ranks: dict[str, int]) -> dict[str, Any]:
            rankings = [
                {"method": s, "paragraphId": passage_id, "queryId": query_id, "rank": r, "score": 1.0}
                for s, r in ranks.items()
            ]
            data = {"judgments": [], "rankings": rankings}
            return passage(passage_id, paragraph_data=data, exam_grades=[rubric({f"q/{passage_id}": grade})])

        lines = [of(name, 5 - number % 2, ranks) for number, (name, ranks) in enumerate(passages.items())]
        return write_jsonl("graded.jsonl", [[query_id, lines]])

    return graded


def depth_notes(notes: list[str]) -> list[str]:
    return [note for note in notes if "deeper" in note]


def pool_of(depth: int) -> dict[str, dict[str, int]]:
    """The pool of two runs with opposite orders of nine passages; a passage has its rank in both runs."""
    return {f"p{n}": {"up": n, "down": 10 - n} for n in range(1, 10) if n <= depth or n >= 10 - depth}


def test_rankings_that_end_above_the_cutoff(write: Write) -> None:
    graded = write({"p1": {"a": 1, "b": 2}, "p2": {"a": 2}, "p3": {"a": 3, "b": 1}})

    assert depth_notes(cover(graded).notes) == [
        f"The cutoff 20 is deeper than the rankings in {graded}, which end at rank 3: scores are those of @3."
    ]
    assert not depth_notes(cover(graded, cutoff=3).notes)
    assert "which end at rank 3" in depth_notes(cover(graded, cutoff=4).notes)[0]
    deep, shallow = (
        [(row.system, row.mean) for row in standings(cover(graded, cutoff=k).scores)] for k in (20, 3)
    )
    assert deep == shallow


def test_a_pool_keeps_some_ranks_below_its_depth(write: Write) -> None:
    """After ``import --top 2`` each run lacks its ranks 3 to 7, but has the top of the other run."""
    graded = write(pool_of(2))

    assert depth_notes(cover(graded, cutoff=9).notes) == [
        f"The cutoff 9 is deeper than the rankings in {graded}, which are complete only to rank 2: 10 lower "
        "ranks are missing and cannot cover entries. Use --cutoff 2, or import with a larger --top."
    ]
    assert "complete only to rank 2: 2 lower ranks" in depth_notes(cover(graded, cutoff=3).notes)[0]
    assert not depth_notes(cover(graded, cutoff=2).notes)


def test_a_pool_that_holds_whole_runs_lacks_no_rank(write: Write) -> None:
    assert not depth_notes(cover(write(pool_of(9)), cutoff=9).notes)


def test_ranks_may_start_at_0(write: Write) -> None:
    graded = write({"p1": {"a": 0}, "p2": {"a": 1}})

    assert "which end at rank 2:" in depth_notes(cover(graded).notes)[0]
    assert not depth_notes(cover(graded, cutoff=2).notes)


def test_tied_ranks_leave_no_rank_out(write: Write) -> None:
    """Passages with equal ranks are several, so @1 of a ranking 1, 1, 3 differs from @3."""
    graded = write({"p1": {"a": 1}, "p2": {"a": 1}, "p3": {"a": 3}})

    assert not depth_notes(cover(graded, cutoff=3).notes)
    assert "which end at rank 3:" in depth_notes(cover(graded).notes)[0]
    tied = write({"p1": {"a": 1}, "p2": {"a": 1}, "p3": {"a": 1}})
    assert "which end at rank 3:" in depth_notes(cover(tied).notes)[0]


def test_judged_passages_with_missing_first_ranks_have_no_note(write: Write) -> None:
    """No cutoff makes rankings complete that lack their first rank."""
    graded = write({"p1": {"a": 2, "b": 1}, "p2": {"a": 9, "b": 30}})

    assert not depth_notes(cover(graded).notes)


def test_generated_answers_end_where_they_end(write: Write) -> None:
    assert not depth_notes(cover(write({"gen/q": {"gen": 1}})).notes)
    assert not depth_notes(cover(write({"gen/q#1": {"gen": 1}, "gen/q#2": {"gen": 2}})).notes)


def test_answers_deeper_than_the_runs_count(write: Write) -> None:
    """Scores at the cutoff differ from those at the depth of the runs if an answer has more parts."""
    parts = {f"gen/q#{n}": {"gen": n} for n in (1, 2, 3)}
    graded = write({"p1": {"a": 1}, **parts})

    assert "which end at rank 3:" in depth_notes(cover(graded).notes)[0]
    assert not depth_notes(cover(graded, cutoff=3).notes)


def test_python_s_leaderboard_has_the_note(write: Write) -> None:
    graded = write({"p1": {"a": 1}, "p2": {"b": 1}})
    board = exam_pp.leaderboard(exam_pp.cover(exam_pp.read_passages(graded)), intervals=None)

    assert depth_notes(board.notes) == [
        "The cutoff 20 is deeper than the rankings in the passages, which end at rank 1: scores are those "
        "of @1."
    ]


def test_a_sweep_has_the_note_once(write: Write, tmp_path: Path) -> None:
    graded = write(pool_of(2))
    official = tmp_path / "official.json"
    official.write_text('{"up": 1, "down": 2}')
    result = sweep(graded, official, cutoff=9)

    assert result.notes == depth_notes(cover(graded, cutoff=9).notes)
    assert depth_notes(sweep_report(result).notes) == list(result.notes)
    assert not sweep(graded, official, cutoff=2).notes


def test_the_report_has_the_note_once(write: Write, tmp_path: Path) -> None:
    graded = write(pool_of(2))
    official = tmp_path / "official.json"
    official.write_text('{"up": 1, "down": 2}')
    index = write_evaluation(
        Sources(graded, official=official, cutoff=9), tmp_path / "out", Statistics(samples=100)
    )

    page = index.read_text()
    assert "Correlation by setting" in page
    assert page.count("The cutoff 9 is deeper than the rankings") == 1


def test_the_review_page_has_the_note_below_its_leaderboard(write: Write) -> None:
    (leaderboard,) = review_material(write({"p1": {"a": 1}, "p2": {"b": 1}}), GradeFilter()).head[
        "leaderboards"
    ]

    assert "which end at rank 1:" in depth_notes(leaderboard["notes"])[0]


def test_review_also_logs_the_note(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graded = str(write({"p1": {"a": 1}, "p2": {"b": 1}}))
    page = str(tmp_path / "review.html")

    main(["review", graded, "-o", page])
    assert capsys.readouterr().err.count("The cutoff 20 is deeper") == 1
    main(["review", graded, "-o", page, "--cutoff", "1"])
    assert "deeper" not in capsys.readouterr().err


def test_the_clinic_and_diff_have_the_note(
    write: Write, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    graded = str(write({"p1": {"a": 1, "b": 2}, "p2": {"b": 1, "a": 2}}))
    items = [{"query_id": "q", "question_id": f"q/{name}", "question_text": name} for name in ("p1", "p2")]
    bank = str(write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "text", "items": items}]))

    for command in (["bank", "clinic", graded, "--bank", bank], ["diff", graded, graded]):
        main(command)
        out = " ".join(capsys.readouterr().out.split())
        assert out.count(f"The cutoff 20 is deeper than the rankings in {graded}, which end at rank 2") == 1
        main([*command, "--cutoff", "2"])
        assert "deeper" not in capsys.readouterr().out
