"""Conversion: every field survives a round trip or is counted as dropped."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import BankLine, Nugget, Question, entry_id
from exam_pp.errors import SelectionError
from exam_pp.formats.base import FORMATS
from exam_pp.phases.evaluation.judgments import judgments
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.results import Qrel, RunLine, Score
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.trec.answers import Answer, AnswerPart, read_answers, write_answers
from exam_pp.store.trec.queries import Facet, Query, read_queries, write_query_lines
from exam_pp.store.trec.ranks import read_ranks, write_ranks
from exam_pp.store.trec.runs import read_qrels, read_run, write_qrels, write_run
from exam_pp.store.trec.scores import read_score_rows, write_score_rows
from tests.conftest import PASSAGES

texts = st.text("aé1.)? \u4e2d\"',;=\t", min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
names = st.text("ab1:_-/", min_size=1, max_size=6)


@st.composite
def banks(draw: st.DrawFn) -> list[BankLine]:
    kind = draw(st.sampled_from(["question", "nugget"]))
    lines = []
    for query_id in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        facet = draw(st.none() | names)
        items: list[Question | Nugget] = []
        for text in draw(st.lists(texts, max_size=3, unique_by=str.strip)):
            number = draw(st.sampled_from(["", "1. ", "2) "]))
            own = draw(st.booleans())
            key = entry_id(query_id, number + text, facet) if own else f"id-{len(items)}"
            values: dict[str, Any] = {"query_id": query_id, f"{kind}_id": key, f"{kind}_text": text}
            if facet is not None:
                values["facet_id"] = facet
            if draw(st.booleans()):
                values["importance"] = draw(st.sampled_from(["vital", "okay"]))
            if draw(st.booleans()):
                values["weight"] = draw(st.sampled_from([0.5, 1.0, 2.0]))
            if draw(st.booleans()):
                values["gold_answers"] = draw(st.lists(texts.map(str.strip), max_size=2, unique=True))
            if draw(st.booleans()):
                values["more"] = "kept"
            items.append(Question(**values) if kind == "question" else Nugget(**values))
        line: dict[str, Any] = {"query_id": query_id, "items": items}
        if facet is not None:
            line |= {"facet_id": facet, "facet_text": draw(texts)}
        line["query_text"] = draw(texts).strip()
        if draw(st.booleans()):
            line["test_collection"] = "c"
        if draw(st.booleans()):
            line["info"] = {"prompt_target": f"{kind}s", "by": "me"}
        lines.append(BankLine(**line))
    return lines


FIELD_OF = {
    "query texts": "query_text",
    "facets": "facet_id",
    "facet texts": "facet_text",
    "test collections": "test_collection",
    "info of queries": "info",
    "importance labels": "importance",
    "weights": "weight",
    "gold answers": "golds",
    "gold answers of nuggets": "golds",
    "empty lists of gold answers": "golds",
    "entry ids": "entry_id",
    "query ids": "query_id",
    "field 'more'": "more",
}


def flat(lines: Sequence[BankLine], dropped: set[str]) -> list[dict[str, Any]]:
    """The entries with all their fields, without the dropped fields."""
    rows = []
    for line in lines:
        for item in line.items:
            info = {k: v for k, v in (line.info or {}).items() if k not in ("prompt_target", "autojudge")}
            row = {
                "query_id": line.query_id,
                "query_text": line.query_text,
                "facet_id": line.facet_id,
                "facet_text": line.facet_text,
                "test_collection": line.test_collection,
                "info": info,
                "kind": item.kind,
                "text": item.text,
                "entry_id": item.entry_id,
                "importance": item.importance,
                "weight": item.weight,
                "golds": item.gold_answers,
                "more": (item.model_extra or {}).get("more"),
            }
            rows.append({key: value for key, value in row.items() if key not in dropped})
    return rows


ONLY_OF = {"nuggetizer": "nugget"}
BANK_FORMATS = [*filter(FORMATS.find, ("bank", "bank-csv", "nuggetizer", "autojudge-bank"))]


@pytest.mark.parametrize("form", BANK_FORMATS)
@given(lines=banks())
def test_banks_survive_except_for_dropped_fields(form: str, lines: list[BankLine]) -> None:
    with tempfile.TemporaryDirectory() as name:
        bank, there, back = (Path(name) / part for part in ("bank.jsonl", "there", "back.jsonl"))
        write_bank(lines, bank)
        if not any(line.items for line in lines):
            return
        if form in ONLY_OF and not any(item.kind == ONLY_OF[form] for line in lines for item in line.items):
            with pytest.raises(SelectionError, match="bank has no"):
                convert(Conversion(bank, there, form, "bank"))
            return
        dropped = convert(Conversion(bank, there, form, "bank")).counts
        convert(Conversion(there, back, "bank", form))
        others = {"queries without entries", "entries with a duplicate text"}
        assert not dropped.keys() - FIELD_OF.keys() - others
        fields = {FIELD_OF[key] for key in dropped if key in FIELD_OF}
        before, after = flat(lines, fields), flat(read_bank(back).lines, fields)
        if "entries with a duplicate text" not in dropped:
            key = json.dumps
            assert sorted(after, key=key) == sorted(before, key=key)
        assert len(after) == len(before) - dropped.get("entries with a duplicate text", 0)


@given(
    st.lists(
        st.builds(
            Answer,
            names, names,
            st.lists(st.builds(AnswerPart, texts, st.lists(names, max_size=3, unique=True).map(tuple)),
                     min_size=1, max_size=3).map(tuple),
            query_text=st.just("") | texts,
            references=st.lists(names, max_size=3, unique=True).map(tuple),
            team=st.sampled_from(["", "x"]),
        ),
        min_size=1, max_size=3, unique_by=lambda answer: (answer.system, answer.query_id),
    ),
    st.sampled_from(["rag24", "rag25", "ragtime", "plain-answers", "ragelo-answers"]),
)  # fmt: skip
def test_answers_survive_except_for_dropped_fields(answers: list[Answer], form: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, there, back = (Path(name) / part for part in ("a.jsonl", "b.jsonl", "c.jsonl"))
        write_answers(answers, source, "rag25")
        dropped = convert(Conversion(source, there, form)).counts
        convert(Conversion(there, back, "rag25", form))
        for before, after in zip(read_answers(source), read_answers(back), strict=True):
            assert (before.system, before.query_id) == (after.system, after.query_id)
            if not dropped.keys() & {"boundaries of answer parts", "leading or trailing whitespace"}:
                assert [part.text for part in before.parts] == [part.text for part in after.parts]
            if not dropped.keys() & {"citations", "boundaries of answer parts"}:
                assert [part.citations for part in before.parts] == [part.citations for part in after.parts]
            if "citations" not in dropped:
                cited = [
                    {docid for part in answer.parts for docid in part.citations} for answer in (before, after)
                ]
                assert cited[0] == cited[1]
            if not dropped.keys() & {"citations", "uncited references"}:
                assert set(before.references) == set(after.references)
            assert before.query_text == after.query_text or "query texts" in dropped
            assert before.team == after.team or "teams" in dropped


tags = st.text("ab1_.-", min_size=1, max_size=5)
scores = st.lists(
    st.builds(
        Score, tags, tags, tags, st.floats(-1e6, 1e6, allow_nan=False)
    ),
    min_size=1, max_size=6, unique_by=lambda score: score[:3],
)  # fmt: skip


@given(scores, st.sampled_from(["leaderboard", "leaderboard-json", "autojudge-eval", "autojudge-tot"]))
def test_scores_survive_with_all_digits(rows: list[Score], form: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, there, back = (Path(name) / part for part in ("a.jsonl", "b", "c.jsonl"))
        write_score_rows(rows, source)
        assert not convert(Conversion(source, there, form))
        assert not convert(Conversion(there, back, "scores-jsonl", form))
        assert sorted(read_score_rows(back)) == sorted(rows)


@given(
    st.dictionaries(tags, st.integers(1, 99).map(float) | st.just(2.5), min_size=1),
    st.sampled_from(["official-json", "official-tsv"]),
)
def test_ranks_survive(ranks: dict[str, float], form: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, there = Path(name) / "a.json", Path(name) / "b"
        write_ranks(ranks, source)
        assert not convert(Conversion(source, there, form, "official-json"))
        assert read_ranks(there) == ranks


@given(
    st.lists(
        st.builds(
            lambda key, text, facets: Query(query_id=key, query_text=text, **facets),
            names,
            texts.map(str.strip),
            st.sampled_from([{}, {"facets": [Facet(facet_id="f", facet_text="t")]}]),
        ),
        min_size=1, max_size=4, unique_by=lambda query: query.query_id,
    ),
    st.sampled_from(["queries-json", "queries-tsv", "queries-jsonl", "ragelo-queries"]),
)  # fmt: skip
def test_queries_survive_except_for_dropped_fields(queries: list[Query], form: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, there = Path(name) / "a.jsonl", Path(name) / "b"
        write_query_lines(queries, source)
        dropped = convert(Conversion(source, there, form, "queries-jsonl")).counts
        convert(Conversion(there, Path(name) / "c.jsonl", "queries-jsonl", form))
        after = read_queries(Path(name) / "c.jsonl")
        assert list(after) == [query.query_id for query in queries]
        if "whitespace in texts" not in dropped:
            assert [q.query_text for q in after.values()] == [q.query_text for q in queries]
        if "facets" not in dropped:
            assert [q.facets for q in after.values()] == [q.facets for q in queries]


def test_runs_and_qrels(tmp_path: Path) -> None:
    write_qrels([Qrel("q", "p", 2), Qrel("q/f", "p", -1)], tmp_path / "a")
    assert not convert(Conversion(tmp_path / "a", tmp_path / "b", "qrels"))
    assert read_qrels(tmp_path / "b") == [Qrel("q", "p", 2), Qrel("q/f", "p", -1)]
    runs = tmp_path / "runs"
    runs.mkdir()
    for system in ("s1", "s2"):
        write_run([RunLine("q", "p", 1, 0.1, system)], runs / f"{system}.run")
    (tmp_path / "out").mkdir()
    assert not convert(Conversion(runs, tmp_path / "out", "run"))
    assert list(read_run(tmp_path / "out" / "s2.run", method="tag")) == [RunLine("q", "p", 1, 0.1, "s2")]
    write_run([RunLine("q", "p", 1, 0.1, "tag")], tmp_path / "name.run")
    dropped = convert(Conversion(tmp_path / "name.run", tmp_path / "one.run", "run"))
    assert dropped.counts == {"run tags that differ from the file name": 1}
    convert(Conversion(tmp_path / "name.run", tmp_path / "one.run", "run", method_name="tag"))
    assert [line.system for line in read_run(tmp_path / "one.run", method="tag")] == ["tag"]


def test_passages_become_qrels_and_runs(
    tmp_path: Path, write_jsonl: Callable[[str, list[Any]], Path]
) -> None:
    graded = write_jsonl("graded.jsonl", PASSAGES)
    dropped = convert(Conversion(graded, tmp_path / "qrels", "qrels"))
    assert read_qrels(tmp_path / "qrels") == [Qrel("q1", "p1", 3)]
    assert dropped.counts == {"ranking entries": 1, "sets of grades": 3, "passage texts": 3}
    dropped = convert(Conversion(graded, tmp_path / "bm25.run", "run"))
    assert list(read_run(tmp_path / "bm25.run")) == [RunLine("q1", "p1", 1, 9.5, "bm25")]
    assert dropped.counts == {"judgments": 1, "sets of grades": 3, "passage texts": 3}
    assert not convert(Conversion(graded, tmp_path / "again.jsonl", "graded"))
    assert [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()] == PASSAGES


def test_unused_keys_are_in_the_json_of_dropped_fields(
    write_jsonl: Callable[[str, list[Any]], Path],
) -> None:
    answer = {
        "metadata": {"run_id": "r", "topic_id": "t", "team_id": "x", "kind": "auto"},
        "responses": [{"text": "One.", "citations": {"d": 0.5, "e": None}, "note": "n"}],
        "documents": {"d": {"text": "long"}},
    }
    source = write_jsonl("answers.jsonl", [answer])
    report = source.with_name("dropped.json")
    convert(Conversion(source, source.with_name("out.jsonl"), "rag24"), report)
    assert json.loads(report.read_text()) == {
        "input": str(source),
        "from": "ragtime",
        "output": str(source.with_name("out.jsonl")),
        "to": "rag24",
        "dropped_fields": {
            "citation confidences": 1,
            "teams": 1,
            "field 'documents'": 1,
            "field 'metadata.kind'": 1,
            "field 'responses.note'": 1,
        },
    }


def test_official_ranks_need_one_measure(tmp_path: Path) -> None:
    rows = [
        Score("a", "q1", "m", 1.0),
        Score("a", "q2", "m", 0.0),
        Score("b", "q1", "m", 0.6),
        Score("b", "q2", "m", 0.6),
    ]
    write_score_rows([*rows, Score("b", "all", "n", 1.0)], tmp_path / "s.jsonl")
    convert(Conversion(tmp_path / "s.jsonl", tmp_path / "r.json", "official-json", measure="m"))
    assert read_ranks(tmp_path / "r.json") == {"b": 1.0, "a": 2.0}


GRADED: list[Any] = ["q", [{
    "paragraph_id": "p", "text": "t", "paragraph": {"x": 1}, "mine": 2, "paragraph_data": {
    "judgments": [{"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": "q", "by": "me"}],
    "rankings": [{"method": "m", "paragraphId": "p", "queryId": "q", "rank": 1, "score": 1.0, "why": 2}],
}}]]  # fmt: skip
CRITERIA = {"method": "m", "ratings": [{"criterion": "depth", "rating": 1}]}
TOPIC = "<top><num> Number: 1 <title> one <desc> Description: the long one <narr> more </top>"
DROPPING: list[tuple[str, str, str, dict[str, int]]] = [
    ("topics", TOPIC, "queries-tsv", {"field 'desc'": 1, "field 'narr'": 1}),
    ("topics", TOPIC.replace("<title> one", ""), "queries-tsv", {"field 'narr'": 1}),
    (
        "bank-csv", "query_id,kind,text,mine\nq,question,What?,x\nq,question,Who?,,\nq,question,How?,,y\n",
        "bank", {"cells without a column": 1, "field 'mine'": 1},
    ),
    ("qrels", "q 0 p 1\nq Q0 r 1\nq run7 s 1\n", "qrels", {"second columns other than 0": 1}),
    (
        "graded", json.dumps(GRADED), "qrels",
        {"ranking entries": 1, "passage texts": 1, "field 'by'": 1, "field 'mine'": 1,
         "field 'paragraph'": 1},
    ),
    (
        "graded", json.dumps(GRADED), "run",
        {"judgments": 1, "passage texts": 1, "field 'mine'": 1, "field 'paragraph'": 1,
         "field 'why'": 1},
    ),
    (
        "graded", json.dumps(["q", [GRADED[1][0] | {"criteria_grades": [CRITERIA]}]]), "run",
        {"judgments": 1, "passage texts": 1, "ratings of answers by criteria": 1, "field 'mine'": 1,
         "field 'paragraph'": 1, "field 'why'": 1},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("form", "text", "target", "dropped"), DROPPING)
def test_dropped_fields_are_counted(
    form: str, text: str, target: str, dropped: dict[str, int], tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_text(text)
    assert convert(Conversion(source, tmp_path / "target", target, form)).counts == dropped


def test_qrels_have_the_highest_judgment_as_in_evaluate(
    tmp_path: Path, write_jsonl: Callable[[str, list[Any]], Path]
) -> None:
    def judged(*grades: int) -> dict[str, Any]:
        judgments = [
            {"paragraphId": "p", "query": "q", "relevance": grade, "titleQuery": "q"} for grade in grades
        ]
        data = {"judgments": judgments, "rankings": []}
        return {"paragraph_id": "p", "text": "a text", "paragraph_data": data}

    graded = write_jsonl("graded.jsonl", [["q", [judged(1, 3, 2)]], ["q", [judged(0)]]])
    dropped = convert(Conversion(graded, tmp_path / "qrels", "qrels"))
    assert read_qrels(tmp_path / "qrels") == judgments(graded) == [Qrel("q", "p", 3)]
    assert dropped.counts["repeated judgments of a passage"] == 3
