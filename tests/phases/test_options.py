"""Options without an effect are a usage error."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from exam_pp.cli.main import main


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("generate answers file -o out --model fake --system a", "--system needs --passages."),
        ("nuggetize bank -o out --model fake --regrade --count 3", "--count needs a passages file."),
        ("nuggetize bank -o out --model fake --regrade --only nuggets", "--only needs a passages file."),
        ("nuggetize file -o out --model fake --only nuggets --keep 5", "--keep needs importance"),
        ("nuggetize file -o out --model fake --min-judgment all --grader m", "--grader needs a number as"),
        ("nuggetize file -o out --model fake --regrade", "--regrade needs"),
        ("grade file -o out --model fake", "grade needs --prompt or --prompt-file."),
        ("review file --pairs file --limit 3 -o out", "--limit would drop pairs of --pairs"),
    ],
)
def test_options_without_an_effect(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text('["q1", [{"paragraph_id": "p1", "text": "Text."}]]\n')
    Path("bank").write_text(
        '{"query_id": "q1", "items": [{"query_id": "q1", "nugget_id": "n", "nugget_text": "A fact."}]}\n'
    )
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(line))
    assert stop.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("out").exists()
