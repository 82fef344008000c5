"""Numbers in files: ASCII digits without underscores in texts, numbers and not texts in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError
from exam_pp.formats.autojudge import read_evaluation
from exam_pp.formats.bank_csv import bank_of_rows, read_bank_csv
from exam_pp.models import Record
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import read_edits
from exam_pp.store.games_files import read_games
from exam_pp.store.manifests import read_manifest
from exam_pp.store.numbers import (
    decimal_mark,
    is_number,
    number_of,
    parse_integer,
    parse_number,
    plain_number,
)
from exam_pp.store.parsing import read_records
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import read_raw_passages
from exam_pp.store.trec.answers import read_answers
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.runs import read_qrels, read_rankings, read_run
from exam_pp.store.trec.scores import read_leaderboard_means, read_score_rows
from scripts.command_tree import is_here

ODD = ["1_0", "１", "१", "²", "1０", "", "x", " 4", "4 ", "4\n", ".", "1e", "+-1", "0x1", "1,5"]
NOT_FINITE = ["nan", "inf", "-Infinity", "1e400"]


@pytest.mark.parametrize("text", [*ODD, *NOT_FINITE, "1.0", "1e3", "1" * 5000])
def test_text_that_is_no_integer(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_integer(text)


@pytest.mark.parametrize("text", [*ODD, *NOT_FINITE])
def test_text_that_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="is not a finite number"):
        parse_number(text)
    assert not is_number(text)


def test_numbers() -> None:
    assert [parse_integer(text) for text in ("3", "-1", "+2", "007")] == [3, -1, 2, 7]
    texts = ("3", "-1.5", ".5", "1.", "1.8", "1e-3", "+2E+1")
    assert [parse_number(text) for text in texts] == [3, -1.5, 0.5, 1, 1.8, 0.001, 20]


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_numbers_that_python_writes(number: float) -> None:
    assert parse_number(repr(number)) == number_of(number) == float(number)


@pytest.mark.parametrize("value", ["4", True, None, [4], float("nan"), float("inf"), 10**400])
def test_json_value_that_is_no_number(value: object) -> None:
    assert number_of(value) is None


# Fields of JSON files: `@` stands for the number. Readers of passages decode with msgspec, pydantic or both.


def _passages(file: Path) -> None:
    list(read_passages(file))


def _raw(file: Path) -> None:
    for query in read_raw_passages(file):
        for passage in query.passages:
            list(passage.grade_sets())


def _sql(file: Path) -> None:
    from exam_pp.plugins.sql.rows import GradedRows
    from exam_pp.plugins.sql.tables import OF_GRADED_FILES

    GradedRows(OF_GRADED_FILES, lambda _table, _row: None).read(file)


def _metrics(file: Path) -> None:
    list(read_passages(file))


_FULL = (_passages, _sql) if is_here("query") else (_passages,)
_TIERS = (*_FULL, _metrics, _raw)
_RUBRIC = '"exam_grades": [{"correctAnswered": [], "wrongAnswered": [], "self_ratings": [%s]}]'
_RATING = '{"question_id": "q/a", "self_rating": %s}'
_OF_PASSAGE = {
    "relevance": '"paragraph_data": {"judgments": [{"paragraphId": "p", "query": "q", "relevance": @, '
    '"titleQuery": "q"}]}',
    **{
        name: '"paragraph_data": {"rankings": [{"method": "m", "paragraphId": "p", "queryId": "q", "rank": '
        f"{rank}, {rest}}}]}}"
        for name, rank, rest in (
            ("rank", "@", '"score": 1.0'),
            ("score", 1, '"score": @'),
            ("repeat", 1, '"score": 1, "repeat": @'),
        )
    },
    "self_rating": _RUBRIC % (_RATING % "@"),
    "probabilities": _RUBRIC % (_RATING % '1, "probabilities": [@]'),
    "mass": _RUBRIC % (_RATING % '1, "mass": @'),
    "self_ratings": '"grades": [{"correctAnswered": true, "self_ratings": @}]',
}
_NOT_FOR_METRICS = {
    "expected": _RUBRIC % (_RATING % '1, "expected": @'),
    "margin": '"grades": [{"correctAnswered": true, "margin": @}]',
    "relevance_label": '"grades": [{"correctAnswered": true, "relevance_label": @}]',
    "tokens_cut": '"grades": [{"correctAnswered": true, "tokens_cut": {"x": @}}]',
    "rating": '"criteria_grades": [{"method": "m", "ratings": [{"criterion": "c", "rating": @}]}]',
}
_ONLY_FULL = {
    "exam_ratio": '"exam_grades": [{"correctAnswered": [], "wrongAnswered": [], "exam_ratio": @}]',
    "consistency score": '"consistency_grades": [{"method": "m", "claim": "part", "score": @}]',
    "source score": '"consistency_grades": [{"method": "m", "claim": "part", "sources": '
    '[{"passage_id": "p", "score": @}]}]',
}
_GAMES = '{"query_id": "q", "game_sets": [{"games": [{"system_a": "a", "system_b": "b", "%s": @}]}]}'
_EDITS = '{"format": "exam_pp.edits.v1", %s}'
_MANIFEST: dict[str, Any] = {
    "format": "exam_pp.manifest.v1",
    "exam_pp": "1", "command": "c", "output": {"path": "x", "parameter": "-o", "size": "@"},
    "options": [], "inputs": [], "report": {}, "python": "3",
    "platform": "p", "packages": {},
}  # fmt: skip
_ENTRY = '{"query_id": "q", "question_id": "a", "question_text": "t", "weight": @}'
_BOARD = '{"tables": [{"rows": [{"system": "a", "F1": 0.5}, {"system": "b", "F1": @}]}]}'


def _records(model: type[Record]) -> Callable[[Path], object]:
    return lambda file: list(read_records(model, file, "records"))


Reader = Callable[[Path], object]
FIELDS: dict[str, tuple[Reader, str]] = {
    **{
        f"{field} {read.__name__}": (read, f'["q", [{{"paragraph_id": "p", "text": "t", {content}}}]]')
        for fields, tiers in ((_OF_PASSAGE, _TIERS), (_NOT_FOR_METRICS, _FULL), (_ONLY_FULL, (_passages,)))
        for field, content in fields.items()
        for read in tiers
    },
    "weight": (read_bank, f'{{"query_id": "q", "items": [{_ENTRY}]}}'),
    "weight of an entry alone": (read_bank, _ENTRY),
    **{name: (lambda f: list(read_games(f)), _GAMES % name) for name in ("order", "repeat_a", "words_b")},
    "edited rating": (
        read_edits, _EDITS % '"ratings": [{"query_id": "q", "passage_id": "p", "id": "a", "rating": @}]'),
    "edited weight": (
        read_edits, _EDITS % '"bank": [{"op": "weight", "query_id": "q", "id": "a", "value": @}]'),
    "manifest": (read_manifest, json.dumps(_MANIFEST).replace('"@"', "@")),
    "score of JSON lines": (
        lambda f: list(read_score_rows(f)), '{"system": "a", "query_id": "q", "metric": "F1", "value": @}'),
    "leaderboard": (read_leaderboard_means, _BOARD),
    "leaderboard in long format": (
        read_leaderboard_means,
        '{"tables": [{"rows": [{"system": "b", "query": "all", "measure": "F1", "value": @}]}]}'),
    "official rank": (read_ranks, '{"a": @}'),
    "answer's repeat": (
        lambda f: list(read_answers(f)), '{"query_id": "q", "system": "a", "text": "t", "repeat": @}'),
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_only_numbers_of_json_are_read(field: str, tmp_path: Path) -> None:
    check_numbers(*FIELDS[field], tmp_path / "file.json")


def check_numbers(read: Callable[[Path], object], content: str, file: Path) -> None:
    """Only numbers of JSON are read where the content has an ``@``."""
    for number in ("1", "1.0"):
        file.write_text(content.replace("@", number) + "\n", encoding="utf-8")
        read(file)
    for value in ('"1_0"', '"4"', '" 4 "', '"１"', "true", "NaN", "1e400"):
        file.write_text(content.replace("@", value) + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"file\.json"):
            read(file)


@pytest.mark.parametrize("field", ["relevance", "rank", "self_rating", "self_ratings"])
def test_whole_numbers_with_a_fraction_of_zero(field: str, tmp_path: Path) -> None:
    """Other tools write integers so; fractions are refused."""
    file, content = tmp_path / "file.jsonl", _OF_PASSAGE[field]
    line = f'["q", [{{"paragraph_id": "p", "text": "t", {content}}}]]\n'
    file.write_text(line.replace("@", "2.0"), encoding="utf-8")
    (query,) = read_passages(file)
    (passage,) = query.passages
    numbers = [[j.relevance for j in passage.judgments], [r.rank for r in passage.rankings]]
    numbers += [list(grades.entry_ratings().values()) for grades in passage.grade_sets()]
    assert repr(max(numbers)) == "[2]"
    file.write_text(line.replace("@", "2.5"), encoding="utf-8")
    with pytest.raises(DataError, match=r"number with a fractional part\.$"):
        list(read_passages(file))


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (lambda f: list(read_run(f)), "q Q0 p {} 1.0 s\n"),
        (lambda f: list(read_run(f)), "q Q0 p 1 {} s\n"),
        (read_rankings, "q Q0 p {} 1.0 s\n"),
        (read_rankings, "q Q0 p 1 {} s\n"),
        (read_qrels, "q 0 p {}\n"),
        (read_ranks, "z\t1\na\t{}\n"),
        (read_leaderboard_means, "system\tnDCG\nz\t0.5\na\t{}\n"),
        (lambda f: list(read_evaluation(f)), "run\tq\tF1\t{}\n"),
        (
            lambda f: bank_of_rows((f, row) for row in read_bank_csv(f)),
            "query_id,kind,text,weight\nq,question,What?,{}\n",
        ),
    ],
)
@pytest.mark.parametrize("cell", ["1_0", "２", "nan", "1e400"])
def test_cells_that_are_no_numbers(read: Reader, content: str, cell: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(content.format("1"), encoding="utf-8")
    read(file)
    file.write_text(content.format(cell), encoding="utf-8")
    with pytest.raises(DataError, match=rf"file, line \d, \w+: .*'{cell}' is not a (\w+ )?number"):
        read(file)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("0,873 1,250", [0.873, 1.25]),
        ("1,5 1.200", [1.5, 1200]),
        ("900 1,200", [900, 1200]),
        ("-1,200 +950", [-1200, 950]),
        ("1,200.5 3", [1200.5, 3]),
        ("1.200.000 0,5", [1200000, 0.5]),
        ("12,34,567.0", None),
        ("0.5 0,7", [0.5, 0.7]),
        ("1.234 2", [1.234, 2]),
        ("1.200 850", [1200, 850]),
        ("1,000", None),
        ("1,234 2", None),
        ("1,234 1.234", None),
        ("0.5 0,7 1,200", None),
    ],
)
def test_a_column_decides_what_a_comma_is(cells: str, expected: list[float] | None) -> None:
    texts = cells.split()
    try:
        mark = decimal_mark(texts)
        numbers = [parse_number(plain_number(cell, mark)) for cell in texts]
    except ValueError:
        assert expected is None
    else:
        assert numbers == expected


def test_ranks_are_whole_numbers() -> None:
    assert plain_number("1,000", decimal_mark(["1", "1,000"], whole=True)) == "1000"
    assert plain_number("1.024", decimal_mark(["1.024"], whole=True)) == "1024"
    with pytest.raises(ValueError, match=r"write 1000, or 1\.0"):
        decimal_mark(["1,000"], whole=True)
