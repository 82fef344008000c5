"""Conversion of files of RAGElo and Open RAG Eval; the shared files come from these tools."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.formats.base import format_of
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.plugins.rag_metrics.open_rag_eval import (
    ResultRow,
    read_result_rows,
    read_results,
    write_result_rows,
)
from exam_pp.results import Score
from exam_pp.store.trec.answers import Answer, AnswerPart, read_answers, write_answers
from tests.conftest import data_error

names = st.text("ab1_-é", min_size=1, max_size=5)


texts = st.text('aB1. ,"\n\u4e2d[]', max_size=12)


@given(
    st.lists(
        st.builds(
            Answer, names, names,
            st.lists(st.builds(AnswerPart, texts.filter(str.strip),
                               st.lists(names, max_size=2, unique=True).map(tuple)), max_size=3).map(tuple),
            query_text=texts.filter(str.strip),
            references=st.lists(names, max_size=3, unique=True).map(tuple),
        ),
        min_size=1, max_size=3, unique_by=lambda answer: (answer.system, answer.query_id),
    )
)  # fmt: skip
def test_answers_survive_open_rag_eval_except_for_dropped_fields(answers: list[Answer]) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, there, back = (Path(name) / part for part in ("a.jsonl", "b.csv", "c.jsonl"))
        write_answers(answers, source, "rag24")
        dropped = convert(Conversion(source, there, "open-rag-eval")).counts
        convert(Conversion(there, back, "rag24"))
        for before, after in zip(read_answers(source), read_answers(back), strict=True):
            assert before.query_id == after.query_id
            if "leading or trailing whitespace" not in dropped:
                assert before.query_text == after.query_text
            # Document ids change, but their order does not. A text may look like a citation.
            if "boundaries of answer parts" not in dropped:
                old = {docid: number for number, docid in enumerate(before.references)}
                new = {docid: number for number, docid in enumerate(after.references)}
                assert list(old.values()) == list(new.values())
                assert [(part.text, {old[docid] for docid in part.citations}) for part in before.parts] == [
                    (part.text, {new[docid] for docid in part.citations}) for part in after.parts
                ]


def test_texts_of_queries_for_open_rag_eval_are_of_a_file(
    tmp_path: Path, write_jsonl: Callable[[str, list[Any]], Path]
) -> None:
    source = write_jsonl("a.jsonl", [{"query_id": "q", "system": "s", "text": "One."}])
    (tmp_path / "q.tsv").write_text("q\tWhat?\n")
    convert(Conversion(source, tmp_path / "b.csv", "open-rag-eval", queries=tmp_path / "q.tsv"))
    assert (tmp_path / "b.csv").read_text().splitlines()[1] == "q,What?,1,,,One."


def results_of_open_rag_eval(tmp_path: Path, columns: Sequence[str], *rows: Sequence[str]) -> Path:
    """A result file with these columns of measures, a row for each query."""
    path = tmp_path / "vectara.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["query_id", "query", *columns])
        writer.writerows([f"q{n}", "Why?", *row] for n, row in enumerate(rows, 1))
    return path


def test_numbers_in_json_cells_of_open_rag_eval_are_scores(tmp_path: Path) -> None:
    """Labels of passages, lists and texts are no scores; missing keys and cells have no score."""
    path = results_of_open_rag_eval(
        tmp_path,
        ["run_1_retrieval_score_precision_metrics", "run_2_retrieval_score_precision_metrics",
         "run_1_generation_score_no_answer_score", "run_1_retrieval_score_umbrela_scores", "run_1_note"],
        ['{"precision@": {"1": 1, "3": 0.5}, "MRR": 1.0}', '{"MRR": null}', '{"query_answered": "Yes"}',
         '{"[1]": 3}', "{broken"],
        ['{"MRR": 0.5, "labels": ["vital"]}', "", "no", "", ""],
        ["[1]", "", "maybe", "", ""],
    )  # fmt: skip
    scores, others = read_results(path, "rag")
    metric = "retrieval_score_precision_metrics"
    assert scores == [
        Score("rag-run-1", "q1", f"{metric}.precision@.1", 1.0),
        Score("rag-run-1", "q1", f"{metric}.precision@.3", 0.5),
        Score("rag-run-1", "q1", f"{metric}.MRR", 1.0),
        Score("rag-run-1", "q1", "Answered", 1.0),
        Score("rag-run-1", "q2", f"{metric}.MRR", 0.5),
        Score("rag-run-1", "q2", "Answered", 0.0),
    ]
    assert others == {
        f"run_1_{metric}": 1, f"run_2_{metric}": 1, "run_1_generation_score_no_answer_score": 1,
        "run_1_retrieval_score_umbrela_scores": 1, "run_1_note": 1,
    }  # fmt: skip


def test_a_single_run_of_open_rag_eval_is_the_system(tmp_path: Path) -> None:
    """Its code writes the prefix for single runs, too."""
    columns = ["run_1_generation_score_citation_f1_score"]
    scores, _ = read_results(results_of_open_rag_eval(tmp_path, columns, ["0.5"], [""]), "rag")
    assert scores == [Score("rag", "q1", "generation_score_citation_f1_score", 0.5)]


def test_statistics_of_consistency_of_open_rag_eval_are_scores(tmp_path: Path) -> None:
    cell = '{"values": [0.5, 1.0], "stats": {"mean": 0.75, "std": 0.25}}'
    path = results_of_open_rag_eval(
        tmp_path, ["consistency_rouge_score", "run_1_generated_answer"], [cell, "[]"]
    )
    assert format_of(path).name == "open-rag-eval-scores"
    assert read_results(path, "rag")[0] == [
        Score("rag", "q1", "consistency_rouge_score.stats.mean", 0.75),
        Score("rag", "q1", "consistency_rouge_score.stats.std", 0.25),
    ]


def test_rows_of_open_rag_eval_keep_cells_and_queries_without_results(tmp_path: Path) -> None:
    columns = ["run_2_retrieval_score_umbrela_scores", "run_1_generation_score_vital_nuggetizer_score"]
    path = results_of_open_rag_eval(tmp_path, columns, ['{"[1]": 3}', "0.25"], ["", ""])
    assert list(read_result_rows(path)) == [
        ResultRow("q1", "Why?", 1, {"generation_score_vital_nuggetizer_score": 0.25}),
        ResultRow("q1", "Why?", 2, {"retrieval_score_umbrela_scores": {"[1]": 3}}),
        ResultRow("q2", "Why?", None, {}),
    ]


@pytest.mark.parametrize(
    ("cell", "about"),
    [
        ('{"precision@": 1', "not valid JSON (Expecting"),
        ("{'precision@': 1}", "not valid JSON"),
        ('{"precision@": NaN}', "NaN is not a finite number"),
        ("[" * 100_000, "not valid JSON"),
        (r'{"\ud800": 1}', "surrogates not allowed"),
        ("nan", "'nan' is not a finite number; leave the cell of a missing score empty."),
        ("-Infinity", "not a finite number"),
    ],
)
def test_broken_cells_of_open_rag_eval(cell: str, about: str, tmp_path: Path) -> None:
    column = "run_1_generation_score_citation_scores"
    path = results_of_open_rag_eval(tmp_path, [column], ["0.5"], [cell])
    with data_error(path, 3, column, about=about):
        read_results(path, "rag")


CELLS = {
    "retrieval_score_umbrela_scores": {"d.1": 3, "d2": 0},
    "retrieval_score_precision_metrics": {"precision@": {"1": 1.0, "3": 0.5}, "MRR": 1.0},
    "generation_score_citation_f1_score": 0.25,
    "generation_score_no_answer_score": {"answered": "Yes"},
}


@pytest.mark.parametrize("repeats", [(None,), (1, 2)])
def test_json_cells_of_open_rag_eval_are_written_and_read(
    tmp_path: Path, repeats: Sequence[int | None]
) -> None:
    path = tmp_path / "system.csv"
    rows = [ResultRow("q1", 'What "is" it, then?', repeat, CELLS) for repeat in repeats]
    rows.append(ResultRow("q2", "", None, {}))
    write_result_rows(rows, path)
    assert list(read_result_rows(path)) == rows
    scores, others = read_results(path, "s")
    name, prefix = ("s", "") if repeats == (None,) else ("s-run-1", "run_1_")
    assert others[f"{prefix}retrieval_score_umbrela_scores"] == 1
    assert scores[:5] == [
        Score(name, "q1", "retrieval_score_precision_metrics.precision@.1", 1.0),
        Score(name, "q1", "retrieval_score_precision_metrics.precision@.3", 0.5),
        Score(name, "q1", "retrieval_score_precision_metrics.MRR", 1.0),
        Score(name, "q1", "generation_score_citation_f1_score", 0.25),
        Score(name, "q1", "Answered", 1.0),
    ]
