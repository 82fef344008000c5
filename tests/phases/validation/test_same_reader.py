"""``validate`` accepts what other commands read, and refuses what they refuse with the same sentence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.phases.interchange.answer_units import read_any_answers
from exam_pp.phases.validation.validate import validate
from exam_pp.store.trec.queries import read_queries
from exam_pp.store.trec.runs import read_qrels, read_run
from exam_pp.store.trec.texts import read_texts
from scripts.reliability.good_files import lay_out as lay_out_good_files
from scripts.reliability.good_files import targets
from tests.conftest import written
from tests.test_broken_files import CASES, lay_out

READING = ("import --", "bank import", "evaluate judgments", "analyze correlation", "grade graded.jsonl")
READ = sorted({target.file for target in targets() if target.command.startswith(READING)} - {"prompt.toml"})


@pytest.mark.parametrize("name", READ)
def test_good_files(name: str, tmp_path: Path) -> None:
    lay_out_good_files(tmp_path)
    assert not validate([tmp_path / name]).number("error")


def _bank(path: Path) -> None:
    with suppress(SystemExit):
        main(["-q", "bank", "import", str(path), "-o", str(path.with_suffix(".bank"))])
    assert path.with_suffix(".bank").exists()


READERS: dict[str, Callable[[Path], Any]] = {
    "queries": read_queries,
    "texts": lambda path: read_texts(path, None),
    "answers": lambda path: list(read_any_answers(path, DroppedFields())),
    "runs": lambda path: list(read_run(path)),
    "qrels": lambda path: list(read_qrels(path)),
    "bank": _bank,
}
SHAPES = {
    "queries": [
        '{"qid": "1", "query": "one"}\n{"qid": "2", "query": "two"}\n',
        '{"id": 1, "narrative": "I want."}\n{"id": 2, "narrative": "I need."}\n',
        '{"id": "1", "question": "Why?"}\n{"id": "2", "question": "How?"}\n',
        '{"id": "1", "title": "one", "description": "more words"}\n',
        '{"queryId": "1", "queryText": "one"}\n{"queryId": "2", "queryText": "two"}\n',
        '[{"request_id": 1, "problem_statement": "one"}]\n',
        '{\n "request_id": 1,\n "problem_statement": "one"\n}\n',
        "query_id,query,kind\n1,one,short\n",
        "qid;question\n1;Why?\n",
        "1\tone two\ten\n2\tthree four\tde\n",
        "<top>\n<num> Number: 1\n<desc> Description:\nWhat is it?\n</top>\n",
    ],
    "texts": [
        '{"id": "1", "contents": "one"}\n{"id": "2", "contents": "two"}\n',
        '{"id": "1", "text": "one"}\n{"id": "2", "text": "two"}\n',
        '{"_id": "1", "title": "x", "text": "one", "metadata": {}}\n',
        "id,title,text\n1,x,one\n",
    ],
    "answers": [
        '{"query_id": "1", "answer": "one"}\n',
        '{"id": "1", "question": "Why?", "answer": "one"}\n{"id": "2", "question": "How?", "answer": "b"}\n',
        '{"run_id": "r", "narrative_id": 1, "references": ["d"], "answer": [{"text": "a"}]}\n',
        '{"run_id": "r", "query": {"qid": 1, "text": "t"}, "references": [], "answer": [{"text": "a"}]}\n',
        '{"run_id": "r", "request_id": 1, "responses": [{"text": "a", "citations": ["d"]}]}\n',
        "Question ID;Response\n1;one\n",
    ],
    "runs": ["qid,docid,score\nq,d,0.5\n", '[{"query": "q", "doc": "d", "position": 1, "system": "s"}]\n'],
    "qrels": ["query-id\tcorpus-id\tscore\nq\td\t1\n", '{"query_id": "q", "passage_id": "d", "label": 2}\n'],
    "bank": ["Query;Question\none;Why?\n", "topic_id,text,kind\nq,Why?,question\n"],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "content"), [(kind, text) for kind in SHAPES for text in SHAPES[kind]])
def test_shapes(kind: str, content: str, tmp_path: Path) -> None:
    path = written(tmp_path / "file.csv", content)
    READERS[kind](path)
    assert not validate([path]).number("error")


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("queries", '{"qid": 1, "query": "one"}\n{"qid": 1, "query": "two"}\n'),
        ("queries", '{"request_id": 1, "problem_statement": "one"}\n{"request_id": 2, "background": ""}\n'),
        ("texts", '{"id": "1", "contents": "one"}\n{"id": "1", "contents": "two"}\n'),
        ("answers", '{"query_id": "1", "answer": "one"}\n{"query_id": "", "answer": "two"}\n'),
        (
            "answers",
            '{"run_id": "r", "qid": 1, "references": [], "answer": [{"text": "a", "citations": [0]}]}\n',
        ),
    ],
)
def test_refused_files(kind: str, content: str, tmp_path: Path) -> None:
    path = written(tmp_path / "file", content)
    with pytest.raises(DataError) as refused:
        READERS[kind](path)
    assert refused.value.problem in [finding.message for finding in validate([path]).kept]


def test_a_bank_without_kinds_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "bank.csv", "query_id,entry\nq,Why?\n")
    with pytest.raises(AssertionError):
        _bank(path)
    (finding,) = validate([path]).kept
    assert finding.message in capsys.readouterr().err


_KINDS = {"runs/a.run": "run", "texts.tsv": "texts", "qrels.txt": "qrels", "queries.tsv": "queries-tsv"}


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case["command"] == "import" and ", line" in case["error"]],
    ids=lambda case: case["name"],
)
def test_broken_files(case: dict[str, Any], tmp_path: Path) -> None:
    """The table of broken files: of an input that ``import`` refuses."""
    lay_out(tmp_path, case)
    name = case["error"].partition(",")[0]
    found = validate([tmp_path / name], kind=_KINDS[name]).kept
    assert any(case["error"].endswith(finding.message) for finding in found)
