"""Every command knows a format that is added to the registry, by name and by content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exam_pp.cli.main import cli
from exam_pp.data_model import Id
from exam_pp.formats.base import FORMATS, Format, Schema, Source, Target, register
from exam_pp.formats.sample import Fit, Sample, with_keys
from exam_pp.formats.scores import contains_scores, read_all_scores, read_means, read_query_scores
from exam_pp.models import Record
from exam_pp.results import Score
from exam_pp.store.files import read_text_lines
from exam_pp.store.parsing import read_records, write_records
from exam_pp.store.trec.queries import Query


class Ask(Record):
    """A query of an imagined tool."""

    ask_id: Id
    ask: str


def read_asks(path: Path) -> Iterator[Ask]:
    return (ask for _, ask in read_records(Ask, path, "asks"))


def asks_as_queries(source: Source) -> list[Query]:
    return [Query(query_id=ask.ask_id, query_text=ask.ask) for ask in read_asks(source.path)]


def write_asks(queries: Iterable[Query], target: Target) -> None:
    asks = []
    for query in queries:
        target.dropped.add("facets", len(query.facets or ()))
        asks.append(Ask(ask_id=query.query_id, ask=query.query_text))
    write_records(asks, target.path, inputs=target.inputs)


ASKS = Format(
    "asks",
    "queries",
    "questions of Asker",
    with_keys("ask_id", "ask"),
    read_asks,
    "ask",
    asks_as_queries,
    write_asks,
    schema=Schema("asks", "a line of Asker", Ask),
)


def sniff_equations(sample: Sample) -> Fit:
    return Fit.CERTAIN if sample.texts and all(" = " in text for text in sample.texts) else Fit.NOT


def read_equations(path: Path) -> list[Score]:
    lines = (text.split(" = ") for _, text in read_text_lines(path))
    return [Score(system, "all", "goodness", float(value)) for system, value in lines]


EQUATIONS = Format("equations", "scores", "scores of Solver", sniff_equations, read_equations, "score")


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    FORMATS.names()  # all others are registered before the copy
    monkeypatch.setattr(FORMATS, "_values", dict(FORMATS._values))
    register(ASKS, EQUATIONS)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def asks(tmp_path: Path) -> Path:
    path = tmp_path / "asks.jsonl"
    path.write_text('{"ask_id": "q1", "ask": "one two"}\n{"ask_id": "q2", "ask": "three"}\n')
    return path


def test_the_new_format_is_detected_and_converted_both_ways(asks: Path, tmp_path: Path) -> None:
    queries, back = tmp_path / "queries.tsv", tmp_path / "back.jsonl"
    assert run("convert", asks, "--to", "queries-tsv", "-o", queries).exit_code == 0
    assert queries.read_text() == "q1\tone two\nq2\tthree\n"
    assert run("convert", queries, "--to", "asks", "-o", back).exit_code == 0
    assert [json.loads(line) for line in back.read_text().splitlines()] == [
        json.loads(line) for line in asks.read_text().splitlines()
    ]


def test_the_new_format_is_validated_by_content_and_by_name(asks: Path) -> None:
    assert "2 asks" in run("validate", asks).stdout
    assert " asks " in run("list", "formats").stdout
    asks.write_text(asks.read_text() + '{"ask_id": "q3"}\n')
    for arguments in ([asks], [asks, "--from", "asks"]):
        done = run("validate", *arguments, "--format", "tsv")
        assert done.stdout.splitlines()[1:] == [f"error\tformat\t{asks}\t3\task\tis missing."]
        assert done.exit_code == 1


def test_scores_of_a_new_format_are_read(tmp_path: Path) -> None:
    path = tmp_path / "board.txt"
    path.write_text("a = 0.5\nb = 0.25\n")
    assert [score.value for score in read_all_scores(path)] == [0.5, 0.25]
    assert {score.metric for score in read_all_scores(path)} == {"goodness"}


def test_scores_of_single_queries_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "results.tsv"
    path.write_text("run_id\tquery_id\tmeasure\tvalue\na\tq1\tRR\t0.5\na\tq2\tRR\t1\nb\tq1\tRR\t0.25\n")
    assert read_means(path) == [Score("a", "all", "RR", 0.75), Score("b", "all", "RR", 0.25)]
    assert len(read_query_scores(path)) == 3
    assert contains_scores(path)
