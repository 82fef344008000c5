"""Review page of sampled pairs in a browser: only these pairs are asked, counted and saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from exam_pp.plugins.trust.pair_sample_files import read_pair_sample
from exam_pp.store.edits import file_sha256
from exam_pp.store.passages.graded_file import read_passages
from tests.data_and_processes.conftest import RATED, Tab, run

OpenTab = Callable[..., Tab]


@pytest.fixture(scope="module")
def folder(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve expected pairs of the demo collection, and their pages with and without grades."""
    folder = tmp_path_factory.mktemp("pairs")
    options = ("--bank", demo / "bank.jsonl", "--prompt", RATED)
    run("sample-pairs", demo / "graded.jsonl.gz", *options, "--count", 12, "-o", folder / "pairs.json")
    for name, blind in (("blind.html", ["--blind"]), ("open.html", [])):
        run("review", demo / "graded.jsonl.gz", *options, "--pairs", folder / "pairs.json", *blind,
            "-o", folder / name)  # fmt: skip
    return folder


@pytest.mark.parametrize("name", ["blind.html", "open.html"])
def test_labels_of_all_sampled_pairs_by_keyboard(
    name: str, folder: Path, demo: Path, tab: OpenTab, tmp_path: Path
) -> None:
    sample = read_pair_sample(folder / "pairs.json")
    drawn = {(pair.query_id, pair.passage_id, pair.entry_id) for pair in sample.pairs}
    queries = len({query_id for query_id, _, _ in drawn})
    page = tab(folder / name)
    assert f"{len(drawn)} sampled pairs of passage and bank entry" in page.text("main")
    assert f"0 of {len(drawn)} sampled pairs rated" in page.text("#status")
    assert page.page.locator("#queries tbody tr").count() == queries
    for q in range(queries):
        page.go(f"#/q/{q}")
        page.page.wait_for_selector(".grid tbody td.cell")
        cells = page.page.locator(".grid td[data-e]").count()
        page.page.focus(".grid td[aria-selected=true]")
        for _ in range(page.page.locator(".grid tbody tr[data-row]").count()):
            # More keys than entries: the first and the last sampled entry of the passage stay selected.
            page.press(*["ArrowLeft"] * 10, "3")
            for _ in range(cells):
                page.press("ArrowRight", "3")
            page.press("j")
        assert page.page.locator(".grid td.own").count() == cells
    assert f"{len(drawn)} of {len(drawn)} sampled pairs rated: not saved" in page.text("#status")
    page.go("#/")
    shown = page.page.locator("td[data-column=own]").all_inner_texts()
    assert sorted(shown) == sorted(f"{total} / {total}" for total in _sizes(drawn))

    saved = json.loads(page.save(tmp_path, "ana").read_text(encoding="utf-8"))["ratings"]
    assert {(rating["query_id"], rating["passage_id"], rating["id"]) for rating in saved} == drawn
    assert [rating["rating"] for rating in saved] == [3] * len(drawn)


def _sizes(drawn: set[tuple[str, str, str]]) -> list[int]:
    return [sum(key[0] == query_id for key in drawn) for query_id in {query_id for query_id, _, _ in drawn}]


def test_ratings_of_other_pairs_are_kept_but_not_counted(
    folder: Path, demo: Path, tab: OpenTab, tmp_path: Path
) -> None:
    page = tab(folder / "open.html")
    sample = read_pair_sample(folder / "pairs.json")
    first = sample.pairs[0]
    sampled = {(pair.passage_id, pair.entry_id) for pair in sample.pairs if pair.query_id == first.query_id}
    query = next(
        query for query in read_passages(demo / "graded.jsonl.gz") if query.query_id == first.query_id
    )
    other = next(
        {"query_id": query.query_id, "passage_id": passage.passage_id, "id": first.entry_id, "rating": 5}
        for passage in query.passages
        if (passage.passage_id, first.entry_id) not in sampled
    )
    own = {"query_id": first.query_id, "passage_id": first.passage_id, "id": first.entry_id, "rating": 4}
    edits = tmp_path / "earlier.json"
    digest = file_sha256(demo / "graded.jsonl.gz")
    content = {
        "format": "exam_pp.edits.v1",
        "graded_sha256": digest,
        "reviewer": "a",
        "ratings": [own, other],
    }
    edits.write_text(json.dumps(content), encoding="utf-8")
    page.page.set_input_files("input[type=file]", edits)
    page.page.wait_for_selector("#dialog[open]")
    assert "1 rating is for entries that this page does not ask about; they are kept." in page.text("#dialog")
    page.page.click("#dialog .primary")
    page.page.locator("#status", has_text=f"1 of {len(sample.pairs)} sampled pairs rated").wait_for()
    page.go("#/work")
    assert "(not on this page)" in page.text("main")
