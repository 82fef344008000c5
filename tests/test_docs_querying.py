"""docs/how-to/querying.md: the outputs of its commands are correct, and its Python code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exam_pp.store.sql.tables import TABLES
from scripts.run_page import rerun

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.integration
def test_outputs_are_as_shown_and_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "how-to" / "querying.md").read_text(encoding="utf-8")
    (tmp_path / "data").symlink_to(ROOT / "data")
    _, changed = rerun(page, tmp_path)
    assert not changed, "run python scripts/run_page.py scripts/docs/querying.md, then scripts/make_docs.py"
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "docs/how-to/querying.md", "exec"), {})
    database, *_, alone = capsys.readouterr().out.splitlines()
    assert database == "[('question', 3492)]"
    assert alone.startswith("[('lexical', 1746, ")


def test_every_table_and_column_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "querying.md").read_text(encoding="utf-8")
    for table in TABLES.values():
        section = page.split(f"### {table.name}\n")[1].split("\n### ")[0]
        for column in table.columns:
            assert f"| `{column.name}` | {column.type} | {column.description} |" in section


def test_changed_outputs_are_detected(tmp_path: Path) -> None:
    page = "```sh\necho one\n```\n\n```text\ntwo\n```\n\n```sh\necho three > file\n```\n"
    fresh, changed = rerun(page, tmp_path)
    assert len(changed) == 1
    assert fresh == page.replace("two", "one")
    assert (tmp_path / "file").read_text() == "three\n"
