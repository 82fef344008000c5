"""The whole evaluation in a folder, and figures of commands."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.scores import read_means
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.reports.analysis.evaluation_page import write_evaluation
from exam_pp.reports.analysis.report_folder import Sources

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
ASSIGNED = "NuggetAssignmentPointwise"
SHOWN_RATED, SHOWN_ASSIGNED = "self-rated", "nugget-assignment-pointwise"
"""The short names on the page."""
QUICK = Statistics("queries", significance=True, samples=100)


def links_of(page: str) -> list[str]:
    """The addresses of all links and sources of a page, without those of its own sections."""
    found = re.findall(r'(?:href|src|action|srcset)="([^"]*)"', page)
    return [unescape(target) for target in found if not target.startswith(("#", "data:"))]


def text_of(html: str) -> str:
    """The text of a part of a page, without tags."""
    return unescape(re.sub(r"<[^>]+>", "", html))


def sections(page: str) -> list[str]:
    return [text_of(title) for title in re.findall(r"<h2[^>]*>(.*?)</h2>", page)]


def part(page: str, title: str) -> str:
    """The table of a page with this title."""
    start = page.index(f"<caption><span>{title}")
    return page[start : page.index("</table>", start)]


def folds(page: str) -> list[str]:
    """The folded sections, each to its end."""
    return re.findall(r'(?s)<details class="panel fold">.*?</div></details>\n', page)


def first_screen(page: str) -> str:
    """What a reader sees before anything is unfolded."""
    page = page[page.index("<main") : page.index("</main>")]
    for fold in folds(page):
        page = page.replace(fold, "")
    return page


def checks(page: str) -> list[str]:
    """The lines of "Can I believe it?", each after its mark."""
    return [
        f"{mark}: {text_of(text).replace(chr(0xA0), ' ')}"
        for mark, text in re.findall(r'<li class="(\w+)"><span [^>]*>.</span>(.*?)</li>', page)
    ]


def rows_of(section: str) -> list[list[str]]:
    """The texts of the cells of all tables, without the column names."""
    rows = re.findall(r"<tr>(.*?)</tr>", section)
    return [cells for row in rows if (cells := [text_of(c) for c in re.findall(r"<td[^>]*>(.*?)</td>", row)])]


@pytest.fixture(scope="module")
def demo(demo_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo collection, with ratings of two graders and nuggets assigned by the lexical baseline."""
    folder, data = tmp_path_factory.mktemp("demo"), demo_data
    names = ["questions.jsonl", "nuggets.jsonl", "official_leaderboard.json", "qrels.txt", "queries.jsonl"]
    for name in names:
        shutil.copy(data / name, folder)
    (folder / "runs").mkdir()
    for system in ("rerank", "bm25", "random"):
        shutil.copy(data / "runs" / f"{system}.run", folder / "runs")
    runs, texts = ["--runs", str(folder / "runs")], ["--texts", str(data / "passages.tsv")]
    queries, qrels = ["--queries", str(data / "queries.jsonl")], ["--qrels", str(folder / "qrels.txt")]
    steps = [folder / f"{number}.jsonl" for number in range(4)]
    main(["-q", "import", *runs, *texts, *queries, *qrels, "--top", "3", "-o", str(steps[0])])
    for number, (bank, prompt_class, model) in enumerate(
        [("questions", RATED, "lexical"), ("questions", RATED, "random"), ("nuggets", ASSIGNED, "lexical")]
    ):
        asked = ["--bank", str(folder / f"{bank}.jsonl"), "--prompt", prompt_class, "--model", model]
        main(["-q", "grade", str(steps[number]), *asked, "-o", str(steps[number + 1])])
    steps[3].rename(folder / "graded.jsonl")
    steps[0].rename(folder / "ungraded.jsonl")
    steps[1].rename(folder / "one-grader.jsonl")
    return folder


def all_inputs(demo: Path, **options: Any) -> Sources:
    return Sources(
        demo / "graded.jsonl",
        [demo / "questions.jsonl", demo / "nuggets.jsonl"],
        [demo / "runs"],
        demo / "official_leaderboard.json",
        demo / "qrels.txt",
        measures=("nDCG@3", "RR@3"),
        cutoff=3,
        command="exam-pp evaluate report graded.jsonl",
        **options,
    )


@pytest.fixture(scope="module")
def folder(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all inputs."""
    return write_evaluation(all_inputs(demo), tmp_path_factory.mktemp("report"), QUICK).parent


def test_the_first_screen_has_the_verdict_one_leaderboard_and_checks(folder: Path) -> None:
    page = (folder / "index.html").read_text()
    shown = first_screen(page)

    assert sections(page) == [
        "Leaderboard", "Can I believe it?",
        "What rerank has and bm25 lacks", "What bm25 has and rerank lacks",
        "Where systems differ", "Evidence and all measures", "How it was made",
    ]  # fmt: skip
    assert '<p class="panel statement"><strong>' in shown
    assert shown.count("<table") == 1
    systems = re.findall(r'<tr[^>]*><th scope="row">(.*?)</th>', shown)
    assert sorted(systems) == ["bm25", "random", "rerank"]
    rows = read_means(folder / f"cover-lexical-{RATED}.tsv")
    scores = {row.system: row.value for row in rows if row.metric == "Cover(min_grade=4)@3"}
    assert systems == sorted(systems, key=lambda system: -scores[system])
    assert all(f">{100 * scores[system]:.0f}\N{NO-BREAK SPACE}%<" in shown for system in systems)
    assert "Upper bound: all graded passages together score" in shown
    assert "_overall_" not in shown
    assert page.count("<table") <= 22
    assert page.count("<figure") == 1


def test_the_page_is_self_contained(folder: Path) -> None:
    """Links lead to files of the folder only, and nothing is loaded from elsewhere."""
    page = (folder / "index.html").read_text()
    targets = {target.partition("#")[0] for target in links_of(page)}

    assert targets == {unquote(target) for target in targets}
    assert targets == {file.name for file in folder.iterdir()} - {"index.html"}
    assert not re.search(r"https?:|<img|<link|@import|url\(", re.sub(r"(?s)<script>.*?</script>", "", page))
    assert page.count("<script") <= 1, "the script of the page itself"


def test_leaderboards_name_their_graders(folder: Path) -> None:
    page = (folder / "index.html").read_text()
    boards = {row[1]: row for row in rows_of(part(page, "All leaderboards"))}

    for title in ("Rubric-Cover", "Rubric-Qrels"):
        assert {f"{title}: {model} {SHOWN_RATED}" for model in ("lexical", "random")} <= boards.keys()
    assert f"Nugget scores: lexical {SHOWN_ASSIGNED}" in boards
    scores = {row[0]: row[1:] for row in rows_of(part(page, "Scores of all leaderboards"))}
    first = rows_of(part(page, "All leaderboards"))[0]
    assert scores[first[3]][0] == first[4], "the first column is the first leaderboard"
    assert [row[:3] for row in rows_of(part(page, "Graders"))] == [
        ["lexical", SHOWN_ASSIGNED, "assignment"],
        ["lexical", SHOWN_RATED, "question"],
        ["random", SHOWN_RATED, "question"],
    ]
    made = f"model lexical (a baseline); prompt {SHOWN_RATED}; bank questions.jsonl; cutoff 3"
    assert made in text_of(page)
    for model in ("lexical", "random"):
        assert (folder / f"cover-{model}-{RATED}.tsv").is_file()


def test_equal_inputs_give_equal_bytes(demo: Path, folder: Path, tmp_path: Path) -> None:
    write_evaluation(all_inputs(demo), tmp_path, QUICK)

    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        file.name: file.read_bytes() for file in folder.iterdir()
    }


def test_the_provenance_has_the_hash_of_every_input(demo: Path, folder: Path) -> None:
    document = json.loads((folder / "provenance.json").read_text())
    page = (folder / "index.html").read_text()
    names = ["graded.jsonl", "questions.jsonl", "nuggets.jsonl", "runs/bm25.run", "runs/random.run"]
    names += ["runs/rerank.run", "official_leaderboard.json", "qrels.txt"]

    assert [Path(file["path"]).relative_to(demo).as_posix() for file in document["inputs"]] == names
    for file in document["inputs"]:
        data = Path(file["path"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert file["sha256"] in text_of(page)
    assert document["versions"]["exam_pp"] == exam_pp.__version__
    assert document["versions"]["Python"] == platform.python_version()
    assert {"numpy", "scipy", "ir-measures"} <= document["versions"].keys()
    assert (document["settings"]["seed"], document["settings"]["bootstrap samples"]) == (0, 100)
    assert "Command: exam-pp evaluate report graded.jsonl\n" in text_of(page)
    first = document["leaderboards"][0]
    assert first["file"] == f"cover-lexical-{RATED}.tsv"
    assert (first["models"], first["min_grades"], first["cutoff"]) == (["lexical"], [4], 3)


def test_links_open_the_query_on_the_review_page(demo: Path, folder: Path) -> None:
    """The review page numbers its queries in the order of the file."""
    page = (folder / "index.html").read_text()
    order = [json.loads(line)[0] for line in (demo / "graded.jsonl").read_text().splitlines()]
    links = re.findall(r'<a href="review.html#/q/(\d+)">(.*?)</a>', page)

    assert len({text for _, text in links}) > 8, "the hardest queries and those of rare entries"
    assert all(order[int(number)] == text for number, text in links)
    assert '<script type="application/gzip" id="query-7">' in (folder / "review.html").read_text()


def test_sections_without_inputs_are_named(demo: Path, tmp_path: Path) -> None:
    """Runs, judgments, official ranks and assignments are missing."""
    stripped = tmp_path / "stripped.jsonl"
    main(
        [
            "-q",
            "filter",
            str(demo / "one-grader.jsonl"),
            "--remove",
            "judgments",
            "--remove",
            "rankings",
            "-o",
            str(stripped),
        ]
    )
    sources = Sources(stripped, [demo / "questions.jsonl"], review=False)
    page = write_evaluation(sources, tmp_path / "out", QUICK).read_text()

    assert sections(page) == ["Evidence and all measures", "How it was made"]
    assert "There are no systems to compare" in text_of(first_screen(page))
    missing = {section: row for section, *row in rows_of(part(page, "Left out"))}
    # Plug-ins may have further sections.
    assert {section: row[1] for section, row in missing.items() if section != "Agreement of graders"} == {
        "Rubric-Qrels": "--runs",
        "Nugget scores": "exam-pp grade with an assignment prompt",
        "Manual judgments": "--qrels",
        "Correlation with the official leaderboard": "--official",
        "Agreement with judgments": "--qrels",
        "Review page": "--review",
    }
    assert missing["Manual judgments"][0] == "the graded file has no judgments"
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "index.html", "cover.tsv", "cover-per-query.tsv", "provenance.json"
    }  # fmt: skip


def test_runs_and_rankings_need_the_same_names(
    tmp_path: Path, tiny_passages: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Passages that were imported by tags: only the same --method-name gives the runs these names."""
    (tmp_path / "x.run").write_text("q1 Q0 p1 1 2.0 bm25\n")
    arguments = ["evaluate", "report", str(tiny_passages), "--runs", "x.run", "--no-review"]
    main([*arguments, "-o", "by-file"])
    main([*arguments, "--method-name", "tag", "-o", "by-tag"])
    (warning,) = [line for line in capfd.readouterr().err.splitlines() if "have no name in common" in line]
    assert "The runs (x) and the systems in" in warning
    assert "bm25" in (tmp_path / "by-tag" / "rubric-qrels.tsv").read_text()


def test_direct_grades_have_labels_only(demo: Path, tmp_path: Path) -> None:
    """Direct grades are for the query, so they have no Rubric-Cover, and no bank."""
    graded = tmp_path / "graded.jsonl"
    queries = [
        "--queries",
        str(demo / "queries.jsonl"),
        "--prompt",
        "GradedRelevance",
        "--model",
        "random",
    ]
    main(["-q", "grade", str(demo / "one-grader.jsonl"), *queries, "-o", str(graded)])
    page = write_evaluation(Sources(graded, [demo / "questions.jsonl"]), tmp_path / "out", QUICK).read_text()

    titles = {row[1] for row in rows_of(part(page, "All leaderboards"))}
    direct, rubric_set = "random relevance", f"lexical {SHOWN_RATED}"
    assert {f"Rubric-Qrels: {direct}", f"Rubric-Qrels: {rubric_set}", f"Rubric-Cover: {rubric_set}"} <= titles
    assert f"Rubric-Cover: {direct}" not in titles
    assert [row[2] for row in rows_of(part(page, "Graders"))] == ["question", "direct"]
    boards = json.loads((tmp_path / "out" / "provenance.json").read_text())["leaderboards"]
    (of_direct,) = [board for board in boards if board["title"] == "Rubric-Qrels: random GradedRelevance"]
    assert (of_direct["prompt_classes"], of_direct["min_grades"]) == (["GradedRelevance"], [3])
    assert (tmp_path / "out" / "review.html").is_file()


def test_banks_of_the_same_file_name_have_their_folder_in_names(demo: Path, tmp_path: Path) -> None:
    banks = [tmp_path / folder / "bank.jsonl" for folder in ("a", "b")]
    for bank in banks:
        bank.parent.mkdir()
        bank.write_bytes((demo / "questions.jsonl").read_bytes())
    sources = Sources(demo / "one-grader.jsonl", banks, review=False)
    page = write_evaluation(sources, tmp_path / "out", QUICK).read_text()

    titles = {row[1] for row in rows_of(part(page, "All leaderboards"))}
    assert {"Rubric-Cover: a/bank.jsonl", "Rubric-Cover: b/bank.jsonl"} <= titles
    assert "entries of a/bank.jsonl" in {row[0] for row in rows_of(part(page, "Contents"))}
    written = {f.name for f in (tmp_path / "out").iterdir()}
    assert {f"cover-{f}%2Fbank.jsonl.tsv" for f in "ab"} <= written


def test_grades_without_their_bank_are_an_error(demo: Path, tmp_path: Path) -> None:
    sources = Sources(demo / "one-grader.jsonl", [demo / "nuggets.jsonl"])
    with pytest.raises(SelectionError, match=r"are for entries of .*nuggets\.jsonl; name their bank"):
        write_evaluation(sources, tmp_path / "out", QUICK)
    with pytest.raises(SelectionError, match="has no grades"):
        write_evaluation(Sources(demo / "ungraded.jsonl"), tmp_path / "out", QUICK)


def test_a_failed_evaluation_keeps_the_previous_files(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path
) -> None:
    """The evaluation fails at the runs, after the first leaderboard was written."""
    out, runs = tmp_path / "out", tmp_path / "runs"
    runs.mkdir()
    with pytest.raises(DataError):
        write_evaluation(Sources(tiny_passages, [tiny_bank], [runs]), out, QUICK)
    assert not out.exists()
    write_evaluation(Sources(tiny_passages, [tiny_bank]), out, QUICK)
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(DataError):
        write_evaluation(Sources(tiny_passages, [tiny_bank], [runs], min_grade=1), out, QUICK)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_the_options_are_those_of_every_part(tiny_passages: Path, tiny_bank: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "bm25.run").write_text("q1 Q0 p1 1 2 t\n007 Q0 p3 1 1 t\n")
    (runs / "other.run").write_text("q1 Q0 p2 1 2 t\nq1 Q0 p1 2 1 t\n")
    sources = Sources(
        tiny_passages, [tiny_bank], [runs], measures=("RR", "P@1"), min_grade=2, min_relevant=3, cutoff=1
    )
    write_evaluation(sources, tmp_path / "out", QUICK)
    files = {file.name: file for file in (tmp_path / "out").iterdir()}

    def measures(name: str) -> set[str]:
        return {score.metric for score in read_means(files[name])}

    assert measures("cover.tsv") == {"Cover(min_grade=2)@1", "nCover(min_grade=2)@1"}
    assert measures("rubric-qrels.tsv") == {"RR(rel=2)", "P(rel=2)@1"}
    assert measures("judgments.tsv") == {"RR(rel=3)", "P(rel=3)@1"}
