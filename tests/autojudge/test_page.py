"""docs/how-to/autojudge.md: its tables have all settings and all workflow files."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.autojudge.settings import INJECTED, Settings

PAGE = "docs/how-to/autojudge.md"


@pytest.fixture(scope="session")
def page(repository: Path) -> str:
    return (repository / PAGE).read_text(encoding="utf-8")


def table(page: str, title: str) -> list[list[str]]:
    """The rows of the first table whose header begins with ``title``."""
    text = page.partition(f"\n| {title} |")[2].partition("\n\n")[0]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_the_table_has_all_settings_with_their_defaults(page: str) -> None:
    rows = {row[0]: row[1] for row in table(page, "setting")}
    fields = {name: field for name, field in Settings.model_fields.items() if name not in INJECTED}
    assert list(rows) == list(fields)
    for name, field in fields.items():
        if field.default not in (None, {}):
            assert rows[name] == str(field.default).replace("False", "false")
