"""`bank import`: facets as queries."""

from __future__ import annotations

import json
from pathlib import Path

from exam_pp.banks import entry_id
from exam_pp.cli.main import main
from exam_pp.store.banks.bank_json import read_bank


def test_facets_as_queries_become_facets_of_their_title_query(tmp_path: Path) -> None:
    """The ids stay the same, so that grades still join; the text of the query is its title."""
    lines = [
        {
            "query_id": f"car:bees/{facet}",
            "query_text": f"Bees / {text}",
            "items": [
                {
                    "query_id": f"car:bees/{facet}",
                    "question_id": entry_id(f"car:bees/{facet}", "What is it?"),
                    "question_text": "What is it?",
                }
            ],
        }
        for facet, text in (("S_1", "Dance"), ("S_2", "Honey"))
    ]
    source = tmp_path / "facets.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = tmp_path / "titles.jsonl"
    main(["-q", "bank", "import", str(source), "--from", "bank", "--facets", "title", "-o", str(output)])
    before, after = read_bank(source), read_bank(output)
    assert [(line.query_id, line.facet_id, line.facet_text) for line in after.lines] == [
        ("car:bees", "S_1", "Dance"),
        ("car:bees", "S_2", "Honey"),
    ]
    assert after.queries["car:bees"].query_text == "Bees"
    assert list(after.entries("car:bees")) == [key for query in before for key in query.entries]
    assert list(after.entries("car:bees")) == [entry_id("car:bees", "What is it?", f) for f in ("S_1", "S_2")]
    again = tmp_path / "again.jsonl"
    main(["-q", "bank", "import", str(output), "--from", "bank", "--facets", "title", "-o", str(again)])
    assert again.read_bytes() == output.read_bytes()
