"""Files whose columns are swapped: a warning guesses it, and no other file gets such a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main
from tests.conftest import without_times

RUN = "q1 Q0 p1 1 9 a\nq1 Q0 p2 2 8 a\n"
FILES = {
    "a.run": RUN,
    "swapped.run": "p1 Q0 q1 1 9 a\np2 Q0 q1 2 8 a\n",
    "texts.tsv": "p1\tone\np2\ttwo\np3\tthree\n",
    "swapped-texts.tsv": "one\tp1\ntwo\tp2\nthree\tp3\n",
    "other-texts.tsv": "x1\tone\nx2\ttwo\n",
    "queries.tsv": "q1\ta query\n",
    "swapped-queries.tsv": "a query\tq1\n",
    "other-queries.tsv": "x1\ta query\n",
    "qrels.txt": "q1 0 p1 3\nq1 0 p2 0\n",
}
TEXTS = "place of the text, so the columns are probably swapped; they must be id and text."
RUNS = (
    "columns of queries and passages {}are probably swapped; they must be query_id Q0 passage_id rank score "
    "tag."
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


def messages(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit) as stop:
        main(["-q", *command.split()])
    assert stop.value.code == 1
    return without_times(capsys.readouterr().err).splitlines()


@pytest.mark.parametrize(
    ("command", "warning"),
    [
        (
            "import --runs a.run --texts swapped-texts.tsv -o out",
            f"swapped-texts.tsv: 2 lines have the id of a passage in {TEXTS}",
        ),
        (
            "import --runs a.run --texts texts.tsv --queries swapped-queries.tsv -o out",
            f"swapped-queries.tsv: 1 line has the id of a query in {TEXTS}",
        ),
        (
            "import --runs swapped.run --texts texts.tsv -o out",
            f"texts.tsv: 2 ids are those of queries of the runs, so the {RUNS.format('in the runs ')}",
        ),
        (
            "import --runs swapped.run --texts texts.tsv --queries queries.tsv -o out",
            f"swapped.run: 1 passage id is that of a query, so the {RUNS.format('')}",
        ),
        (
            "evaluate judgments qrels.txt --runs swapped.run",
            f"swapped.run: 1 passage id is that of a query, so the {RUNS.format('')}",
        ),
    ],
)
def test_swapped_columns_are_guessed(command: str, warning: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown, *error = messages(command, capsys)
    assert shown == warning
    assert [line for line in error if line.startswith("exam-pp: ")] == error[-1:]


def test_swapped_queries_of_a_grading(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-q", *["import", "--runs", "a.run", "--texts", "texts.tsv", "-o", "passages.jsonl"]])
    grading = "grade passages.jsonl --model fake --prompt-class Sun -o out --queries"
    shown, error = messages(f"{grading} swapped-queries.tsv", capsys)
    assert shown == f"swapped-queries.tsv: 1 line has the id of a query in {TEXTS}"
    assert error.startswith("exam-pp: swapped-queries.tsv has no text for the queries")
    assert len(messages(f"{grading} other-queries.tsv", capsys)) == 1


@pytest.mark.parametrize(
    "command",
    [
        "import --runs a.run --texts other-texts.tsv -o out",
        "import --runs a.run --texts texts.tsv --queries other-queries.tsv -o out",
    ],
)
def test_files_that_do_not_fit_for_another_reason(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert not any("swapped" in line for line in messages(command, capsys))


def test_files_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-q", "import", "--runs", "a.run", "--texts", "texts.tsv", "--queries", "queries.tsv", "-o", "out"])
    assert capsys.readouterr().err == ""
