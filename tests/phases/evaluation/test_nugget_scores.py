"""Nugget scores of files: means over the bank's queries, what is missing, several graders, layouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.nugget_leaderboard import (
    ScoringRules,
    nugget_leaderboard,
    read_any_scores,
    read_conditions,
)
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.reports.evaluation.nugget_leaderboard import nugget_report
from exam_pp.results import Score
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.trec.scores import read_score_rows, write_score_rows
from tests.conftest import passage, rubric
from tests.phases.nugget_material import answer, assigned, bank_line
from tests.tables import notes_of, rows_of

WriteJsonl = Callable[[str, list[Any]], Path]
Run = Callable[..., str]


@pytest.fixture
def bank(write_jsonl: WriteJsonl) -> Path:
    return write_jsonl("nuggets.jsonl", [bank_line("q1", "vvo"), bank_line("q2", "vo")])


@pytest.fixture
def graded(write_jsonl: WriteJsonl) -> Path:
    """`full` answers both queries, `half` only the first; a label of `half` is invalid."""
    return write_jsonl(
        "answers.jsonl",
        [
            [
                "q1",
                [answer("full", "q1", "SPS", "one two three four"), answer("half", "q1", "S-N", "one two")],
            ],
            ["q2", [answer("full", "q2", "SN", "one two")]],
        ],
    )


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> str:
        main([str(argument) for argument in arguments])
        return capfd.readouterr().out

    return call


def single(actual: dict[str, Evaluation]) -> Evaluation:
    (evaluation,) = actual.values()
    return evaluation


def means(evaluation: Evaluation) -> dict[tuple[str, str], float]:
    return {(row.system, row.metric): row.mean for row in standings(evaluation.scores)}


def scores(evaluation: Evaluation, system: str, query_id: str) -> dict[str, float]:
    actual = [s for s in evaluation.scores if (s.system, s.query_id) == (system, query_id)]
    return {score.metric: score.value for score in actual}


def test_a_duplicate_answer_counts_once(write_jsonl: WriteJsonl, bank: Path) -> None:
    line = ["q1", [answer("a", "q1", "SSS", "one two three four")]]
    actual = single(nugget_scores(write_jsonl("twice.jsonl", [line, line]), bank))
    assert scores(actual, "a", "q1")["L"] == 4


def test_every_copy_of_a_nugget_has_a_label(write_jsonl: WriteJsonl) -> None:
    """The second of three copies has the second label, and so has the third: (1 + 0.5 + 0.5) / 3."""
    line = bank_line("q1", "vvv")
    for item in line["items"]:
        item["nugget_id"] = "q1/n1"
    given = answer("a", "q1", "S")
    given["exam_grades"][0]["assignments"].append({"nugget_id": "q1/n1", "assignment": "partial_support"})
    graded, bank = write_jsonl("g.jsonl", [["q1", [given]]]), write_jsonl("copies.jsonl", [line])
    evaluation = single(nugget_scores(graded, bank))
    assert scores(evaluation, "a", "q1")["A"] == 2 / 3
    assert evaluation.notes == [
        "2 duplicate nuggets in the bank: every copy counts, as in the published scores."
    ]


def test_means_over_the_queries_of_the_bank(graded: Path, bank: Path) -> None:
    """A missing answer scores 0, length included; an ungraded nugget counts 0 and gives a bound."""
    evaluation = single(nugget_scores(graded, bank))

    assert scores(evaluation, "full", "q1") == {
        "V_strict": 0.5, "V": 0.75, "W_strict": 0.6, "W": 0.8, "A_strict": 2 / 3, "A": 5 / 6, "L": 4,
    }  # fmt: skip
    assert scores(evaluation, "half", "q1")["V"] == 0.5
    assert set(scores(evaluation, "half", "q2").values()) == {0}
    actual = means(evaluation)
    assert actual["half", "V_strict"] == 0.25
    assert actual["half", "L"] == 1
    assert actual["full", "V"] == (0.75 + 1) / 2
    assert Score("half", "q1", "V_strict", 1.0) in evaluation.best_case
    assert "1 pair of an answer and a nugget" in " ".join(evaluation.notes)
    assert any("half has no answer with text to 1 query (q2)" in note for note in evaluation.notes)


def test_a_query_without_nuggets_has_no_score(write_jsonl: WriteJsonl, bank: Path) -> None:
    """Open RAG Eval gives the answer 0.5 if making nuggets fails; here the query is in no mean."""
    lines = [["q1", [answer("a", "q1", "SSS")]], ["q3", [answer("a", "q3", "")]]]
    evaluation = single(nugget_scores(write_jsonl("g.jsonl", lines), bank, missing_queries="skip"))
    assert scores(evaluation, "a", "q3") == {}
    assert means(evaluation)["a", "A"] == scores(evaluation, "a", "q1")["A"]


def test_the_reserved_query_id_is_refused(write_jsonl: WriteJsonl) -> None:
    graded = write_jsonl("all.jsonl", [["all", [answer("s", "all", "S", "one")]]])
    with pytest.raises(SelectionError, match=r"'all'.* reserved"):
        nugget_scores(graded, write_jsonl("bank.jsonl", [bank_line("all", "v")]))


def test_an_empty_answer_scores_zero_and_keeps_its_run(write_jsonl: WriteJsonl, bank: Path) -> None:
    """TREC RAG 2024 has such a run: all 0 in Table 8."""
    empty = answer("silent", "q1", "", " ")
    graded = write_jsonl("answers.jsonl", [["q1", [answer("full", "q1", "SSS"), empty]]])
    evaluation = single(nugget_scores(graded, bank))

    assert {value for (system, _), value in means(evaluation).items() if system == "silent"} == {0}
    assert evaluation.best_case == [], "nothing is ungraded"
    assert "1 query (q2) of the bank" in " ".join(evaluation.notes)


def test_queries_without_vital_nuggets(write_jsonl: WriteJsonl) -> None:
    """V is 0 there, as in the track's code, or undefined."""
    bank = write_jsonl("bank.jsonl", [bank_line("q1", "vo"), bank_line("q2", "oo"), bank_line("q3", "?")])
    lines = [
        ["q1", [answer("a", "q1", "NS")]],
        ["q2", [answer("a", "q2", "SS")]],
        ["q3", [answer("a", "q3", "S")]],
    ]
    lines[0] = ["q1", [answer("a", "q1", "PS")]]
    graded = write_jsonl("g.jsonl", lines)
    evaluation = single(nugget_scores(graded, bank))
    skipping = single(nugget_scores(graded, bank, missing_vital="skip"))

    actual, skipped = means(evaluation), means(skipping)
    assert (actual["a", "V"], skipped["a", "V"]) == (0.5 / 3, 0.5), "the mean over q1 to q3; over q1"
    assert actual["a", "W"] == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert skipped["a", "W"] == pytest.approx((2 / 3 + 1) / 2)
    assert actual["a", "A"] == skipped["a", "A"] == (0.75 + 1 + 1) / 3
    notes = " ".join(evaluation.notes)
    assert "No vital nugget for 2 queries (q2, q3): V and V_strict are 0 there." in notes
    assert "(q2, q3): V and V_strict are undefined there, and not in their means." in skipping.notes[0]
    assert "No vital or okay nugget for 1 query (q3)" in notes
    assert "1 nugget is neither vital nor okay" in notes


def test_parts_of_an_answer_are_merged(write_jsonl: WriteJsonl, bank: Path) -> None:
    parts = [answer("a", "q1", "NPN", "one two", part=1), answer("a", "q1", "SNN", "three", part=2)]
    evaluation = single(nugget_scores(write_jsonl("g.jsonl", [["q1", parts]]), bank))

    assert scores(evaluation, "a", "q1")["V"] == 0.75, "the best label of each nugget"
    assert scores(evaluation, "a", "q1")["L"] == 3
    assert "1 system (a) " in " ".join(evaluation.notes)


def test_queries_without_labels_of_a_grader_are_noted(write_jsonl: WriteJsonl, bank: Path) -> None:
    """Means are over all queries of the bank, also for a judge who labelled only some of them."""
    lines = [["q1", [answer("a", "q1", "SSS", human_ann="SSS")]], ["q2", [answer("a", "q2", "SS")]]]
    actual = nugget_scores(write_jsonl("g.jsonl", lines), bank, reviewed=False)

    assert means(actual["human:ann"])["a", "A"] == 0.5
    assert "This grader labelled no answer to 1 query (q2)" in " ".join(actual["human:ann"].notes)
    assert "labelled no answer" not in " ".join(actual["judge"].notes)


def test_labels_of_people_count_in_place_of_the_judges(write_jsonl: WriteJsonl, bank: Path) -> None:
    """Where several people labelled, the median counts; so do labels of what the judge did not label."""
    given = answer("a", "q1", "SSS", human_ann="NNS", human_bo="NSS", human_cy="NSS")
    alone = answer("b", "q1", "", human_ann="SSS")
    graded = write_jsonl("g.jsonl", [["q1", [given, alone]], ["q2", [answer("a", "q2", "SS")]]])
    evaluation = nugget_scores(graded, bank)["NuggetAssignment"]

    assert scores(evaluation, "a", "q1")["A"] == 2 / 3
    assert scores(evaluation, "b", "q1")["A"] == 1
    assert evaluation.provenance
    assert evaluation.provenance.models == ("reviewed:judge",)
    assert evaluation.provenance.reviewed == (
        "4 of 8 ratings changed by 3 people, who checked 6; they disagree on 1, where the median counts",
    )
    only_judge = nugget_scores(graded, bank, grade_filter=GradeFilter(model="judge"))
    assert scores(single(only_judge), "a", "q1")["A"] == 1


def test_later_assignments_of_one_grader_win(write_jsonl: WriteJsonl, bank: Path) -> None:
    given = answer("a", "q1", "NNN")
    given["exam_grades"].append(assigned("q1", "S"))
    graded = write_jsonl("g.jsonl", [["q1", [given]]])

    assert scores(single(nugget_scores(graded, bank)), "a", "q1")["V_strict"] == 0.5
    first = single(nugget_scores(graded, bank, grade_filter=GradeFilter(choice="first")))
    assert scores(first, "a", "q1")["V_strict"] == 0


def test_ratings_of_a_reviewer_are_labels(write_jsonl: WriteJsonl, bank: Path) -> None:
    """A review writes ratings without labels."""
    given = answer("a", "q1", "", human_ann="SNP")
    for grades in given["exam_grades"]:
        del grades["assignments"]
    graded = write_jsonl("g.jsonl", [["q1", [given]]])

    assert scores(single(nugget_scores(graded, bank)), "a", "q1")["A"] == 0.5


def test_retrieved_passages_are_not_answers(write_jsonl: WriteJsonl, bank: Path) -> None:
    ranking = {"method": "bm25", "paragraphId": "d1", "queryId": "q1", "rank": 1, "score": 1.0}
    retrieved = passage(
        "d1", paragraph_data={"judgments": [], "rankings": [ranking]}, exam_grades=[rubric({"q1/n1": 5})]
    )
    graded = write_jsonl("g.jsonl", [["q1", [answer("a", "q1", "SSS"), retrieved]]])
    evaluation = single(nugget_scores(graded, bank))

    assert evaluation.systems == ["a"]
    assert "1 system (bm25) without" in " ".join(evaluation.notes)
    parts = [answer("b", "q1", "SNN", part=1), answer("b", "q1", "NSS", part=2)]
    for each, role in zip(parts, ("answer", "retrieved"), strict=True):
        each["paragraph_data"]["rankings"][0]["role"] = role
    both = single(nugget_scores(write_jsonl("g.jsonl", [["q1", parts]]), bank))
    assert scores(both, "b", "q1")["A"] == 1 / 3


@pytest.mark.parametrize(
    ("lines", "options", "error"),
    [
        ([["q1", [passage("p", exam_grades=[rubric({"q1/n1": 4})])]]], {}, r"g\.jsonl.*SelfRated"),
        ([["q1", [answer("a", "q1", "SSS")]]], {"model": "other"}, r"g\.jsonl.*'judge'"),
        ([["q1", [passage("p", exam_grades=[assigned("q1", "S")])]]], {}, r"system .*g\.jsonl"),
        ([["q9", [answer("a", "q9", "S")]]], {}, r"g\.jsonl.*nuggets\.jsonl"),
    ],
)  # fmt: skip
def test_missing_assignments_are_refused(
    write_jsonl: WriteJsonl, bank: Path, lines: list[Any], options: dict[str, Any], error: str
) -> None:
    with pytest.raises(SelectionError, match=error):
        nugget_scores(write_jsonl("g.jsonl", lines), bank, grade_filter=GradeFilter(**options))


def test_a_bank_of_questions_has_no_nugget_scores(graded: Path, tiny_bank: Path) -> None:
    with pytest.raises(SelectionError, match="contains questions"):
        nugget_scores(graded, tiny_bank)


def test_two_versions_of_a_prompt_are_not_mixed(write_jsonl: WriteJsonl, bank: Path) -> None:
    given = answer("a", "q1", "SSS")
    for number, info in enumerate(("1" * 16, "2" * 16)):
        grades = given["exam_grades"][0] if not number else assigned("q1", "NNN")
        grades["prompt_info"] = {"prompt_class": "NuggetAssignment", "prompt_hash": info}
        given["exam_grades"][number:] = [grades]
    graded = write_jsonl("g.jsonl", [["q1", [given]]])

    with pytest.raises(SelectionError, match=f"--grades hash: {'1' * 16}, {'2' * 16}"):
        nugget_scores(graded, bank)
    chosen = single(nugget_scores(graded, bank, grade_filter=GradeFilter(prompt_hash="2" * 16)))
    assert scores(chosen, "a", "q1")["A"] == 0


def test_the_queries_of_a_file(graded: Path, bank: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\ttext\n")
    evaluation = single(nugget_scores(graded, bank, queries=queries))

    assert means(evaluation)["half", "L"] == 2
    queries.write_text("q9\ttext\n")
    with pytest.raises(SelectionError, match=r"queries\.tsv"):
        nugget_scores(graded, bank, queries=queries)


def test_the_layout_of_the_paper(graded: Path, bank: Path, tmp_path: Path) -> None:
    types = tmp_path / "types.tsv"
    types.write_text("run_id\ttask\nfull\tRAG\nhalf\tAG\n")
    report = nugget_report(nugget_leaderboard(read_conditions([graded], [bank]), run_types=types))
    rows = rows_of(report)

    names = ["Run ID", "Task", "V_strict", "bounds", "V", "W_strict", "W", "A_strict", "A", "L"]
    assert list(rows[0]) == names
    assert [(row["Run ID"], row["Task"], row["L"].strip()) for row in rows] == [
        ("full", "RAG", "3.00"),
        ("half", "AG", "1.00"),
        ("Min", None, "1.00"),
        ("Median", None, "2.00"),
        ("Max", None, "3.00"),
    ]
    assert rows[1]["bounds"] == "[0.2500, 0.5000]"
    assert "Means over 2 queries, sorted by V_strict." in notes_of(report)


def test_means_over_fewer_queries_are_noted(tmp_path: Path) -> None:
    """A run without scores for hard topics could win unnoticed; V is undefined for a third topic."""
    for run, topics in (("a", ["1"]), ("b", ["1", "2", "3"])):
        rows = [Score(run, t, metric, 0.5) for t in topics for metric in ("A", "V")[: 1 + (t != "3")]]
        write_score_rows(rows, tmp_path / f"{run}.jsonl")
    notes = notes_of(nugget_report(nugget_leaderboard(read_conditions([tmp_path]))))

    assert notes == (
        "Means over 3 queries (V 2), sorted by V. Some means are over fewer queries: a has V of 1 of 2. "
        "Min, Median and Max are over the runs of each query, averaged over the queries."
    )


def test_a_folder_of_scores_has_no_silent_part(tmp_path: Path) -> None:
    """Manifests belong to their files; a folder in the folder is not skipped."""
    write_score_rows([Score("a", "1", "A", 0.5)], tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl.manifest.json").write_text("{}")
    assert [score.system for score in read_any_scores(tmp_path)] == ["a"]
    (tmp_path / "more").mkdir()
    with pytest.raises(DataError, match="has the folder 'more'; name that folder, too, or move it"):
        read_any_scores(tmp_path)


def test_a_judge_and_a_model_are_two_conditions(write_jsonl: WriteJsonl, bank: Path) -> None:
    """ManualAssign beside AutoAssign, in the leaderboard of one file."""
    lines = [
        ["q1", [answer("a", "q1", "SSS", human_ann="NNN"), answer("b", "q1", "NNN", human_ann="SNN")]],
        ["q2", [answer("a", "q2", "SS", human_ann="SN"), answer("b", "q2", "SN", human_ann="SN")]],
    ]
    graded = write_jsonl("g.jsonl", lines)
    conditions = read_conditions([graded], [bank], rules=ScoringRules(reviewed=False))
    rows = rows_of(nugget_report(nugget_leaderboard(conditions)))

    assert [condition.name for condition in conditions] == ["judge", "human:ann"]
    assert [row["Run ID"] for row in rows] == ["a", "b", "Min", "Median", "Max"]
    assert [(row["judge V_strict"], row["human:ann V_strict"]) for row in rows] == [
        (1, 0.5), (0.5, 0.75), (0.5, 0.5), (0.75, 0.625), (1, 0.75),
    ]  # fmt: skip
    assert list(rows[0]).count("L") == 1


def test_edited_nuggets(run: Run, graded: Path, bank: Path, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """AutoNuggets+Edits: removed nuggets do not count, new nuggets are ungraded until they are labelled."""
    edits = tmp_path / "edits.json"
    changes = [
        {"op": "remove", "query_id": "q1", "id": "q1/n2"},
        {"op": "importance", "query_id": "q1", "id": "q1/n3", "value": "vital"},
        {"op": "add", "query_id": "q2", "text": "a new fact"},
    ]
    edits.write_text(json.dumps({"format": "exam_pp.edits.v1", "reviewer": "ann", "bank": changes}))
    edited = tmp_path / "edited.jsonl"
    run("bank", "apply", bank, edits, "-o", edited, "--force")
    evaluation = single(nugget_scores(graded, edited))

    assert scores(evaluation, "full", "q1")["V_strict"] == 1, "n1 and n3 are supported"
    assert scores(evaluation, "full", "q2")["A"] == 1 / 3, "one of three; the new one is open"
    assert Score("full", "q2", "A", 2 / 3) in evaluation.best_case
    new = read_bank(edited).lines[1].items[-1].entry_id
    manual = assigned("q2", "SN", "human:ann")
    manual["assignments"].append({"nugget_id": new, "assignment": "support"})
    answers = answer("full", "q2", "")
    answers["exam_grades"] = [manual]
    labelled = write_jsonl("manual.jsonl", [["q2", [answers]]])
    conditions = read_conditions([graded, labelled], [edited], names=["AutoAssign", "ManualAssign"])
    rows = rows_of(nugget_report(nugget_leaderboard(conditions)))

    assert [row["Run ID"] for row in rows[:2]] == ["full", "half"]
    assert rows[0]["ManualAssign A"] == (0 + 2 / 3) / 2, "ann labelled the answer to q2 alone"
    assert rows[1]["ManualAssign A"] is None


@pytest.mark.parametrize(
    ("banks", "names", "error"),
    [(0, (), "--bank"), (3, (), "3 .* 2 .*--bank"), (1, ("one",), "1 .* 2 .*--name")],
)
def test_invalid_conditions(graded: Path, bank: Path, banks: int, names: tuple[str, ...], error: str) -> None:
    with pytest.raises(SelectionError, match=error):
        read_conditions([graded, graded], [bank] * banks, names=names)


def test_score_rows_are_read_back(run: Run, graded: Path, bank: Path, tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    run("evaluate", "nuggets", graded, "--bank", bank, "--format", "jsonl", "-o", path)
    rows = list(read_score_rows(path))

    assert Score("half", "all", "V_strict", 0.25) in rows
    again = run("evaluate", "nuggets", path, "--format", "tsv").splitlines()
    direct = run("evaluate", "nuggets", graded, "--bank", bank, "--format", "tsv").splitlines()
    fields = [line.split("\t") for line in direct]
    without_bounds = [i for i, name in enumerate(fields[0]) if not name.endswith((" case", " open"))]
    assert [line.split("\t") for line in again] == [[line[i] for i in without_bounds] for line in fields]
    assert run("evaluate", "nuggets", graded, "--bank", bank, "--per-query", "--format", "tsv").startswith(
        "system\tquery\tmeasure\tvalue\nfull\tq1\tV_strict\t0.500000\n"
    )


def test_the_layout_of_trec_eval(run: Run, graded: Path, bank: Path) -> None:
    out = run("evaluate", "nuggets", graded, "--bank", bank, "--format", "trec_eval")

    assert all(len(line.split("\t")) == 3 for line in out.splitlines())
    assert any(line.startswith("V_strict") for line in out.splitlines())


def test_selected_runs(graded: Path, bank: Path) -> None:
    (condition,) = read_conditions([graded], [bank], runs=["half"])
    assert condition.evaluation.systems == ["half"]
    assert rows_of(nugget_report(nugget_leaderboard([condition])))[0]["bounds"] == "[0.2500, 0.5000]"
    with pytest.raises(SelectionError, match=r"'third'.* full, half"):
        read_conditions([graded], [bank], runs=["third"])


def test_contradictory_run_types(graded: Path, bank: Path, tmp_path: Path) -> None:
    types = tmp_path / "types.tsv"
    types.write_text("full\tRAG\nfull\tAG\n")
    with pytest.raises(DataError, match=r"'full'.* types") as error:
        nugget_report(nugget_leaderboard(read_conditions([graded], [bank]), run_types=types))
    assert (error.value.file, error.value.line) == (str(types), 2)


def test_missing_queries_can_be_skipped(graded: Path, bank: Path, write_jsonl: WriteJsonl) -> None:
    """As the track's code, whose means are over the answers in the file; empty answers are in the file."""
    evaluation = single(nugget_scores(graded, bank, missing_queries="skip"))
    assert scores(evaluation, "half", "q2") == {}
    assert means(evaluation)["half", "V"] == 0.5
    assert means(evaluation)["full", "V"] == (0.75 + 1) / 2
    assert "half has no answer to 1 query (q2): not in its means." in evaluation.notes
    assert all(score.query_id == "q1" for score in evaluation.best_case if score.system == "half")

    lines = [["q1", [answer("full", "q1", "SSS"), answer("silent", "q1", "", " ")]]]
    evaluation = single(nugget_scores(write_jsonl("empty.jsonl", lines), bank, missing_queries="skip"))
    assert scores(evaluation, "silent", "q1")["A"] == 0
    assert "q2" not in {score.query_id for score in evaluation.scores}


def test_retrieved_passages_count_to_a_cutoff(write_jsonl: WriteJsonl, bank: Path) -> None:
    """The cutoff is a rank: missing ranks stay empty, and ranks may begin with 0."""

    def ranked(system: str, rank: int, labels: str) -> dict[str, Any]:
        part = answer(system, "q1", labels, "two words", part=rank + 1)
        part["paragraph_data"]["rankings"][0]["rank"] = rank
        return part

    lines = [
        [
            "q1",
            [
                *(ranked("one", rank, labels) for rank, labels in ((3, "NNS"), (1, "SNN"), (4, "NSN"))),
                *(ranked("zero", rank, labels) for rank, labels in ((0, "SNN"), (1, "NSN"), (2, "NNS"))),
            ],
        ]
    ]
    graded = write_jsonl("retrieved.jsonl", lines)

    def values(cutoff: int | None) -> dict[str, tuple[float, float]]:
        evaluation = single(nugget_scores(graded, bank, cutoff=cutoff))
        of = {system: scores(evaluation, system, "q1") for system in ("one", "zero")}
        return {system: (scores["A"], scores["L"]) for system, scores in of.items()}

    assert values(1) == {"one": (1 / 3, 2), "zero": (1 / 3, 2)}
    assert values(2) == {"one": (1 / 3, 2), "zero": (2 / 3, 4)}
    assert values(3) == {"one": (2 / 3, 4), "zero": (1, 6)}
    assert values(4) == values(None) == {"one": (1, 6), "zero": (1, 6)}
    provenance = single(nugget_scores(graded, bank, cutoff=2)).provenance
    assert provenance is not None
    assert provenance.cutoff == 2


def test_min_median_and_max_are_averages_over_queries(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    """Worked by hand; in Tables 6 to 8 of the paper, too, Max is above the best run (.8148 and .6666)."""
    for run, values in {"a": (1.0, 0.0, 0.5), "b": (0.0, 1.0, 0.5), "c": (0.25, 0.5, 0.5)}.items():
        rows = [Score(run, str(topic), "A", value) for topic, value in enumerate(values)]
        write_score_rows(rows, tmp_path / f"{run}.jsonl")
    rows_by_run = rows_of(nugget_report(nugget_leaderboard(read_conditions([tmp_path]))))
    assert {row["Run ID"]: row["A"] for row in rows_by_run} == {
        "a": 0.5, "b": 0.5, "c": 1.25 / 3,
        "Min": 0.5 / 3, "Median": 1.25 / 3, "Max": 2.5 / 3,
    }  # fmt: skip


def test_sanity_rows(run: Run, graded: Path, write_jsonl: WriteJsonl) -> None:
    """As the runs all_nuggets and test_empty_list of Table 8: the bounds, which V of q3 lowers."""
    bank = write_jsonl("b.jsonl", [bank_line("q1", "vvo"), bank_line("q2", "vo"), bank_line("q3", "o")])
    command = ("evaluate", "nuggets", graded, "--bank", bank, "--canaries")
    names, *rows = [line.split("\t") for line in run(*command, "--format", "tsv").splitlines()]
    table = {row[0]: dict(zip(names, row, strict=True)) for row in rows}

    assert list(table) == ["full", "half", "_all_nuggets_", "_empty_answers_"]
    full = table["_all_nuggets_"]
    assert (full["V_strict"], full["W"], full["A"]) == ("0.666667", "1.000000", "1.000000")
    assert float(full["L"]) == 8, "four words in each of six nuggets of three queries"
    assert {table["_empty_answers_"][name] for name in ("V", "W", "A")} == {"0.000000"}
    assert run(*command).count("_all_nuggets_") == 2, "the row and a note"


def test_scores_without_nuggets_have_no_sanity_rows(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("run\tV_strict\na\t0.5\nb\t0.25\n")
    assert not nugget_leaderboard(read_conditions([table]), sanity=True).sanity


def test_ratings_beyond_the_labels_label_nothing(write_jsonl: WriteJsonl, bank: Path) -> None:
    """A prompt of assignments has the ratings 0, 1 and 2."""
    given = answer("a", "q1", "SSS")
    (grades,) = given["exam_grades"]
    del grades["assignments"]
    grades["self_ratings"][0]["self_rating"] = 5
    evaluation = single(nugget_scores(write_jsonl("g.jsonl", [["q1", [given]]]), bank))
    assert scores(evaluation, "a", "q1")["A"] == 2 / 3
    assert any("1 pair of an answer and a nugget is ungraded" in note for note in evaluation.notes)
