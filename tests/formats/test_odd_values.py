"""Conversion of unusual but valid values: they survive, are counted as dropped, or raise a clear error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.interchange.convert import Conversion, convert
from exam_pp.results import Qrel, RunLine
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.trec.answers import read_answers
from exam_pp.store.trec.runs import read_qrels, write_qrels, write_run
from exam_pp.store.trec.score_rows import read_score_rows
from tests.conftest import data_error

Write = Callable[[str, list[Any]], Path]


def converted(source: Path, target: Path, to: str, **options: Any) -> dict[str, int]:
    return convert(Conversion(source, target, to, **options)).counts


def test_a_carriage_return_stays_inside_its_cell(write_jsonl: Write, tmp_path: Path) -> None:
    rows = [{"query_id": "q", "system": "s", "text": "one\rtwo"}]
    table, back = tmp_path / "a.csv", tmp_path / "b.jsonl"
    assert converted(write_jsonl("a.jsonl", rows), table, "ragelo-answers") == {}
    assert converted(table, back, "plain-answers") == {}
    assert [answer.parts[0].text for answer in read_answers(back)] == ["one\rtwo"]


@pytest.mark.parametrize("form", ["bank-csv", "nuggetizer", "autojudge-bank"])
def test_entries_without_text_are_dropped(form: str, write_jsonl: Write, tmp_path: Path) -> None:
    items = [
        {"query_id": "q", "nugget_id": f"n{i}", "nugget_text": text} for i, text in enumerate(["", " ", "x"])
    ]
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "t", "items": items}])
    target = tmp_path / "out"
    assert converted(bank, target, form)["entries without text"] == 2
    converted(target, tmp_path / "back.jsonl", "bank")
    (line,) = read_bank(tmp_path / "back.jsonl").lines
    assert [item.text for item in line.items] == ["x"]


def passages(*rankings: dict[str, Any]) -> list[Any]:
    entries = [
        {"method": "m", "paragraphId": "p", "queryId": "q", "rank": 1, "score": 1.0, **r} for r in rankings
    ]
    data = {"judgments": [], "rankings": entries}
    return [["q", [{"paragraph_id": "p", "text": "t", "paragraph_data": data}]]]


@pytest.mark.parametrize("form", ["ragelo-documents", "run"])
@pytest.mark.parametrize(
    ("rankings", "dropped"),
    [
        (({"paragraphId": "other"},), {"passage ids of ranking entries": 1}),
        (({"queryId": "q/facet"},), {"facets of ranking entries": 1}),
        (({}, {"rank": 2, "score": 0.5}), {"repeated ranking entries of a passage": 1}),
    ],
)
def test_ranking_entries_that_a_run_cannot_hold(
    form: str,
    rankings: tuple[dict[str, Any], ...],
    dropped: dict[str, int],
    write_jsonl: Write,
    tmp_path: Path,
) -> None:
    target = tmp_path / "out"
    texts = {"passage texts": 1} if form == "run" else {}
    assert converted(write_jsonl("g.jsonl", passages(*rankings)), target, form) == dropped | texts
    again = tmp_path / "again"
    converted(target, again, form, source_format=form)  # it can be read


@pytest.mark.parametrize("system", ["", " a"])
def test_agents_of_documents_have_names(system: str, write_jsonl: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"the id '{system}'"):
        converted(write_jsonl("g.jsonl", passages({"method": system})), tmp_path / "o", "ragelo-documents")


def test_agents_of_answers_have_names(write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("a.jsonl", [{"query_id": "q", "system": " s", "text": "x"}])
    with pytest.raises(DataError, match="the id ' s'"):
        converted(source, tmp_path / "o.csv", "ragelo-answers")


def test_ids_of_runs_and_qrels_are_single_words(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="' q'"):
        write_qrels([Qrel(" q", "p", 1)], tmp_path / "o")
    for line in (
        RunLine("a b", "p", 1, 1.0, "s"),
        RunLine("q", "p\u2028", 1, 1.0, "s"),
        RunLine("q", "p", 1, 1.0, ""),
    ):
        with pytest.raises(DataError, match=r"whitespace.* run "):
            write_run([line], tmp_path / "o")
    write_qrels([Qrel("q", "p", 1)], tmp_path / "o")
    assert read_qrels(tmp_path / "o") == [Qrel("q", "p", 1)]


@pytest.mark.parametrize("query_id", ["{", "<top>", "\ufeffq"])
def test_query_ids_that_would_change_the_format_of_a_tsv_file(
    query_id: str, write_jsonl: Write, tmp_path: Path
) -> None:
    source = write_jsonl("q.jsonl", [{"query_id": query_id, "query_text": "x"}])
    with pytest.raises(DataError, match=re.escape(repr(query_id))):
        converted(source, tmp_path / "o.tsv", "queries-tsv")


def scores(*values: float, query_id: str | None = None) -> list[Any]:
    return [
        {"system": "s", "query_id": query_id or str(i), "metric": "m", "value": value}
        for i, value in enumerate(values)
    ]


def test_large_scores_have_a_mean_and_an_error(write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("s.jsonl", scores(1e308, 1.5e308))
    converted(source, tmp_path / "o.csv", "ragelo-ranking")
    assert (tmp_path / "o.csv").read_text() == "agent,score\ns,1.25e+308\n"
    converted(source, tmp_path / "o.tsv", "published-cover")


@pytest.mark.parametrize("form", ["scores-jsonl", "leaderboard", "autojudge-eval", "autojudge-tot"])
def test_two_values_of_the_same_score_are_an_error(form: str, write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("s.jsonl", scores(0.5))
    twice = tmp_path / "twice"
    converted(source, twice, form)
    line = twice.read_text().splitlines()[-1]
    with twice.open("a") as stream:
        stream.write(line + "\n")
    converted(twice, tmp_path / "o", "scores-jsonl", source_format=form)
    assert len(list(read_score_rows(tmp_path / "o"))) == 1
    with twice.open("a") as stream:
        stream.write(line.replace("0.5", "0.25") + "\n")
    with pytest.raises(DataError, match=r"'s' .*'m' .*'0'"):
        converted(twice, tmp_path / "o2", "scores-jsonl", source_format=form)


def test_open_rag_eval_cannot_hold_means(write_jsonl: Write, tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="only means"):
        converted(write_jsonl("s.jsonl", scores(1, query_id="all")), tmp_path / "o", "open-rag-eval-scores")


def test_reasonings_are_direct_grades(write_jsonl: Write, tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="direct grades"):
        converted(write_jsonl("g.jsonl", passages()), tmp_path / "o.csv", "ragelo-reasonings")
    assert not (tmp_path / "o.csv").exists()


def test_a_spreadsheet_with_only_a_header_is_not_a_bank(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("query_id,text\n")
    with data_error(tmp_path / "b.csv", about="no questions"):
        converted(tmp_path / "b.csv", tmp_path / "o", "bank", source_format="bank-csv")
    assert not (tmp_path / "o").exists()


def test_empty_values_are_not_counted_as_dropped(write_jsonl: Write, tmp_path: Path) -> None:
    row: dict[str, Any] = {"query_id": "q", "query_text": "t", "a": None, "b": "", "c": [], "d": {}, "e": 0}
    dropped = converted(write_jsonl("q.jsonl", [row]), tmp_path / "o", "queries-tsv")
    assert dropped == {"field 'e'": 1}


def test_restored_fields_of_nuggetizer_are_not_counted_as_dropped(write_jsonl: Write, tmp_path: Path) -> None:
    line = {"query": "t", "qid": "q", "nuggets": [{"text": "x", "info": {"a": 1}}]}
    source, bank, back = write_jsonl("n.jsonl", [line]), tmp_path / "bank", tmp_path / "back"
    converted(source, bank, "bank")
    assert converted(bank, back, "nuggetizer") == {}
    assert json.loads(back.read_text()) == line


@pytest.mark.parametrize(("relevance", "dropped"), [(["x"], 1), (True, 1), (2, 0), ("x", 0)])
def test_relevance_of_a_game(relevance: Any, dropped: int, write_jsonl: Write, tmp_path: Path) -> None:
    game = {"qid": "q", "agent_a": "a", "agent_b": "b", "relevance": relevance}
    counts = converted(write_jsonl("g.jsonl", [game]), tmp_path / "o", "ragelo-games")
    assert sum(counts.values()) == dropped


def test_a_nugget_bank_with_a_lone_surrogate(tmp_path: Path) -> None:
    source = tmp_path / "n.jsonl"
    source.write_text('{"query_id":"q","format_version":"v3","nugget_bank":{"x":{"question":"\\ud800"}}}\n')
    with pytest.raises(DataError, match="Unicode"):
        converted(source, tmp_path / "o", "bank")


@pytest.mark.parametrize(
    ("content", "dropped"),
    [
        ("system\tquery\tmeasure\tvalue\tby\ns\tall\tm\t0.5\tme\n", {"field 'by'": 1}),
        ("method\tExamCover\t+/-\tstd-err\ns\t0.500\t+/-\t\n", {}),
        ("method\tExamCover\t+/-\tstd-err\ns\t0.500\t+/-\t0.100\n", {"field 'std-err'": 1}),
        (
            '{"title": "T", "notes": [], "by": 1, "tables": [{"rows": [{"system": "s", "m": 0.5}]}, {}]}',
            {"field 'title'": 1, "field 'by'": 1, "field 'tables'": 1},
        ),
    ],
    ids=["long", "no error", "error", "json"],
)
def test_other_columns_of_scores(content: str, dropped: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "leaderboard"
    path.write_text(content)
    counts = converted(path, tmp_path / "o", "scores-jsonl", source_format="leaderboard")
    assert counts == dropped


def test_other_columns_of_ranks(tmp_path: Path) -> None:
    (tmp_path / "ranks").write_text("system\trank\tscore\na\t1\t0.5\nb\t2\t\n")
    assert converted(tmp_path / "ranks", tmp_path / "o", "official-json", source_format="official-tsv") == {
        "cells after the rank": 1
    }


def test_queries_drop_the_other_fields_of_a_bank(write_jsonl: Write, tmp_path: Path) -> None:
    items = [{"query_id": "q", "nugget_id": "n", "nugget_text": "x", "weight": 2}]
    line = {"query_id": "q", "query_text": "t", "test_collection": "c", "hash": 0, "more": 1, "items": items}
    assert converted(write_jsonl("b.jsonl", [line]), tmp_path / "o", "queries-jsonl") == {
        "hashes": 1,
        "bank entries": 1,
        "test collections": 1,
        "field 'more'": 1,
    }


def test_ranks_drop_all_scores(write_jsonl: Write, tmp_path: Path) -> None:
    counts = converted(write_jsonl("s.jsonl", scores(0.1, 0.2, 0.3)), tmp_path / "o", "official-json")
    assert counts == {"scores": 3}


def test_unknown_keys_of_candidates_and_metrics_are_counted(write_jsonl: Write, tmp_path: Path) -> None:
    candidate = {"docid": "d", "score": 1.0, "doc": {"segment": "x"}, "c": 1}
    line = {"query": {"qid": "q", "text": "", "a": 1}, "candidates": [candidate], "b": 1}
    counts = converted(write_jsonl("c.jsonl", [line]), tmp_path / "o", "graded")
    assert counts == {f"field {key!r}": 1 for key in "abc"}
    metrics = write_jsonl("m.jsonl", [{"qid": "q", "all_score": 0.5, "a": 1}])
    assert converted(metrics, tmp_path / "o2", "scores-jsonl") == {"field 'a'": 1}


def test_empty_answers_of_autojudge_survive(write_jsonl: Write, tmp_path: Path) -> None:
    answers = {"k": {"answer": "yes", "by": "me"}, "l": {"references": ["d"]}}
    question = {"question": "x", "question_id": "0" * 32, "answers": answers}
    line = {"query_id": "q", "format_version": "v3", "nugget_bank": {"x": question}}
    source, bank, back = write_jsonl("n.jsonl", [line]), tmp_path / "bank", tmp_path / "back"
    converted(source, bank, "bank")
    converted(bank, back, "autojudge-bank")
    assert json.loads(back.read_text())["nugget_bank"] == line["nugget_bank"]


def test_a_part_of_an_answer_is_written_once(write_jsonl: Write, tmp_path: Path) -> None:
    entry = {"method": "s", "paragraphId": "s/q#1", "queryId": "q", "score": 1.0}
    rankings = [entry | {"rank": 2, "citations": ["e"]}, entry | {"rank": 1, "citations": ["d"]}]
    data = {"judgments": [], "rankings": [*rankings, entry | {"rank": 1, "method": "other"}]}
    part = {"paragraph_id": "s/q#1", "text": "One.", "paragraph": {"a": 1}, "paragraph_data": data, "more": 1}
    source, target = write_jsonl("g.jsonl", [["q", [part]]]), tmp_path / "o"
    assert converted(source, target, "rag25") == {
        "other ranking entries": 2,
        "field 'more'": 1,
        "field 'paragraph'": 1,
    }
    (answer,) = read_answers(target)
    assert [(part.text, part.citations) for part in answer.parts] == [("One.", ("d",))]


def test_qrels_drop_title_queries(write_jsonl: Write, tmp_path: Path) -> None:
    judgments = [
        {"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": "a title"},
        {"paragraphId": "p", "query": "q/f", "relevance": 2, "titleQuery": "q"},
    ]
    passage = {"paragraph_id": "p", "text": "", "paragraph_data": {"judgments": judgments, "rankings": []}}
    counts = converted(write_jsonl("g.jsonl", [["q", [passage]]]), tmp_path / "o", "qrels")
    assert counts["title queries of judgments"] == 1


@pytest.mark.parametrize("form", ["bank", "bank-csv"])
def test_a_bank_without_entries_is_not_written(form: str, write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("n.jsonl", [{"query": "t", "qid": "q", "nuggets": []}])
    with pytest.raises(SelectionError, match="no entries"):
        converted(source, tmp_path / "o", form)


def test_autojudge_drops_empty_and_duplicate_gold_answers(write_jsonl: Write, tmp_path: Path) -> None:
    golds = ["yes", "", "yes ", "no"]
    item = {"query_id": "q", "question_id": "q/" + "0" * 32, "question_text": "x", "gold_answers": golds}
    bank = write_jsonl("b.jsonl", [{"query_id": "q", "query_text": "t", "items": [item]}])
    counts = converted(bank, tmp_path / "o", "autojudge-bank")
    assert counts == {"empty or duplicate gold answers": 2}
