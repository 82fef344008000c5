"""A TREC CAR collection from import to the leaderboards, by title query and by facet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from tests.car_collection import FACETS, TITLES, published_bank, write_collection

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


def run(*arguments: str | Path) -> None:
    main(["-q", *map(str, arguments)])


def table(text: str) -> dict[str, dict[str, str]]:
    """System to column to value of a TSV table."""
    header, *rows = (line.split("\t") for line in text.strip().splitlines())
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("car"))


@pytest.fixture(scope="module", params=["title", "keep", "pages"])
def graded(request: pytest.FixtureRequest, collection: Path) -> Path:
    """The collection, imported and graded with the bank that was generated for its facets."""
    folder = collection / str(request.param)
    folder.mkdir()
    source: Sequence[str | Path] = ["--runs", collection / "runs", "--texts", collection / "texts.jsonl"]
    if request.param == "pages":
        source = ["--from", "car-pages", collection / "pages.jsonl", "--facets", "keep"]
    else:
        source = [*source, "--facets", request.param]
    run("import", *source, "--qrels", collection / "qrels.txt", "-o", folder / "passages.jsonl.gz")
    run("bank", "import", collection / "bank.json", "--from", "genq", "-o", folder / "generated.jsonl")
    run(
        "grade", folder / "passages.jsonl.gz", "--bank", folder / "generated.jsonl", "--model", "lexical",
        "--prompt", RATING, "-o", folder / "graded.jsonl.gz",
    )  # fmt: skip
    return folder / "graded.jsonl.gz"


@pytest.fixture(scope="module")
def bank(collection: Path) -> Path:
    """The same bank as published: texts stripped, ids of the texts as the model wrote them."""
    return published_bank(collection)


def test_cover(graded: Path, bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("evaluate", "cover", graded, "--bank", bank, "--min-grade", "4", "--format", "tsv")
    rows = table(capsys.readouterr().out)
    cover = {
        name: next(value for column, value in row.items() if column.startswith("Cover("))
        for name, row in rows.items()
    }
    # good covers 2 of 3 questions on bees and all on tides; the ids of grades and bank join.
    assert cover == {"good": "0.833333", "poor": "0.333333", "_overall_": "0.833333"}


def test_qrels_of_titles_and_facets(graded: Path, bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("evaluate", "qrels", graded, *["--bank", str(bank), "-m", "P(rel=4)@1", "--format", "tsv"])
    precision = {name: row["P(rel=4)@1"] for name, row in table(capsys.readouterr().out).items()}
    # With kept rankings, two passages of poor share rank 1 for tides; one of them is relevant.
    poor = "0.000000" if graded.parent.name == "title" else "0.500000"
    assert precision == {"good": "1.000000", "poor": poor}
    run("evaluate", "qrels", graded, "--bank", bank)
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == set(TITLES)
    run("evaluate", "qrels", graded, "--bank", bank, "--facets", "facet")
    facets = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert facets == {f"{query}/{facet}" for query, ids in FACETS.items() for facet in ids}


def test_rankings_of_facets_are_scored_for_their_facet(
    collection: Path, graded: Path, bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kept rankings are those of the run files; a merged ranking counts for each of its facets."""
    options = ["--bank", str(bank), "--facets", "facet", "-m", "P(rel=4)@1", "--format", "tsv"]
    run("evaluate", "qrels", graded, *options)
    of_file = table(capsys.readouterr().out)
    run("evaluate", "qrels", graded, *options, "--runs", collection / "runs")
    of_runs = table(capsys.readouterr().out)
    assert of_runs["good"]["P(rel=4)@1"] == "0.800000"
    if graded.parent.name == "title":
        assert of_file["good"]["P(rel=4)@1"] == "0.400000"
    else:
        assert of_file == of_runs
