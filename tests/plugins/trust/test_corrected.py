"""Corrected scores of files: equal to people's scores if all pairs are labelled; notes and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.plugins.trust.corrected import Corrected, corrected_report, corrected_scores
from exam_pp.plugins.trust.pair_sample import Block, PairSample, SampledPair
from exam_pp.plugins.trust.sample_pairs import sample_pairs
from tests.conftest import passage, rubric
from tests.phases.nugget_material import answer, bank_line
from tests.tables import notes_of, pictures_of, tables_of

WriteJsonl = Callable[[str, list[Any]], Path]
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
JUDGE, ANA = "google/flan-t5-large", "human:ana"
ENTRIES = ("a", "b")
# Query, passage, ranks of the systems x and y, ratings of the judge, ratings of a person.
GRADES = [
    ("q1", "p1", {"x": 1}, (5, 0), (5, 0)),
    ("q1", "p2", {"x": 2, "y": 1}, (0, 4), (0, 1)),
    ("q1", "p3", {"y": 2}, (0, 0), (0, 5)),
    ("q2", "p4", {"x": 1, "y": 2}, (4, 4), (2, 4)),
    ("q2", "p5", {"y": 1}, (0, 0), (4, 0)),
]


def graded_passage(
    query: str, name: str, ranks: dict[str, int], judge: Iterable[int] | None, person: Iterable[int]
) -> dict[str, Any]:
    rankings = [
        {"method": system, "paragraphId": name, "queryId": query, "rank": rank, "score": 1.0}
        for system, rank in ranks.items()
    ]
    judgment = {"paragraphId": name, "query": query, "relevance": 2, "titleQuery": query}
    grades = [
        rubric(dict(zip((f"{query}/{entry}" for entry in ENTRIES), ratings, strict=False)), llm=model)
        for model, ratings in ((JUDGE, judge), (ANA, person))
        if ratings is not None
    ]
    direct = {
        "correctAnswered": True, "answer": "1", "self_ratings": 1, "llm": JUDGE,
        "prompt_info": {"prompt_class": "GradedRelevance"}, "prompt_type": "direct_grading",
    }  # fmt: skip
    data = {"judgments": [judgment], "rankings": rankings}
    return passage(name, paragraph_data=data, exam_grades=grades, grades=[direct])


def written(write_jsonl: WriteJsonl, name: str, rows: Iterable[Any]) -> Path:
    """A graded file of rows such as those of :data:`GRADES`."""
    lines: dict[str, list[Any]] = {}
    for row in rows:
        lines.setdefault(row[0], []).append(graded_passage(*row))
    return write_jsonl(name, [[query, passages] for query, passages in lines.items()])


@pytest.fixture
def graded(write_jsonl: WriteJsonl) -> Path:
    return written(write_jsonl, "graded.jsonl", GRADES)


@pytest.fixture
def bank(write_jsonl: WriteJsonl) -> Path:
    return write_jsonl(
        "bank.jsonl",
        [
            {
                "query_id": query,
                "test_collection": "t",
                "query_text": query,
                "items": [
                    {"query_id": query, "question_id": f"{query}/{e}", "question_text": f"{e}?"}
                    for e in ENTRIES
                ],
            }
            for query in ("q1", "q2")
        ],
    )


def population(*entries: str) -> dict[str, list[Block]]:
    """All passages of :data:`GRADES`, each with the entries, or with those of its query."""
    return {
        query: [
            Block(
                passages=[row[1] for row in GRADES if row[0] == query],
                entries=[*entries] or [f"{query}/{entry}" for entry in ENTRIES],
            )
        ]
        for query in ("q1", "q2")
    }


def sample(
    probability: float = 1.0, only: Iterable[tuple[str, str]] | None = None, **keys: Any
) -> PairSample:
    """All pairs of :data:`GRADES`, or only those of these passages and entries."""
    pairs = [
        SampledPair(query_id=row[0], passage_id=row[1], entry_id=f"{row[0]}/{e}", probability=probability)
        for row in GRADES
        for e in ENTRIES
        if only is None or (row[1], e) in only
    ]
    known = {"model": JUDGE, "prompt_class": RATED, "cutoff": 20, "population": population()}
    values = known | {"lowest_probability": probability} | keys
    return PairSample(by="even", seed=0, pairs=pairs, **values)


def correct(graded: Path, bank: Path | None, pairs: PairSample, **options: Any) -> Corrected:
    return corrected_scores(graded, pairs, bank, **{"reviewer": ANA, **options})


def values(result: Corrected, measure: int = 0) -> dict[str, float]:
    return {row.system: row.scores.corrected.value for row in result.boards[measure].systems}


def test_with_labels_of_all_pairs_the_score_is_that_of_the_person(graded: Path, bank: Path) -> None:
    """Then the interval for these queries has no width, and the judge's scores are those of `cover`."""
    result = correct(graded, bank, sample(), intervals="labels")
    scores = {
        model: {
            row.system: row.mean
            for row in standings(cover(graded, bank, grade_filter=GradeFilter(model, RATED)).scores)
            if row.metric.startswith("Cover(") and row.system in ("x", "y")
        }
        for model in (JUDGE, ANA)
    }

    assert values(result) == pytest.approx(scores[ANA])
    assert {row.system: row.scores.judged for row in result.boards[0].systems} == pytest.approx(scores[JUDGE])
    assert scores[ANA] == {"x": 0.5, "y": 0.75}
    for row in result.boards[0].systems:
        assert not row.scores.corrected.by_rule  # the labels show errors, and no other pairs are left
        assert row.scores.corrected.low == row.scores.corrected.high == row.scores.corrected.value
    assert [(row.system, row.scores.rank, row.scores.judged_rank) for row in result.boards[0].systems] == [
        ("y", 1, 2),
        ("x", 2, 1),
    ]


def test_the_cutoff_selects_the_pairs(graded: Path, bank: Path) -> None:
    assert values(correct(graded, bank, sample(), cutoff=1)) == pytest.approx({"x": 0.5, "y": 0.25})


def test_labels_outside_the_scale_are_counted(write_jsonl: WriteJsonl, bank: Path, graded: Path) -> None:
    odd = [(*row[:4], tuple(7 if rating == 5 else rating for rating in row[4])) for row in GRADES[:3]]
    path = write_jsonl("odd.jsonl", [["q1", [graded_passage(*row) for row in odd]]])
    note = "2 labels are outside the scale of the judge (0 to 5): means of labels use them as they are."
    assert note in correct(path, bank, sample()).notes
    assert not any("outside the scale" in text for text in correct(graded, bank, sample()).notes)


@pytest.mark.parametrize("baseline", ["x", "y"])
def test_the_mark_of_a_system_is_also_at_its_differences(graded: Path, bank: Path, baseline: str) -> None:
    """People refute p2/b, a pair drawn by chance that only y has at rank 1; x has no such pair."""
    pairs = sample(0.5, {("p1", "a"), ("p2", "b")})
    result = correct(graded, bank, pairs, cutoff=1, baseline=baseline, intervals="labels")
    rows = {row.system: row.scores for row in result.boards[0].systems}
    assert (rows["x"].too_thin, rows["y"].too_thin) == (False, True)
    (other,) = set(rows) - {baseline}
    assert rows[other].difference_too_thin
    assert not rows[baseline].difference_too_thin
    table = tables_of(corrected_report(result))["Cover(min_grade=4)@1"]
    cells = {row[0]: row[table.columns.index("its interval")] for row in table.rows}
    assert str(cells[other]).endswith(" ?")
    assert cells[baseline] is None


def test_half_of_the_pairs_by_hand(graded: Path, bank: Path) -> None:
    """Of q1/b, p2 is drawn with π = 1/2: y = 1 + (0 - 1) / 0.5 = -1. The other entries are as judged.

    x: q1 has a (1) and b (-1), q2 both: (0 + 1) / 2. y: q1 has no a, and b: 1 - (1 + 1) × 1 = -1, so -1/2.
    The variance of b is Π x² - Π (x² - 0.5 / 0.25) = 4 - 2 = 2, in the mean 2 / 2² / 2² = 1/8.
    """
    pairs = sample(0.5, [("p2", "b")])
    result = correct(graded, bank, pairs, intervals="labels", baseline="x", confidence=0.5)
    rows = {row.system: row for row in result.boards[0].systems}

    assert values(result) == pytest.approx({"x": 0.5, "y": 0.25})
    # With one degree of freedom, the quantile of 75 % is 1.
    assert rows["x"].scores.corrected.high == pytest.approx(0.5 + 0.125**0.5)
    # The errors of both systems are the same, so their difference has no variance: bounds by the rule.
    assert rows["y"].scores.difference is not None
    assert rows["y"].scores.difference.value == pytest.approx(-0.25)
    assert rows["y"].scores.difference.by_rule
    assert rows["x"].scores.difference is None
    assert [(row.labels, row.errors) for row in rows.values()] == [(1, 1), (1, 1)]


def test_a_whole_entry_by_hand(graded: Path, bank: Path) -> None:
    """The entry b of q1 is drawn with π = 1/2. The judge covers it for x and y by p2, people for y by p3.

    So x has 1 + (0 - 1) / 0.5 = -1 and y has 1. The other entries are as judged: x has a of q1 and both of
    q2, y both of q2. The variance of x is 1² × 0.5 / 0.25 = 2 for the entry, in the mean 2 / 2² / 2² = 1/8.
    """
    drawn = [("p1", "b"), ("p2", "b"), ("p3", "b")]
    pairs = sample(0.5, drawn).model_copy(update={"by": "entry"})
    result = correct(graded, bank, pairs, intervals="labels", baseline="y", confidence=0.4)
    rows = {row.system: row for row in result.boards[0].systems}

    assert values(result) == pytest.approx({"x": 0.5, "y": 0.75})
    # Each of the 4 entries has the weight 1/4, so scores change by the mean error. Gaffke's bound of one
    # error of -1 is 2 × 0.7 above it, more than 1; that of one without an error is 0.7 on both sides.
    assert rows["x"].scores.corrected[:4] == pytest.approx((0.5, 0, 1, False))
    assert rows["y"].scores.corrected.bounded
    assert rows["y"].scores.corrected.low == pytest.approx(0.75 - 0.7)
    assert rows["x"].scores.difference is not None
    assert rows["x"].scores.difference[:3] == (-0.25, None, None)
    assert any("with fewer than 30 drawn entries" in note for note in result.notes)
    assert not any(row.scores.too_thin for row in rows.values())


def test_an_entry_that_lacks_a_label_counts_as_not_drawn(graded: Path, bank: Path) -> None:
    everything = sample(1.0).model_copy(update={"by": "entry"})
    unknown = SampledPair(query_id="q2", passage_id="p9", entry_id="q2/b", probability=1)
    result = correct(
        graded,
        bank,
        everything.model_copy(update={"pairs": [*everything.pairs, unknown]}),
        intervals="labels",
    )

    assert any("1 of 4 drawn entries lack labels" in note for note in result.notes)
    assert any("multiplied by 0.750" in note for note in result.notes)


def test_certain_pairs_alone_say_nothing_of_the_others(graded: Path, bank: Path) -> None:
    """Two pairs with π = 1 were drawn, others with π = 1/2 were not: with 50 %, one of these may be wrong."""
    pairs = sample(1.0, [("p1", "a"), ("p4", "b")], lowest_probability=0.5)
    result = correct(graded, bank, pairs, intervals="labels", confidence=0.5)

    assert all(row.scores.corrected.by_rule for row in result.boards[0].systems)
    low = {row.system: row.scores.corrected.low for row in result.boards[0].systems}
    assert low == pytest.approx({"x": 1 - 0.25, "y": 0.75 - 0.25})


def test_two_queries_have_no_intervals_over_queries(graded: Path, bank: Path) -> None:
    result = correct(graded, bank, sample())

    assert all(row.scores.corrected.low is None for row in result.boards[0].systems)
    assert any(note.startswith("Intervals over queries need at least 6 queries") for note in result.notes)


def test_without_errors_the_interval_is_a_bound(graded: Path, bank: Path) -> None:
    """No error in pairs with π = 1/2: with 75 %, up to ln 0.25 / ln 0.5 = 2 errors, each of 1/4.

    The judge gives x the score 1 and y 0.75.
    """
    pairs = sample(0.5, [("p1", "a"), ("p4", "b")])
    result = correct(graded, bank, pairs, intervals="labels", confidence=0.75)

    assert all(row.scores.corrected.by_rule for row in result.boards[0].systems)
    assert [row.scores.corrected.low for row in result.boards[0].systems] == pytest.approx([0.5, 0.25])
    assert [row.scores.corrected.high for row in result.boards[0].systems] == [1, 1]
    assert any("rule of three" in note for note in result.notes)
    assert any("Fewer than 10 labels differ from the judge's grade" in note for note in result.notes)


def test_agreement_is_no_certainty(graded: Path, bank: Path) -> None:
    """Four labels without an error: with 50 %, the mean error is within 1 − (1/4)^(1/4).

    The pairs of x weigh 1/4 (four of q1) and 1/2 (two of q2). As many of the largest weight bound the score:
    6 × 1/2 / 2 queries = 1.5 times the mean error.
    """
    pairs = sample(0.5, [("p1", "a"), ("p1", "b"), ("p2", "a"), ("p4", "b")])
    found = correct(graded, bank, pairs, measure="pair-share", intervals="labels", confidence=0.5)
    (x,) = (row for row in found.boards[0].systems if row.system == "x")
    assert (x.labels, x.errors, x.scores.corrected.bounded) == (4, 0, True)
    assert x.scores.corrected[1:3] == pytest.approx((x.scores.judged - 1.5 * (1 - 0.25**0.25), 1))


def test_the_share_of_pairs_is_a_mean(graded: Path, bank: Path) -> None:
    """The person covers 1 of 4 pairs of x in q1 and 1 of 2 in q2, of y 1 of 4 and 2 of 4."""
    result = correct(graded, bank, sample(), measure="pair-share")

    assert result.boards[0].measure == "PairShare(min_grade=4)@20"
    assert values(result) == pytest.approx({"x": 0.375, "y": 0.375})


def test_judgments_correct_direct_grades(graded: Path) -> None:
    """The judge gives 1 and the judgment is 2; half of the passages of x are drawn with π = 1/2."""
    pairs = [
        SampledPair(query_id=row[0], passage_id=row[1], entry_id="direct", probability=0.5)
        for row in GRADES
        if row[1] in ("p1", "p4")
    ]
    drawn = sample(0.5, prompt_class="GradedRelevance", population=population("direct"))
    drawn.pairs = pairs
    result = correct(graded, None, drawn, reviewer="judgments", measure="label-mean", min_grade=2)

    assert [board.measure for board in result.boards] == ["Label@20", "Label>=2@20"]
    # x: (1 + 2 + 1) / 2 = 2 in q1, 3 in q2; y: 1 in q1, (1 + 3) / 2 in q2.
    assert values(result) == pytest.approx({"x": 2.5, "y": 1.5})
    # Shares: x has (2 + 0) / 2 in q1 and 2 in q2, a mean of 1.5, above the range; y 0 and (0 + 2) / 2.
    assert values(result, 1) == pytest.approx({"x": 1, "y": 0.5})
    assert "Estimates outside of the range of the measure are shown at its end." in result.notes


def test_nugget_scores_of_all_labels_are_those_of_the_person(write_jsonl: WriteJsonl) -> None:
    """V, W and A, strict and lenient, as `evaluate nuggets` computes them."""
    bank = write_jsonl("nuggets.jsonl", [bank_line("q1", "vvo"), bank_line("q2", "vo")])
    graded = write_jsonl(
        "answers.jsonl",
        [
            ["q1", [answer("x", "q1", "SPN", human_ana="PNS"), answer("y", "q1", "NNN", human_ana="SSP")]],
            ["q2", [answer("x", "q2", "SN", human_ana="PN"), answer("y", "q2", "SS", human_ana="NP")]],
        ],
    )
    pairs = [
        SampledPair(query_id=query, passage_id=f"{system}/{query}", entry_id=f"{query}/n{n}", probability=1)
        for query, size in (("q1", 3), ("q2", 2))
        for system in "xy"
        for n in range(1, size + 1)
    ]
    drawn = sample(
        model="judge",
        prompt_class="NuggetAssignment",
        population={
            query: [
                Block(
                    passages=[f"x/{query}", f"y/{query}"],
                    entries=[f"{query}/n{n}" for n in range(1, size + 1)],
                )
            ]
            for query, size in (("q1", 3), ("q2", 2))
        },
    ).model_copy(update={"pairs": pairs})
    result = correct(graded, bank, drawn, measure="nuggets")
    expected = {
        (row.metric, row.system): row.mean
        for row in standings(nugget_scores(graded, bank, reviewed=False)["human:ana"].scores)
        if row.metric != "L"
    }

    assert {
        (board.measure, row.system): row.scores.corrected.value
        for board in result.boards
        for row in board.systems
    } == pytest.approx(expected)


def test_pairs_without_a_label_lower_the_probabilities(graded: Path, bank: Path) -> None:
    """A label of one of two drawn pairs with π = 1: π becomes 1/2, as in the example by hand."""
    pairs = sample(1.0, [("p2", "b")]).pairs
    missing = SampledPair(query_id="q1", passage_id="nowhere", entry_id="q1/a", probability=1)
    result = correct(graded, bank, sample().model_copy(update={"pairs": [*pairs, missing]}))

    assert values(result) == pytest.approx({"x": 0.5, "y": 0.25})
    assert any("1 of 2 drawn pairs have no label" in note for note in result.notes)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"model": "gpt"}, {"grade_filter": GradeFilter(model=JUDGE)}, "--grader 'gpt'"),
        ({"prompt_class": "Other"}, {"grade_filter": GradeFilter(prompt_class=RATED)}, "--prompt 'Oth"),
        ({"cutoff": 5}, {"cutoff": 6}, "the first 5 ranks"),
        ({}, {"reviewer": "human:bo"}, "has grades of: human:ana"),
        ({}, {"reviewer": JUDGE}, "is also the judge"),
        ({"pairs": []}, {}, "None of the 0 sampled pairs has a label"),
        ({}, {"reviewer": "judgments"}, "use -m label-mean"),
        ({}, {"baseline": "z"}, "The baseline 'z' is not one of the systems: x, y."),
        ({}, {"measure": "nuggets"}, "another kind of prompt"),
    ],
)
def test_errors(
    graded: Path, bank: Path, changes: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        correct(graded, bank, sample().model_copy(update=changes), **options)


def of_judge(graded: Path, bank: Path | None, budget: int = 99) -> PairSample:
    """A sample as it is drawn from the grades of the judge."""
    return sample_pairs(graded, bank=bank, grade_filter=GradeFilter(JUDGE, RATED), budget=budget).sample


@pytest.mark.parametrize("measure", ["cover", "pair-share"])
def test_a_system_that_was_added_after_the_draw_is_named(
    graded: Path, bank: Path, write_jsonl: WriteJsonl, measure: Any
) -> None:
    """The draw knew only x. Of the added systems, y has two other passages, and z only passages of x."""
    rows = [(q, p, {"x": ranks["x"]}, *ratings) for q, p, ranks, *ratings in GRADES if "x" in ranks]
    small = written(write_jsonl, "small.jsonl", rows)
    pairs = of_judge(small, bank)
    added = [
        (q, p, ranks | ({"z": 1} if p in ("p2", "p4") else {}), *ratings) for q, p, ranks, *ratings in GRADES
    ]
    result = correct(written(write_jsonl, "added.jsonl", added), bank, pairs, measure=measure)

    assert [row.system for row in result.boards[0].systems] == ["x", "z"]
    (note,) = (note for note in result.notes if note.startswith("Not corrected"))
    assert "could not be drawn: y. Draw pairs from" in note
    alone = correct(small, bank, pairs, measure=measure)
    assert values(result)["x"] == values(alone)["x"]
    assert not any(note.startswith("Not corrected") for note in alone.notes)


def test_a_grade_that_was_added_after_the_draw(bank: Path, write_jsonl: WriteJsonl) -> None:
    """Without a grade of q2/b, p4 counts as not covering it, as at the draw. With one, x is not corrected."""
    rows = [("q2", "p4", {"x": 1}, (4,), (2,)), ("q2", "p5", {"y": 1}, (4, 4), (0, 4))]
    before = written(write_jsonl, "before.jsonl", rows)
    pairs = of_judge(before, bank)
    assert pairs.size == 3
    result = correct(before, bank, pairs)
    assert values(result) == {"x": 0, "y": 0.5}
    assert any(note.startswith("1 pair within the cutoff without a grade") for note in result.notes)
    later = written(write_jsonl, "later.jsonl", [("q2", "p4", {"x": 1}, (4, 4), (2, 4)), rows[1]])
    assert values(correct(later, bank, pairs)) == {"y": 0.5}


def test_an_ungraded_system_that_was_added_after_the_draw(bank: Path, write_jsonl: WriteJsonl) -> None:
    row = ("q1", "p1", {"x": 1}, (5, 0), (5, 0))
    pairs = of_judge(written(write_jsonl, "before.jsonl", [row]), bank)
    later = written(write_jsonl, "later.jsonl", [row, ("q1", "p2", {"y": 1}, None, (5, 5))])
    assert values(correct(later, bank, pairs)) == {"x": 0.5}


def test_queries_that_were_added_after_the_draw(graded: Path, bank: Path, tmp_path: Path) -> None:
    small = tmp_path / "small-bank.jsonl"
    small.write_text(bank.read_text().splitlines(keepends=True)[0])
    pairs = of_judge(graded, small)
    with pytest.raises(SelectionError, match=r"drawn without 1 query \(q2\): evaluate the queries of the dr"):
        correct(graded, bank, pairs)
    assert values(correct(graded, bank, pairs, queries=["q1"])) == values(correct(graded, small, pairs))


def test_entries_that_were_added_after_the_draw(graded: Path, bank: Path, tmp_path: Path) -> None:
    """A bank with fewer entries than that of the draw is sound, one with more is not."""
    small = tmp_path / "small-bank.jsonl"
    lines = [json.loads(line) for line in bank.read_text().splitlines()]
    small.write_text("".join(json.dumps(line | {"items": line["items"][:1]}) + "\n" for line in lines))
    with pytest.raises(SelectionError, match=r"drawn without 2 entries \(q1/b, q2/b\): use the --bank"):
        correct(graded, bank, of_judge(graded, small))
    pairs = of_judge(graded, bank)
    assert values(correct(graded, small, pairs)) == values(correct(graded, small, of_judge(graded, small)))


def test_without_a_system_whose_pairs_could_all_be_drawn(
    graded: Path, bank: Path, write_jsonl: WriteJsonl
) -> None:
    """p4, which both systems return, was added after the draw."""
    before = written(write_jsonl, "before.jsonl", (row for row in GRADES if row[1] != "p4"))
    with pytest.raises(SelectionError, match=r"Every system in .* use the file and the --cutoff of the draw"):
        correct(graded, bank, of_judge(before, bank))


def test_a_forged_cutoff_makes_no_pair_drawable(graded: Path, bank: Path) -> None:
    """Within 20 ranks, y has p3, which is not the first passage of a system. All passages of x are."""
    criteria = GradeFilter(JUDGE, RATED)
    pairs = sample_pairs(graded, bank=bank, grade_filter=criteria, budget=99, cutoff=1).sample
    result = correct(graded, bank, pairs.model_copy(update={"cutoff": 20}))
    assert [row.system for row in result.boards[0].systems] == ["x"]


def test_report(graded: Path, bank: Path) -> None:
    """The table of errors has Σ 1/π; pictures are for pages, columns of ends for scripts."""
    result = correct(graded, bank, sample(0.5))
    report, script = corrected_report(result), corrected_report(result, formatted=False)
    errors = tables_of(report)["Error of the judge, by its rating"]

    assert [row[:4] for row in errors.rows] == [
        [0, 6, 12, pytest.approx(1 / 3)],
        [4, 3, 6, pytest.approx(2 / 3)],
        [5, 1, 2, 0],
    ]
    assert "at least 6 queries" in notes_of(report)
    assert len(pictures_of(report)) == 2
    assert not pictures_of(script)
    assert "low" in tables_of(script)["Cover(min_grade=4)@20"].columns
