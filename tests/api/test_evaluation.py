"""Evaluation from Python: equal results of objects, files and commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.grade_filter import GradeFilter

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture(scope="session")
def demo(demo_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graded demo collection."""
    folder = tmp_path_factory.mktemp("demo")
    main(
        f"import --runs {demo_data / 'runs'} --texts {demo_data / 'passages.tsv'} --top 5 "
        f"--qrels {demo_data / 'qrels.txt'} -o {folder / 'passages.jsonl.gz'}".split()
    )
    bank = demo_data / "questions.jsonl"
    graded = folder / "graded.jsonl.gz"
    exam_pp.grade_file(folder / "passages.jsonl.gz", graded, bank=bank, prompts=RATED, model="lexical")
    return graded


@pytest.fixture
def bank(demo_data: Path) -> Path:
    return demo_data / "questions.jsonl"


def test_cover_of_files_equals_cover_of_objects(demo: Path, bank: Path) -> None:
    of_files = exam_pp.cover(demo, bank, cutoff=5)
    of_objects = exam_pp.cover(exam_pp.read_passages(demo), exam_pp.read_bank(bank), cutoff=5)
    assert (of_files.scores, of_files.notes) == (of_objects.scores, of_objects.notes)
    selected = exam_pp.cover(demo, bank, cutoff=5, queries=["d01", "d02"])
    assert {score.query_id for score in selected.scores} == {"d01", "d02"}


def test_the_leaderboard_equals_the_output_of_the_command(
    demo: Path, bank: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    main(f"-q evaluate cover {demo} --bank {bank} --intervals queries --significance --format json".split())
    printed = json.loads(capfd.readouterr().out)
    leaderboard = exam_pp.leaderboard(exam_pp.cover(demo, bank), intervals="queries", significance=True)
    first = [row for row in leaderboard if row.metric == leaderboard.metrics[0]]
    columns = ("", " stderr", " low", " high", " rank low", " rank high", " letters")
    assert [
        [row["system"], *(row[f"{leaderboard.metrics[0]}{column}"] for column in columns)]
        for row in printed["tables"][0]["rows"]
    ] == [
        [row.system, row.mean, row.stderr, row.low, row.high, row.rank_low, row.rank_high, row.letters]
        for row in first
    ]
    assert sorted(leaderboard.notes) == sorted(set(leaderboard.notes) & set(printed["notes"]))


def test_scores_against_labels_have_bounds(demo: Path, bank: Path, demo_data: Path, tmp_path: Path) -> None:
    labels = exam_pp.rubric_qrels(demo, bank)
    scored = exam_pp.score_runs(labels, demo_data / "runs", ["nDCG@10"])
    assert scored.best_case
    assert scored.notes[: len(labels.notes)] == labels.notes
    exam_pp.write_qrels(labels.qrels, tmp_path / "rubric.qrels")
    read_back = exam_pp.read_qrels(tmp_path / "rubric.qrels")
    assert exam_pp.score_runs(read_back, demo_data / "runs").scores == scored.scores
    assert exam_pp.score_runs(str(tmp_path / "rubric.qrels"), demo_data / "runs").scores == scored.scores


def test_scores_of_run_lines_equal_scores_of_run_files(demo_data: Path) -> None:
    files = [demo_data / "runs" / f"{name}.run" for name in ("bm25", "tf")]
    lines = [line for file in files for line in exam_pp.read_run(file)]
    qrels = demo_data / "qrels.txt"
    alone = [score for file in files for score in exam_pp.score_runs(qrels, file, ["AP"]).scores]
    assert list(exam_pp.score_runs(qrels, lines, ["AP"]).scores) == alone
    with pytest.raises(exam_pp.ExamError, match=r"'bm25' .* twice"):
        exam_pp.score_runs(qrels, [*lines, lines[0]])
    with pytest.raises(exam_pp.ExamError, match="list has results"):
        exam_pp.score_runs(qrels, [lines[0]._replace(query_id="none")])


def test_errors_name_objects_in_memory(demo: Path, bank: Path) -> None:
    ungraded = [exam_pp.QueryPassages("q", [exam_pp.Passage(passage_id="p", text="A text.")])]
    with pytest.raises(exam_pp.ExamError, match="no grades"):
        exam_pp.cover(ungraded)
    with pytest.raises(exam_pp.ExamError, match="list of queries"):
        exam_pp.cover(demo, bank, queries=["none"])
    with pytest.raises(exam_pp.ExamError, match="no judgments"):
        exam_pp.judgments(ungraded)


def test_correlation_is_over_the_common_systems(tmp_path: Path) -> None:
    result = exam_pp.correlate({"a": 0.9, "b": 0.5, "c": 0.1, "d": 0.0}, {"a": 1, "c": 2, "b": 3}, top=1)
    assert result == pytest.approx((3, 0.5, 1 / 3, 0.5, 1.0))
    ranks = tmp_path / "official.json"
    ranks.write_text('{"a": 1, "long-na...": 2}')
    assert exam_pp.correlate({"a": 2.0, "long-name": 1.0}, ranks).kendall == pytest.approx(1)
    with pytest.raises(exam_pp.ExamError, match=r"official ranks .*0 systems"):
        exam_pp.correlate({"a": 1.0}, {"b": 1})
    leaderboard = exam_pp.leaderboard([exam_pp.Score(s, "q", "RR", v) for s, v in (("a", 0.2), ("b", 0.1))])
    assert exam_pp.correlate(leaderboard, {"a": 1, "b": 2}, metric="RR").spearman == pytest.approx(1)
    with pytest.raises(KeyError, match="AP"):
        exam_pp.correlate(leaderboard, {"a": 1, "b": 2}, metric="AP")


def test_agreement_is_over_the_common_passages() -> None:
    """Labels (0, 0), (0, 1), (1, 1): agreement 2/3, by chance 4/9."""
    first = [exam_pp.Qrel("q", name, label) for name, label in zip("abcd", (0, 0, 1, 1), strict=True)]
    second = [exam_pp.Qrel("q", name, label) for name, label in zip("abce", (0, 1, 1, 1), strict=True)]
    result = exam_pp.agreement(first, second)
    assert result.passages == 3
    assert result.kappa == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    with pytest.raises(exam_pp.ExamError, match="no passage in common"):
        exam_pp.agreement(first, [exam_pp.Qrel("q", "z", 1)])


def test_the_table_of_grades(demo: Path) -> None:
    table = exam_pp.grade_table(demo, GradeFilter(model="lexical"))
    ratings = {
        (query.query_id, passage.passage_id, entry): rating
        for query in exam_pp.read_passages(demo)
        for passage in query.passages
        for grades in passage.grade_sets()
        for entry, rating in grades.entry_ratings().items()
    }
    assert {(row.query_id, row.passage_id, row.entry_id): row.rating for row in table} == ratings
    assert all(row.expected is not None and 0 <= row.expected <= 5 for row in table)
    assert list(exam_pp.grade_table(list(exam_pp.read_passages(demo)))) == list(table)
    with pytest.raises(exam_pp.ExamError, match="lexical"):
        exam_pp.grade_table(demo, GradeFilter(model="nobody"))
