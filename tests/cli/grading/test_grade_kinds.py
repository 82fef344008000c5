"""``exam-pp grade`` sees from the prompt what to grade, and refuses options that the work does not use."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("IN -o out --model fake", "grade needs --prompt or --prompt-file."),
        (f"IN -o out --prompt {RATING}", "Missing option '--model'."),
        (f"IN --model fake --prompt {RATING}", "Missing option '-o' / '--output'."),
        (f"-o out --model fake --prompt {RATING}", "Missing argument 'PASSAGES'."),
        (f"--closed-book -o out --model fake --prompt {RATING}", "--closed-book needs --bank."),
        (f"IN -o out --model fake --prompt {RATING} --sources all", "--sources has no effect"),
        ("IN -o out --model fake --prompt CitationSupport --bank IN", "--bank has no effect on"),
        ("IN -o out --model fake --prompt-file IN --shard 1/2", "--shard has no effect on grades"),
        ("IN -o out --model fake --prompt FactualConsistency --plan", "--plan has no effect"),
        (f"IN -o out --model fake --prompt {RATING} --prompt CitationSupport", "are used alone"),
        ("--plan --model fake --bank IN", "--bank has no effect on grades of --plan without PASSAGES"),
    ],
)  # fmt: skip
def test_options_that_the_work_does_not_use_are_refused(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("IN").write_text("[[criteria]]\n")
    with pytest.raises(SystemExit) as stop:
        main(["grade", *words.split()])
    assert stop.value.code == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not Path("out").exists()
