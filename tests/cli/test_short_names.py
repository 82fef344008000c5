"""Short names of prompts: in options, and in reports and messages for readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Heading, Link, Paragraph, Picture, Quote, Report, Table
from exam_pp.reports.evaluation.short_names import for_readers, with_short_names

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"the grades of the prompt class {RATED}.", "the grades of the prompt self-rated."),
        (f"prompt classes {RATED}, NuggetSelfRatedPrompt", "prompts self-rated, nugget-self-rated"),
        (f"--prompt {RATED!r}", "--prompt 'self-rated'"),
        (f"m {RATED} V_strict", "m self-rated V_strict"),
        (f"out/{RATED}.tsv", f"out/{RATED}.tsv"),
        (f"My{RATED} {RATED}-2", f"My{RATED} {RATED}-2"),
        ("Thomas and the Sun", "Thomas and the Sun"),
        ("FactualConsistency is 0.5", "FactualConsistency is 0.5"),
    ],
    ids=["sentence", "several", "quoted", "grader", "path", "longer", "words", "measure"],
)
def test_texts(text: str, shown: str) -> None:
    assert with_short_names(text) == shown


def test_all_parts_of_a_report_have_short_names_but_quoted_texts() -> None:
    report = Report(
        RATED,
        [
            Table(["prompt class", RATED], [[RATED, 1.5]], title=RATED),
            Paragraph(RATED),
            Quote(RATED, label=RATED),
            Heading(RATED),
            Link(RATED, f"{RATED}.html"),
            Picture(RATED, RATED, RATED, 1.0, 1.0, f"<text>{RATED}</text>"),
        ],
        Provenance(("m",), (RATED,)),
    )
    short = "self-rated"
    shown = for_readers(report)
    assert (shown.title, list(shown.blocks)) == (
        short,
        [
            Table(["prompt", short], [[short, 1.5]], title=short),
            Paragraph(short),
            Quote(RATED, label=short),
            Heading(short),
            Link(short, f"{RATED}.html"),
            Picture(short, short, short, 1.0, 1.0, f"<text>{short}</text>"),
        ],
    )
    assert "model m; prompt self-rated." in shown.provenance.sentence  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "option",
    ["--prompt self-rated", f"--prompt {RATED}", "--prompt-class self-rated", f"--prompt-class={RATED}"],
)
def test_every_name_selects_the_grades(
    option: str, tiny_passages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files and formats for scripts have the published name."""
    command = ["-q", "evaluate", "cover", str(tiny_passages), *option.split()]
    main([*command, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["provenance"]["prompt_classes"] == [RATED]
    main(command)
    text = capsys.readouterr().out
    assert "prompt self-rated; " in text
    assert RATED not in text
