"""Every shown command runs; shown outputs are correct."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.docs.checks import check
from tests.docs.pages import PAGES, blocks, is_run, read
from tests.docs.runner import room
from tests.docs.setups import prepare
from tests.example_files import ExampleFiles

BLOCKS = {page: [block for block in blocks(page, read(page)) if is_run(block)] for page in PAGES}


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCKS[page]])
def test_the_page_works(page: str, tmp_path: Path, example_files: ExampleFiles) -> None:
    differences, printed_lines = [], ""
    with room(tmp_path) as runner:
        setup = prepare(page, read(page), example_files)
        for block in BLOCKS[page]:
            setup.act_before(block)
            printed = runner.run(block)
            printed_lines += printed.out + printed.err
            if block.output is not None and not printed.shows(block.output):
                lines = difflib.unified_diff(
                    block.output.splitlines(),
                    (printed.out or printed.err).splitlines(),
                    "page",
                    "now",
                    lineterm="",
                )
                differences.append("\n".join([block.place, *lines]))
        check(page, printed_lines)
    assert not differences, "\n".join([f"run python -m scripts.run_page {page}", *differences])
