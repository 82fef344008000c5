"""The report of the gate: its sentence for every outcome, and its tables."""

from __future__ import annotations

import re
from typing import Any

import pytest

from exam_pp.phases.trust.gate import Gate, gate
from exam_pp.rendering.render import render
from exam_pp.reports.trust.gate import gate_report, gate_sentence
from exam_pp.results import Score
from tests.tables import notes_of, tables_of


def compared(old: list[float], new: list[float], **options: Any) -> Gate:
    def scores(values: list[float], system: str) -> list[Score]:
        return [Score(system, f"q{n}", "F1", value) for n, value in enumerate(values)]

    return gate(scores(old, "main"), scores(new, "pull"), **{"max_drop": 0.02, **options})


PASSED = ([0.5, 0.6, 0.7], [0.51, 0.61, 0.705])
FAILED = ([0.5, 0.6, 0.7], [0.1, 0.21, 0.3])
WORSE = ([0.5, 0.6, 0.7], [0.5, 0.2, 0.8])
BETTER = ([0.5, 0.6, 0.7], [0.7, 0.5, 0.7])


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        (PASSED, {}, "Passed: pull against main, F1 rises by 0.0083 (0.6000 to 0.6083); with 95 % confidence "
         "there is no drop by more than the accepted 0.02."),
        (FAILED, {}, "Failed: pull against main, F1 drops by 0.3967 (0.6000 to 0.2033), with 95 % confidence "
         "by more than the accepted 0.02."),
        (WORSE, {}, "Failed, but undecided: pull against main, F1 drops by 0.1000 (0.6000 to 0.5000); "
         "3 queries show neither a drop by more than the accepted 0.02 nor the opposite. The gate fails "
         "because the measured drop is above this."),
        (BETTER, {}, "Passed, but undecided: pull against main, F1 rises by 0.0333 (0.6000 to 0.6333); "
         "3 queries show neither a drop by more than the accepted 0.02 nor the opposite. The gate passes "
         "because the measured drop is at most this."),
        (WORSE, {"undecided": "pass"}, "The gate passes because of --undecided pass."),
        (BETTER, {"undecided": "fail"}, "The gate fails because of --undecided fail."),
        (([0.5, 0.6], [0.5, 0.6]), {"max_drop": 0}, "F1 stays at 0.5500; with 95 % confidence there is no"),
    ],
)  # fmt: skip
def test_sentences(values: tuple[list[float], list[float]], options: dict[str, Any], sentence: str) -> None:
    assert sentence in gate_sentence(compared(*values, **options))


def test_the_sentence_names_the_measure_that_fails_an_undecided_gate() -> None:
    """The mean of RR rises, and that of F1 drops by 0.1."""
    old, new = (
        [
            Score(system, f"q{n}", measure, value)
            for measure, values in of_system.items()
            for n, value in enumerate(values)
        ]
        for system, of_system in (
            ("main", {"F1": WORSE[0], "RR": BETTER[0]}),
            ("pull", {"F1": WORSE[1], "RR": BETTER[1]}),
        )
    )
    result = gate(old, new, max_drop=0.02, measures=["F1", "RR"])

    assert gate_sentence(result).endswith("The gate fails because the measured drop of F1 is above this.")


def test_the_same_system_is_named_once() -> None:
    result = compared(*PASSED)
    same = gate_sentence(Gate("bm25", "bm25", result.measures, 0.02))

    assert same.startswith("Passed: bm25, F1 rises")


def test_markdown_is_a_short_summary() -> None:
    """Title, sentence, a row for each measure, the largest drops, and the explanations."""
    text = render(gate_report(compared(*WORSE)), "md")

    assert text.startswith(
        "# Gate: failed, but undecided\n\nFailed, but undecided: pull against main, F1 drops"
    )
    assert "| F1 | 3 | 0.6000 | 0.5000 | 0.1000 |" in text
    assert "| F1 | q1 | 0.6000 | 0.2000 | 0.4000 |" in text
    assert len(text.splitlines()) < 25


def test_tables_and_notes() -> None:
    report = gate_report(compared(*FAILED, test="randomisation", seed=3))

    tables = tables_of(report)
    assert list(tables) == ["Measures", "Largest drops"]
    assert [row[1] for row in tables["Largest drops"].rows] == ["q0", "q2", "q1"]
    assert "paired randomisation test (10,000 samples, seed 3)" in notes_of(report)
    assert "Holm" not in notes_of(report)
    assert "Largest drops" not in tables_of(gate_report(compared(*PASSED)))


def test_explanations_name_the_level_of_the_tests() -> None:
    notes = notes_of(gate_report(compared(*FAILED, confidence=0.9)))

    assert re.search(r"one-sided 90 % confidence bounds .* p \(above\) is at most 0\.1, ", notes)
    assert "Queries needed: so many are needed to detect a difference of 0.02" in notes
