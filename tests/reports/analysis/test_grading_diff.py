"""Comparison of two gradings: ratings, labels and systems."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.metrics.qrels import LabelRule
from exam_pp.rendering.document import Paragraph, Report
from exam_pp.reports.analysis.diff import Grading, diff_report, labels_report
from tests.conftest import passage, rubric
from tests.tables import tables_of

WriteJsonl = Callable[[str, list[Any]], Path]


def ranked(query_id: str, number: int, ratings: dict[str, int], systems: dict[str, int]) -> dict[str, Any]:
    passage_id = f"{query_id}p{number}"
    rankings = [
        {"method": s, "paragraphId": passage_id, "queryId": query_id, "rank": rank, "score": 1 / rank}
        for s, rank in systems.items()
    ]
    return passage(
        passage_id,
        paragraph_data={"judgments": [], "rankings": rankings},
        exam_grades=[rubric({f"{query_id}/{e}": grade for e, grade in ratings.items()})],
    )


def grading(write_jsonl: WriteJsonl, name: str, first: dict[str, int], second: dict[str, int]) -> Grading:
    """Twelve queries; system one has the first passage, system two the second."""
    lines = [
        [q, [ranked(q, 1, first, {"one": 1}), ranked(q, 2, second, {"two": 1})]]
        for q in (f"q{n}" for n in range(12))
    ]
    return Grading(write_jsonl(name, lines))


def labels(before: Grading, after: Grading, **options: Any) -> list[Any]:
    return list(tables_of(labels_report(before, after, **options))[""].rows)


def grades(report: Report) -> dict[tuple[str, str], int]:
    """Grade before and grade after to the number of pairs, if it is not 0."""
    table = tables_of(report)["Grades before (rows) and after (columns)"]
    names = [str(name) for name in table.columns[1:-1]]
    return {
        (str(old), new): int(str(count))
        for old, *counts, _ in table.rows
        for new, count in zip(names, counts, strict=True)
        if count
    }


@pytest.fixture
def before(write_jsonl: WriteJsonl) -> Grading:
    return grading(write_jsonl, "before.jsonl", {"a": 5, "b": 5}, {"a": 0, "b": 0})


@pytest.fixture
def after(write_jsonl: WriteJsonl) -> Grading:
    return grading(write_jsonl, "after.jsonl", {"a": 1}, {"a": 4, "b": 0})


def test_transitions_and_labels(before: Grading, after: Grading) -> None:
    report = diff_report(before, after)

    assert grades(report) == {("5", "1"): 12, ("5", "ungraded"): 12, ("0", "4"): 12, ("0", "0"): 12}
    moved = tables_of(report)["Entries that change most (of 12 that change)"].rows
    assert ["q0", "q0/a", 1, 1] in [list(row) for row in moved]
    assert labels(before, after)[:2] == [("q0", "q0p1", 5, 1), ("q0", "q0p2", 0, 4)]


def test_a_grading_equals_itself(before: Grading) -> None:
    report = diff_report(before, before)

    assert all(old == new for old, new in grades(report))
    assert labels(before, before) == []
    assert "No pair of systems changes its order." in [
        b.text for b in report.blocks if isinstance(b, Paragraph)
    ]


def test_systems_whose_order_changes_significantly(before: Grading, after: Grading) -> None:
    report = diff_report(before, after)
    title = "Systems by Cover(min_grade=4)@1 on the 12 queries of both files"

    assert [list(row) for row in tables_of(report)[title].rows] == [
        ["two", 0.0, 0.5, 0.5, pytest.approx(2 * 2 / 2**12), 2.0, 1.0, "▲ 1"],
        ["one", 1.0, 0.0, -1.0, pytest.approx(2 * 2 / 2**12), 1.0, 2.0, "▼ 1"],
    ]
    text = " ".join(block.text for block in report.blocks if isinstance(block, Paragraph))
    assert "1 pair of systems changes its order." in text


def test_labels_that_change_after_an_edit_of_the_bank(before: Grading, write_jsonl: WriteJsonl) -> None:
    """The edit removes an entry: grades are equal, labels differ."""

    def bank(name: str, entries: str) -> Path:
        return write_jsonl(
            name,
            [
                {
                    "query_id": f"q{n}", "test_collection": "t", "query_text": "",
                    "items": [
                        {"query_id": f"q{n}", "question_id": f"q{n}/{e}", "question_text": e} for e in entries
                    ],
                }
                for n in range(12)
            ],
        )  # fmt: skip

    both_entries, first_entry = (
        Grading(before.file, bank=bank("ab.jsonl", "ab")),
        Grading(before.file, bank=bank("a.jsonl", "a")),
    )
    rule = LabelRule.parse("2nd>=5:3, 1st>=5:2, else 0")

    assert labels(both_entries, first_entry) == []
    changed = labels(both_entries, first_entry, labelling=rule)
    assert len(changed) == 12
    assert changed[0] == ("q0", "q0p1", 3, 2)


def test_files_without_common_passages_are_refused(before: Grading, tiny_passages: Path) -> None:
    with pytest.raises(SelectionError, match=r"before\.jsonl and .*graded\.jsonl .*passage"):
        diff_report(before, Grading(tiny_passages))


def test_entries_that_change_most_come_first(write_jsonl: WriteJsonl) -> None:
    """q1/b changed for two passages, q1/a for one; q0/a was ungraded before, which is not a change."""

    def side(name: str, *ratings: dict[str, int]) -> Grading:
        passages = [passage(f"p{n}", exam_grades=[rubric(each)]) for n, each in enumerate(ratings)]
        first = passage("p", exam_grades=[rubric({"q0/a": 3} if name == "two" else {"q0/x": 1})])
        return Grading(write_jsonl(name, [["q0", [first]], ["q1", passages]]))

    sides = side("one", {"q1/a": 1, "q1/b": 1}, {"q1/b": 5}), side("two", {"q1/a": 2, "q1/b": 2}, {"q1/b": 0})
    (title, table) = list(tables_of(diff_report(*sides)).items())[1]

    assert title == "Entries that change most (of 2 that change)"
    assert [list(row) for row in table.rows] == [["q1", "q1/b", 1, 1], ["q1", "q1/a", 1, 0]]


def test_systems_are_compared_on_the_queries_of_both(before: Grading, write_jsonl: WriteJsonl) -> None:
    lines = [json.loads(line) for line in Path(str(before.file)).read_text().splitlines()]
    fewer = Grading(write_jsonl("fewer.jsonl", lines[:3]))
    for sides in ((before, fewer), (fewer, before)):
        report = diff_report(*sides)
        assert "Systems by Cover(min_grade=4)@1 on the 3 queries of both files" in tables_of(report)
        summary = report.blocks[0]
        assert isinstance(summary, Paragraph)
        assert "6 passages are graded in both files" in summary.text
        assert "18 passages are graded in only one file" in summary.text


def test_tied_means_share_a_rank(write_jsonl: WriteJsonl) -> None:
    """Of ten entries 1, 2 and 3 are covered, or 3, 2 and 1: as floats, the sums differ by 1e-16."""

    def covering(count: int) -> dict[str, int]:
        return {f"e{n}": 5 if n < count else 0 for n in range(10)}

    lines = [
        [q, [ranked(q, 1, covering(covered), {"one": 1}), ranked(q, 2, covering(4 - covered), {"two": 1})]]
        for q, covered in (("q1", 1), ("q2", 2), ("q3", 3))
    ]
    side = Grading(write_jsonl("tied.jsonl", lines))
    (table,) = [t for t in tables_of(diff_report(side, side)).values() if "Systems" in t.title]

    assert [row[5:7] for row in table.rows] == [[1.5, 1.5], [1.5, 1.5]]


def test_systems_that_become_tied_do_not_change_their_order(write_jsonl: WriteJsonl) -> None:
    sides = grading(write_jsonl, "1", {"a": 5}, {"a": 0}), grading(write_jsonl, "2", {"a": 5}, {"a": 5})

    assert "No pair of systems changes its order." in [
        block.text for block in diff_report(*sides).blocks if isinstance(block, Paragraph)
    ]


def test_systems_at_another_threshold(before: Grading, after: Grading) -> None:
    """From grade 1 on, the first system covers one of two entries afterwards."""
    report = diff_report(before, after, min_grade=1, cutoff=3)
    (table,) = [t for title, t in tables_of(report).items() if "Cover(min_grade=1)@3" in title]

    assert {row[0]: tuple(row[1:3]) for row in table.rows} == {"one": (1.0, 0.5), "two": (0.0, 0.5)}


def test_command(before: Grading, after: Grading, capsys: pytest.CaptureFixture[str]) -> None:
    main(["diff", str(before.file), str(after.file), "--only", "labels", "--format", "tsv"])
    lines = capsys.readouterr().out.splitlines()

    assert lines[:2] == ["query_id\tpassage_id\tbefore\tafter", "q0\tq0p1\t5\t1"]
    main(["diff", str(before.file), str(after.file)])
    assert "[12]" in capsys.readouterr().out


def test_a_single_bank_counts_for_both_sides(
    before: Grading, write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    def bank(name: str, entry: str) -> str:
        item = {"query_id": "q0", "question_id": f"q0/{entry}", "question_text": entry}
        line = {"query_id": "q0", "query_text": "q", "test_collection": "t", "items": [item]}
        return str(write_jsonl(name, [line]))

    file = str(before.file)
    for more, pairs in (([], 2), (["--bank", bank("b.jsonl", "b")], 4)):
        main(["diff", file, file, "--bank", bank("a.jsonl", "a"), *more])
        assert f"of {pairs} pairs of passage and entry" in " ".join(capsys.readouterr().out.split())


def test_prompts_are_known_by_all_their_names(
    write_jsonl: WriteJsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each side takes the names of its own prompt, not those of the other side's."""
    grades = [
        rubric({"e": 4}, prompt_info={"prompt_class": "Umbrela"}),
        rubric({"e": 1}, prompt_info={"prompt_class": "Fag"}),
    ]
    path = str(write_jsonl("names.jsonl", [["q", [passage("p", exam_grades=grades)]]]))
    chosen = [
        "--prompt",
        "GradedRelevance",
        "--prompt",
        "FagB",
        "--only",
        "labels",
        "--format",
        "tsv",
    ]

    main(["diff", path, path, *chosen])
    assert capsys.readouterr().out.splitlines()[1:] == ["q\tp\t4\t1"]
