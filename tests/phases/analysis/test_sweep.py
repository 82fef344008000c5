"""The correlation sweep: settings, layouts, intervals, equality with the single commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.phases.analysis.correlation import correlation
from exam_pp.phases.analysis.sweep import Sweep, sweep
from exam_pp.rendering.document import Paragraph, Table
from exam_pp.reports.analysis.correlation import sweep_picture, sweep_report
from exam_pp.reports.analysis.legacy_tsv import published_sweep
from tests.conftest import passage, rubric, written


@pytest.fixture
def graded(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    """Three systems; two prompt classes with opposite ratings."""

    def graded_passage(passage_id: str, query_id: str, grade: int, ranks: dict[str, int]) -> dict[str, Any]:
        rankings = [
            {"method": s, "paragraphId": passage_id, "queryId": query_id, "rank": r, "score": 1 / r}
            for s, r in ranks.items()
        ]
        other = rubric({f"{query_id}/a": 5 - grade}, prompt_info={"prompt_class": "Other"})
        return passage(
            passage_id,
            paragraph_data={"judgments": [], "rankings": rankings},
            exam_grades=[rubric({f"{query_id}/a": grade}), other],
        )

    return write_jsonl(
        "graded.jsonl",
        [
            [
                q,
                [
                    graded_passage(f"{q}p1", q, 5, {"one": 1, "two": 2}),
                    graded_passage(f"{q}p2", q, 1, {"two": 1, "three": 1}),
                ],
            ]
            for q in ("q1", "q2")
        ],
    )


@pytest.fixture
def official(tmp_path: Path) -> Path:
    return written(tmp_path / "official.json", json.dumps({"one": 1, "two": 2, "three": 3}))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    orders = {"one": ["p1"], "two": ["p2", "p1"], "three": ["p2"]}
    for system, order in orders.items():
        lines = [f"{q} Q0 {q}{p} {n} {9 - n} t" for q in ("q1", "q2") for n, p in enumerate(order)]
        (folder / f"{system}.run").write_text("\n".join(lines) + "\n")
    return folder


def test_every_prompt_threshold_and_measure_is_tried(graded: Path, official: Path, runs: Path) -> None:
    swept = sweep(graded, official, runs=runs, measures=["RR", "nDCG@10"], min_grades=[1, 4])

    assert {(s.measure, s.min_grade) for s in swept.settings} == {
        ("RR", 1), ("RR", 4), ("nDCG@10", None), ("Cover@2", 1), ("Cover@2", 4),
        ("nCover@2", 1), ("nCover@2", 4),
    }  # fmt: skip
    best = {
        s.prompt_class: s.correlation.kendall for s in swept.settings if (s.measure, s.min_grade) == ("RR", 4)
    }
    assert best == pytest.approx({"Other": -2 / 6**0.5, "QuestionSelfRatedUnanswerablePromptWithChoices": 1})


def test_layouts(graded: Path, official: Path, runs: Path) -> None:
    swept = sweep(graded, official, runs=runs, min_grades=[4])
    (table,) = [block for block in sweep_report(swept).blocks if isinstance(block, Table)]
    lines = published_sweep(swept).splitlines()

    assert len(table.rows) == len(swept.settings) == 6
    assert lines[:2] == [
        "# rank correlation with official.json", "method\tmin_rating\ttrec_eval_metric\tspearman\tkendall"
    ]  # fmt: skip
    assert lines[2].startswith("Other\t4\tCover@2\t-")


def test_a_measure_with_the_level_of_a_threshold_has_rows_of_both_names(
    graded: Path, official: Path, runs: Path
) -> None:
    swept = sweep(graded, official, runs=runs, measures=["RR", "RR(rel=2)"], min_grades=[1, 2])
    result = {(s.measure, s.min_grade): s.scores for s in swept.settings if s.prompt_class != "Other"}

    assert result["RR", 2] == result["RR(rel=2)", None] != result["RR", 1]


def test_settings_of_two_models_are_named_with_the_model(
    write_jsonl: Callable[[str, list[Any]], Path], graded: Path, official: Path
) -> None:
    lines = [json.loads(line) for line in graded.read_text().splitlines()]
    for _, passages in lines:
        for of_passage in passages:
            of_passage["exam_grades"] += [grades | {"llm": "second"} for grades in of_passage["exam_grades"]]
    swept = sweep(write_jsonl("models.jsonl", lines), official, min_grades=[1, 4])
    methods = {line.partition("\t")[0] for line in published_sweep(swept).splitlines()[2:]}
    names = {
        f"{model} {prompt}"
        for model in ("google/flan-t5-large", "second")
        for prompt in ("Other", "QuestionSelfRatedUnanswerablePromptWithChoices")
    }

    assert methods == names
    figure = sweep_picture(swept).shapes
    assert all(f"{name} Cover@2" in figure for name in names)


@pytest.mark.parametrize("resampled", ["queries", "systems"])
def test_every_coefficient_has_an_interval(graded: Path, official: Path, runs: Path, resampled: Any) -> None:
    swept = sweep(graded, official, runs=runs, min_grades=[4], intervals=resampled, samples=100, top=2)
    (table,) = [b for b in sweep_report(swept).blocks if isinstance(b, Table)]

    assert table.columns[4:] == [
        "Spearman", "Spearman interval", "Kendall tau-b", "Kendall tau-b interval", "tau-AP",
        "tau-AP interval", "top-2 overlap", "top-2 overlap interval",
    ]  # fmt: skip
    for setting in swept.settings:
        if setting.intervals:
            for figure, interval in zip(setting.correlation[1:], setting.intervals, strict=True):
                assert figure is None or interval is None or interval.low - 1e-9 <= figure
    assert any(setting.intervals for setting in swept.settings)


def test_intervals_are_those_of_the_single_command(graded: Path, official: Path, tmp_path: Path) -> None:
    """Also where all systems are tied, on every query or only in the mean."""
    swept = sweep(graded, official, min_grades=[0, 4], intervals="systems", samples=100)
    for setting in swept.settings:
        leaderboard_file = tmp_path / "board.json"
        rows = [{"system": s, setting.measure: value} for s, value in setting.scores.items()]
        leaderboard_file.write_text(json.dumps({"tables": [{"rows": rows}]}))
        (single,) = correlation(leaderboard_file, official, intervals="systems", samples=100).measures

        assert list(single.intervals) == list(setting.intervals)


def test_a_single_query_gives_no_interval_over_queries(
    write_jsonl: Callable[[str, list[Any]], Path], graded: Path, official: Path
) -> None:
    (line, _) = [json.loads(text) for text in graded.read_text().splitlines()]
    single = write_jsonl("single.jsonl", [line])
    swept = sweep(single, official, min_grades=[4], intervals="queries", samples=100)
    (table, *notes) = sweep_report(swept).blocks

    assert isinstance(table, Table)
    assert {row[table.columns.index("Spearman interval")] for row in table.rows} == {""}
    note = "Intervals need at least five systems, or over queries four systems and two queries."
    assert Paragraph(note) in notes


def test_official_scores_are_ranked_and_unmatched_systems_are_listed(graded: Path, tmp_path: Path) -> None:
    """The largest official score is best, but the smallest official rank."""
    official = written(tmp_path / "scores.tsv", "system\tRR\none\t0.9\ntwo\t0.5\nabsent\t0.1\n")
    swept = sweep(graded, official, min_grades=[4])
    best = {s.prompt_class: s.correlation.kendall for s in swept.settings if s.measure == "nCover@2"}
    notes = [block.text for block in sweep_report(swept).blocks if isinstance(block, Paragraph)]

    assert best["Other"] in (None, -1.0)
    assert "Only in the scores: three." in notes
    assert f"Only in {official}: absent." in notes


def test_a_file_of_selected_queries(graded: Path, official: Path, tmp_path: Path) -> None:
    queries = written(tmp_path / "queries.tsv", "q2\twords\n")
    alone = written(tmp_path / "alone.jsonl", graded.read_text().splitlines()[1] + "\n")

    assert sweep(graded, official, queries=queries).settings == sweep(alone, official).settings
    queries.write_text("q9\twords\n")
    with pytest.raises(SelectionError, match=r"queries\.tsv.*graded\.jsonl"):
        sweep(graded, official, queries=queries)


def test_a_figure_needs_a_measure_with_a_threshold(graded: Path, official: Path, runs: Path) -> None:
    swept = sweep(graded, official, runs=runs, measures=["nDCG@10"])
    without = Sweep([s for s in swept.settings if s.min_grade is None], swept.official, swept.top)

    assert without.settings
    with pytest.raises(SelectionError, match=r"nDCG .*threshold"):
        sweep_picture(without)


def test_queries_without_grades_of_a_prompt_are_not_counted(
    write_jsonl: Callable[[str, list[Any]], Path], graded: Path, official: Path
) -> None:
    """As `evaluate cover`, which reports them: q3 has rankings and no grades."""
    lines = [json.loads(line) for line in graded.read_text().splitlines()]
    ungraded = json.loads(json.dumps(lines[0]).replace('"q1', '"q3'))
    for of_passage in ungraded[1]:
        of_passage["exam_grades"] = None
    path = write_jsonl("ungraded.jsonl", [*lines, ungraded])
    items = [{"query_id": q, "question_id": f"{q}/a", "question_text": "a"} for q in ("q1", "q2", "q3")]
    bank = write_jsonl(
        "bank.jsonl",
        [{"query_id": i["query_id"], "query_text": "q", "test_collection": "t", "items": [i]} for i in items],
    )
    for bank_option in (None, bank):
        assert [s.scores for s in sweep(path, official, bank=bank_option).settings] == [
            s.scores for s in sweep(graded, official).settings
        ]


@pytest.mark.parametrize("systems", ['{"one": 1, "y": 2}', '{"x": 1, "y": 2}'])
def test_fewer_than_two_systems_in_common_are_refused(graded: Path, tmp_path: Path, systems: str) -> None:
    other = written(tmp_path / "other.json", systems)
    with pytest.raises(SelectionError, match=r"other\.json.*--runs"):
        sweep(graded, other)


def test_without_the_entries_of_a_team(
    write_jsonl: Callable[[str, list[Any]], Path], official: Path, tmp_path: Path
) -> None:
    """By hand: x wrote b and c, which only three covers; without them one is ahead, as in the ranks."""

    def answer(system: str, **grades: int) -> dict[str, Any]:
        ranking = {"method": system, "paragraphId": system, "queryId": "q", "rank": 1, "score": 1.0}
        return passage(
            system,
            paragraph_data={"judgments": [], "rankings": [ranking]},
            exam_grades=[rubric({f"q/{entry}": grade for entry, grade in grades.items()})],
        )

    answers = [answer("one", a=5, b=0, c=0), answer("two", a=0, b=0, c=0), answer("three", a=0, b=5, c=5)]

    def line(team: str, *entries: str) -> dict[str, Any]:
        items = [{"query_id": "q", "question_id": f"q/{e}", "question_text": e} for e in entries]
        info = {"autojudge": {"metadata": {"team_id": team, "topic_id": "q"}}}
        return {"query_id": "q", "info": info, "items": items}

    graded = write_jsonl("answers.jsonl", [["q", answers]])
    bank = write_jsonl("bank.jsonl", [line("x", "b", "c"), line("y", "a")])
    swept = sweep(graded, official, bank=bank, by_team=True, min_grades=[4], cutoff=1)
    boards = {
        setting.measure: setting.scores for setting in swept.settings if "nCover" not in setting.measure
    }
    assert boards == {
        "Cover@1": {"one": 1 / 3, "two": 0, "three": 2 / 3},
        "Cover@1 without x": {"one": 1, "two": 0, "three": 0},
        "Cover@1 without y": {"one": 0, "two": 0, "three": 1},
    }
    with pytest.raises(SelectionError, match="has the entries of 1 team: import the banks of several"):
        sweep(graded, official, bank=write_jsonl("one.jsonl", [line("y", "a")]), by_team=True)
