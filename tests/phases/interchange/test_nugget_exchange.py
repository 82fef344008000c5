"""Import and export of answers and of labels of UMBRELA."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.store.trec.answers import read_answers

WriteJsonl = Callable[[str, list[Any]], Path]


Lines = list[dict[str, Any]]


def read_json(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def test_answers_of_one_system_as_text(demo_data: Path, tmp_path: Path) -> None:
    passages, out = tmp_path / "p.jsonl", tmp_path / "a.jsonl"
    source = demo_data / "answers" / "gen-short.jsonl"
    conversion = Conversion(passages, out, "plain-answers", systems=["gen-short"])
    import_passages(ImportSources(answers=[source], unit="whole"), passages)
    assert "citations" not in convert(conversion).counts

    (first, *_) = read_answers(source)
    assert read_json(out)[0] == {
        "query_id": first.query_id,
        "system": "gen-short",
        "text": " ".join(part.text for part in first.parts),
        "citations": list(dict.fromkeys(docid for part in first.parts for docid in part.citations)),
    }
    import_passages(ImportSources(answers=[source], unit="sentence"), passages)
    assert "boundaries of answer parts" in convert(conversion).counts
