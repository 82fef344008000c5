"""Import of runs, texts, judgments and answers into a passages file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.data_model import QueryPassages
from exam_pp.errors import DataError
from exam_pp.phases.interchange.answer_units import Unit
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.phases.interchange.import_passages import ImportSources, ImportSummary, import_passages
from exam_pp.phases.validation.validate import validate
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.query_texts import stored_query_texts

Write = Callable[[str, list[Any]], Path]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Two systems, three queries (one of them not in the queries file), texts and judgments."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "first.run").write_text(
        "q1 Q0 d1 0 9 tagA\nq1 Q0 d2 1 8 tagA\nq1 Q0 d3 2 7 tagA\n"
        "007 Q0 d#1/x 0 5 tagA\nother Q0 d9 0 5 tagA\n"
    )
    (tmp_path / "runs" / "second.run").write_text(
        "q1 Q0 d3 1 3 tagB\nq1 Q0 d1 2 2 tagB\nq1 Q0 d4 2 2.5 tagB\n"
    )
    (tmp_path / "texts.tsv").write_text(
        "".join(f"{d}\tText of {d}.\n" for d in ("d1", "d2", "d3", "d4", "d5"))
    )
    with (tmp_path / "texts.tsv").open("a") as texts:
        texts.write("d#1/x\tText of the odd one.\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 2\nq1 0 d5 -1\nq1 0 d4 0\nnowhere 0 d1 3\n")
    (tmp_path / "queries.json").write_text('{"007": "second", "q1": "first", "unseen": "third"}')
    return tmp_path


def built(folder: Path, **options: Any) -> tuple[ImportSummary, dict[str, QueryPassages]]:
    sources = {"runs": [folder / "runs"], "texts": [folder / "texts.tsv"], "queries": folder / "queries.json"}
    summary = import_passages(ImportSources(**{**sources, **options}), folder / "out.jsonl.gz")
    return summary, {query.query_id: query for query in read_passages(folder / "out.jsonl.gz")}


def ids(query: QueryPassages) -> list[str]:
    return [passage.passage_id for passage in query.passages]


def test_texts_of_queries_stay_with_their_passages(collection: Path, write_jsonl: Write) -> None:
    _, queries = built(collection)
    assert {key: query.query_text for key, query in queries.items()} == {"007": "second", "q1": "first"}
    assert stored_query_texts(collection / "out.jsonl.gz") == {"007": "second", "q1": "first"}
    _, queries = built(collection, queries=None, skip_missing_texts=True)
    assert {query.query_text for query in queries.values()} == {""}
    answer = {"run_id": "a", "topic_id": "q1", "topic": "What?", "answer": [{"text": "One."}]}
    path = write_jsonl("answers.jsonl", [answer])
    _, queries = built(collection, runs=[], texts=[], queries=None, answers=[path])
    assert queries["q1"].query_text == "What?"


def test_runs_are_pooled(collection: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    summary, queries = built(collection, top=2, qrels=[collection / "qrels.txt"])
    assert list(queries) == ["007", "q1"], "the order of the queries file"
    # Rank 2 occurs twice in the second run: the higher score comes first.
    assert ids(queries["q1"]) == ["d1", "d2", "d3", "d4"]
    assert ids(queries["007"]) == ["d#1/x"]
    assert queries["007"].passages[0].text == "Text of the odd one."
    assert summary == ImportSummary(queries=2, passages=5, judged=2, systems=2)
    assert "1 query of the runs " in caplog.text
    assert "(first: unseen)" in caplog.text


def test_ranks_beyond_the_pool_are_recorded(collection: Path) -> None:
    _, queries = built(collection, top=1)
    assert ids(queries["q1"]) == ["d1", "d3"]
    ranks = [[(e.method, e.rank, e.score) for e in p.rankings] for p in queries["q1"].passages]
    assert ranks == [[("first", 0, 9.0), ("second", 2, 2.0)], [("first", 2, 7.0), ("second", 1, 3.0)]]


def test_the_written_line_has_the_published_keys(collection: Path) -> None:
    output = collection / "out.jsonl"
    sources = ImportSources(
        runs=[collection / "runs" / "second.run"],
        texts=[collection / "texts.tsv"],
        qrels=[collection / "qrels.txt"],
        top=1,
    )
    import_passages(sources, output)
    line = json.loads(output.read_text())
    beyond = line[1][0]["paragraph_data"].pop("beyond_pool")
    assert line[1][0]["paragraph_data"].pop("pool_depth") == 1
    assert [judgment["paragraphId"] for judgment in beyond["judgments"]] == ["d1", "d5", "d4"]
    assert beyond["rankings"] == [{"method": "second", "queryId": "q1", "passages": ["d3", "d4", "d1"]}]
    assert line == [
        "q1",
        [
            {
                "paragraph_id": "d3",
                "text": "Text of d3.",
                "paragraph_data": {
                    "judgments": [],
                    "rankings": [
                        {"method": "second", "paragraphId": "d3", "queryId": "q1", "rank": 1, "score": 3.0}
                    ],
                },
            }
        ],
    ]


@pytest.mark.parametrize(
    ("results", "cause"),
    [
        (
            ["a 1 0.1", "b 2 0.9"],
            "for 4 lines, since scores rise with the rank, such as a (score 0.1) before b",
        ),
        (["a 1 0.5", "b 2 0.5"], "for 4 lines, by ties only, such as a (score 0.5) before b (score 0.5)"),
        (["a 1 1.00000001", "b 2 1"], "by ties only"),
        (["b 1 0.5", "a 2 0.5"], ""),
        (["a 1 0.9", "b 2 0.1"], ""),
    ],
)
def test_ranks_that_are_not_the_order_of_trec_eval(
    results: list[str], cause: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A single warning; trec_eval compares scores in single precision."""
    run, texts = tmp_path / "A.run", tmp_path / "texts.tsv"
    run.write_text("".join(f"{q} Q0 {result} A\n" for q in ("q1", "q2") for result in results))
    texts.write_text("a\tone\nb\ttwo\n")
    import_passages(ImportSources(runs=[run], texts=[texts]), tmp_path / "p.jsonl")
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == bool(cause)
    assert all(cause in text and str(run) in text and "in 2 of 2 rankings" in text for text in warnings)


def test_judged_passages_are_pooled_too(collection: Path) -> None:
    summary, queries = built(collection, top=1, judged=[collection / "qrels.txt"])
    assert ids(queries["q1"]) == ["d1", "d3", "d5", "d4"]
    judgments = {p.passage_id: [j.relevance for j in p.judgments] for p in queries["q1"].passages}
    assert judgments == {"d1": [2], "d3": [], "d5": [-1], "d4": [0]}
    assert [e.method for e in queries["q1"].passages[3].rankings] == ["second"], "its rank is known"
    assert summary.judged == 3


def test_the_best_of_every_system_of_a_file_are_pooled(collection: Path) -> None:
    for run in (collection / "runs").iterdir():
        run.unlink()
    (collection / "runs" / "all.run").write_text(
        "q1 Q0 d1 1 9 tagA\nq1 Q0 d2 2 8 tagA\nq1 Q0 d3 1 70 tagB\nq1 Q0 d1 2 60 tagB\n"
    )
    _, queries = built(collection, method_name="tag", top=1)
    assert {p.passage_id: {(e.method, e.rank) for e in p.rankings} for p in queries["q1"].passages} == {
        "d1": {("tagA", 1), ("tagB", 2)},
        "d3": {("tagB", 1)},
    }


def test_missing_texts(collection: Path, caplog: pytest.LogCaptureFixture) -> None:
    (collection / "texts.tsv").write_text("d1\tOne.\nd4\tFour.\n")
    with pytest.raises(DataError, match=r"texts\.tsv: 3 of 5 .*\(d#1/x, d2, d3\)"):
        built(collection)
    assert not (collection / "out.jsonl.gz").exists()
    summary, queries = built(collection, skip_missing_texts=True)
    assert list(queries) == ["q1"]
    assert summary.passages == 2
    assert "dropped" in caplog.text


def test_judgments_outside_the_pool_are_counted(collection: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    qrels = collection / "qrels.txt"
    built(collection, qrels=[qrels])
    assert "1 judgment is of a passage outside the pool" in caplog.text
    caplog.clear()
    built(collection, judged=[qrels])
    assert "outside the pool" not in caplog.text
    qrels.write_text("q1 0 D1 1\nq1 0 D2 1\n")
    summary, _ = built(collection, qrels=[qrels])
    assert summary.judged == 0
    assert "2 judgments are of passages outside the pool" in caplog.text
    assert "No judgment " in caplog.text


@pytest.mark.parametrize(
    ("unit", "first"), [("sentence", "a/q1#1"), ("paragraph", "a/q1#1"), ("whole", "a/q1")]
)
def test_answers_without_text_are_counted(
    tmp_path: Path,
    write_jsonl: Write,
    caplog: pytest.LogCaptureFixture,
    unit: Unit,
    first: str,
) -> None:
    texts = {"a": "One.", "b": "", "c": " "}
    lines = [{"query_id": "q1", "system": system, "text": text} for system, text in texts.items()]
    sources = ImportSources(answers=[write_jsonl("answers.jsonl", lines)], unit=unit)
    assert import_passages(sources, tmp_path / "out.jsonl").passages == 3
    (message,) = caplog.messages
    assert message.startswith("2 answers have no text and are imported as empty passages (first: ")
    assert message.endswith("answers.jsonl, line 2, query q1).")
    (query,) = read_passages(tmp_path / "out.jsonl")
    assert ids(query) == [first, first.replace("a", "b", 1), first.replace("a", "c", 1)]
    assert {p.text for p in query.passages[1:]} == {""}


def test_answers_become_ranked_passages(
    collection: Path, write_jsonl: Write, caplog: pytest.LogCaptureFixture
) -> None:
    answer = {
        "run_id": "team/gen",
        "topic_id": "q1",
        "references": ["d#1", "d2"],
        "answer": [{"text": "One.", "citations": [1]}, {"text": "Two.", "citations": [0, 1]}],
    }
    empty = {"query_id": "q1", "system": "silent", "text": ""}
    path = write_jsonl("answers.jsonl", [answer, empty])
    summary, queries = built(collection, runs=[], answers=[path], unit="sentence")
    assert ids(queries["q1"]) == ["d2", "team/gen/q1#1", "team/gen/q1#2", "silent/q1#1"]
    entries = [p.rankings[0] for p in queries["q1"].passages]
    assert [(e.method, e.rank, e.score, e.citations, e.role) for e in entries] == [
        ("team/gen", 2, 1.0, None, "retrieved"),
        ("team/gen", 1, 2.0, ["d2"], "answer"),
        ("team/gen", 2, 1.0, ["d#1", "d2"], "answer"),
        ("silent", 1, 1.0, None, "answer"),
    ]
    assert summary == ImportSummary(1, 4, 0, 2)
    assert "1 passage that answers list or cite is not in the texts" in caplog.text
    assert "(first: 'd#1', " in caplog.text
    assert "answers.jsonl, line 1, query q1" in caplog.text
    _, queries = built(collection, runs=[], texts=[], answers=[path], unit="sentence")
    assert ids(queries["q1"]) == ["team/gen/q1#1", "team/gen/q1#2", "silent/q1#1"]
    _, queries = built(collection, answers=[path], unit="whole")
    assert ids(queries["q1"])[-2:] == ["team/gen/q1", "silent/q1"]
    assert [p.text for p in queries["q1"].passages[-2:]] == ["One. Two.", ""], "no answer is an answer too"


@pytest.mark.parametrize("unit", ["whole", "paragraph", "sentence"])
def test_dropped_fields_of_answers_are_counted(collection: Path, write_jsonl: Write, unit: Unit) -> None:
    parts = [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": [1]}, {"text": "Three."}]
    answer = {
        "run_id": "gen",
        "topic_id": "q1",
        "topic": "What?",
        "references": ["a", "b", "c"],
        "answer": parts,
    }
    path = write_jsonl("answers.jsonl", [answer])
    summary, _ = built(collection, runs=[], texts=[], answers=[path], unit=unit)
    always = {"retrieved documents without texts": 1}
    together = {"boundaries of answer parts": 2, "parts with their own citations": 2}
    assert summary.dropped.counts == (always if unit == "sentence" else always | together)
    assert convert(Conversion(path, collection / "graded.jsonl", "graded", unit=unit)).counts == (
        summary.dropped.counts
    )


def test_answers_above_the_limit_of_the_track_are_counted(
    tmp_path: Path, write_jsonl: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Only answers of 2024 are known to have the limit of 2024."""
    text = "One sentence. "
    lines = [
        *({"query_id": "q", "system": str(words), "text": text * (words // 2)} for words in (1024, 1026)),
        {"metadata": {"run_id": "r", "narrative_id": "q"}, "answer": [{"text": text * 201}]},
        {"run_id": "of 2024", "topic_id": "q", "answer": [{"text": text * 201}]},
    ]
    import_passages(ImportSources(answers=[write_jsonl("a.jsonl", lines)]), tmp_path / "out.jsonl")
    (message,) = caplog.messages
    limit = "more words than TREC RAG accepts (400 in 2024, 1,024 in 2026)"
    assert message.startswith(f"2 answers have {limit} and are not cut (first: ")
    assert message.endswith("a.jsonl, line 2, query q).")


def test_citations_of_no_reference_are_counted(
    tmp_path: Path, write_jsonl: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """A text that looks like an index is a document; without a list of references, nothing is said."""
    lines = [
        {"metadata": {"run_id": "r", "topic_id": "q"}, "responses": [{"text": "A.", "citations": ["d9"]}]},
        {"run_id": "s", "topic_id": "q", "references": ["d1"], "answer": [{"text": "A.", "citations": [0]}]},
        {
            "run_id": "t",
            "topic_id": "q",
            "references": ["d1"],
            "answer": [{"text": "A.", "citations": ["0"]}],
        },
        {
            "run_id": "u",
            "topic_id": "q",
            "references": [],
            "answer": [{"text": "A.", "citations": {"d1": 0.9}}],
        },
        {"query_id": "q", "system": "v", "text": "A.", "references": ["d1"], "citations": ["d1", "d2", "d2"]},
    ]
    answers = write_jsonl("a.jsonl", lines)
    import_passages(ImportSources(answers=[answers]), tmp_path / "out.jsonl")
    assert caplog.messages == [
        f"3 citations are no references of their answers (first: '0', {answers}, line 3, query q)."
    ]
    findings = validate([answers])
    assert findings.number("error") == 0
    assert [(f.check, f.line, f.where, f.message) for f in findings.kept] == [
        ("citation", line, "query q", f"the citation {docid} is no reference of the answer")
        for line, docid in ((3, "0"), (4, "d1"), (5, "d2"))
    ]


def test_judgments_with_fractions_are_cut_off(collection: Path, caplog: pytest.LogCaptureFixture) -> None:
    (collection / "qrels.txt").write_text("q1 0 d1 1.8\nq1 0 d3 2.\n")
    _, queries = built(collection, qrels=[collection / "qrels.txt"])
    judged = {p.passage_id: [j.relevance for j in p.judgments] for p in queries["q1"].passages}
    assert (judged["d1"], judged["d3"]) == ([1], [2])
    assert "1 of 2 labels has a fraction, which is cut off, as by trec_eval (1.8 is 1)." in caplog.messages
