"""``exam-pp evaluate answers``: the metric of the grades in a file, and refused options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main

SUPPORT = {"support_grades": [{"llm": "m", "supports": [{"citation": "d", "support": "full_support"}]}]}
CRITERIA = {
    "criteria_grades": [
        {
            "llm": "m",
            "method": "rag",
            "prompt_info": {"prompt_class": "Own", "criteria": {"depth": 2}},
            "ratings": [{"criterion": "depth", "rating": 1}],
        }
    ]
}
CONSISTENCY = {
    "consistency_grades": [
        {"llm": "m", "method": "rag", "claim": "answer", "score": 0.5, "prompt_info": {"prompt_class": "F"}}
    ]
}
VERDICT = {
    "grades": [
        {
            "correctAnswered": True,
            "llm": "m",
            "llm_options": {},
            "prompt_info": {"prompt_class": "AnswerAttempt"},
            "prompt_type": "direct",
            "self_ratings": 1,
        }
    ]
}


def graded(folder: Path, *grades: dict[str, Any]) -> str:
    """A file with an answer of the system rag that cites the passage d."""
    ranking = {"method": "rag", "paragraphId": "rag/q#1", "queryId": "q", "rank": 1, "score": 1}
    answer: dict[str, Any] = {
        "paragraph_id": "rag/q#1",
        "text": "An answer.",
        "paragraph_data": {"judgments": [], "rankings": [ranking | {"role": "answer", "citations": ["d"]}]},
    }
    for each in grades:
        answer |= each
    path = folder / "graded.jsonl"
    path.write_text(json.dumps(["q", [{"paragraph_id": "d", "text": "A source."}, answer]]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("metric", "grades", "column", "value"),
    [
        ("citations", SUPPORT, "citation_precision", 1.0),
        ("criteria", CRITERIA, "depth", 1.0),
        ("factual-consistency", CONSISTENCY, "FactualConsistency", 0.5),
        ("answered", VERDICT, "Answered", 1.0),
    ],
)
def test_the_metric_is_that_of_the_grades(
    metric: str,
    grades: dict[str, Any],
    column: str,
    value: float,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = []
    for options in ([], ["--metric", metric]):
        main(["-q", "evaluate", "answers", graded(tmp_path, grades), "--format", "json", *options])
        outputs.append(json.loads(capsys.readouterr().out)["tables"])
    assert outputs[0] == outputs[1]
    assert outputs[0][0]["rows"][0][column] == value


@pytest.mark.parametrize(
    ("grades", "options", "code", "message"),
    [
        ((), [], 1, "has no grades of answers; make them with `exam-pp grade`"),
        ((SUPPORT, VERDICT), [], 1, "has grades for several metrics; use --metric citations or answered."),
        (
            (VERDICT,),
            ["--system", "rag"],
            2,
            "--system has no effect on `exam-pp evaluate answers --metric answered`.",
        ),
    ],
)
def test_refused(
    grades: tuple[dict[str, Any], ...],
    options: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "answers", graded(tmp_path, *grades), *options])
    assert stop.value.code == code
    assert message in " ".join(capsys.readouterr().err.split())
