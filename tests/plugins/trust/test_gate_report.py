"""The report of the gate: its sentence for every outcome, and its tables."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.plugins.trust.gate import Gate, gate, gate_report, gate_sentence
from exam_pp.results import Score
from tests.tables import tables_of


def compared(old: list[float], new: list[float], **options: Any) -> Gate:
    def scores(values: list[float], system: str) -> list[Score]:
        return [Score(system, f"q{n}", "F1", value) for n, value in enumerate(values)]

    return gate(
        scores(old, "main"), scores(new, "pull"), **{"max_drop": 0.02, "undecided": "estimate", **options}
    )


PASSED = ([0.5, 0.6, 0.7] * 50, [0.51, 0.61, 0.705] * 50)
FAILED = ([0.5, 0.6, 0.7] * 10, [0.1, 0.21, 0.3] * 10)
WORSE = ([0.5, 0.6, 0.7], [0.5, 0.2, 0.8])
BETTER = ([0.5, 0.6, 0.7], [0.7, 0.5, 0.7])
SAME = ([0.5, 0.6], [0.5, 0.6])


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        (PASSED, {}, "Passed: pull against main, F1 rises by 0.0083 (0.6000 to 0.6083); with 95 % confidence "
         "there is no drop by more than the accepted 0.02."),
        (FAILED, {}, "Failed: pull against main, F1 drops by 0.3967 (0.6000 to 0.2033), with 95 % confidence "
         "by more than the accepted 0.02."),
        (FAILED, {"worst_drop": 0.5}, "Failed: pull against main, F1 drops by 0.3967 (0.6000 to 0.2033), "
         "with 95 % confidence by more than the accepted 0.02, if no query changes by more than 0.5."),
        (WORSE, {}, "Failed on the measured drop (0.1), but 3 queries are too few to be sure: at "
         "least 149 are needed. pull against main, F1 drops by 0.1000 (0.6000 to 0.5000); accepted is 0.02."),
        (BETTER, {"worst_drop": 0.5}, "Passed on the measured drop (-0.03333), but 3 queries are too few "
         "to be sure: at least 74 are needed. pull against main, F1 rises by 0.0333 (0.6000 to 0.6333); "
         "accepted is 0.02, if no query changes by more than 0.5."),
        (SAME, {}, "Passed on the measured drop (0), but 2 queries are too few to be sure: at least 149 are "
         "needed. pull against main, F1 stays at 0.5500; accepted is 0.02. F1: unchanged on these 2 queries; "
         "up to 77.6 % could break unseen."),
        (([0.5], [0.5]), {"max_drop": 0}, "Passed on the measured drop (0), but 1 query is too few "
         "to be sure: a drop of at most 0 cannot be shown unless scores rise. pull against main, F1 stays at "
         "0.5000; accepted is 0. F1: unchanged on this query; up to 95 % could break unseen."),
    ],
)  # fmt: skip
def test_sentences(values: tuple[list[float], list[float]], options: dict[str, Any], sentence: str) -> None:
    text = gate_sentence(compared(*values, **options))
    assert text == sentence


def test_the_sentence_names_the_option_that_decides() -> None:
    passed, failed = compared(*WORSE, undecided="pass"), compared(*BETTER, undecided="fail")

    assert gate_sentence(passed).startswith("Passed because of --undecided pass, but 3 queries are too few ")
    assert gate_sentence(failed).startswith("Failed because of --undecided fail, but 3 queries are too few ")


def test_enough_queries_that_show_nothing_ask_for_no_fewest() -> None:
    """150 queries could show a drop of at most 0.02, but these vary too much."""
    text = gate_sentence(compared([0.5, 0.6] * 75, [0.6, 0.5] * 75))

    assert "150 queries are too few to be sure. " in text
    assert "are needed" not in text


@pytest.mark.parametrize(
    ("values", "max_drop", "needed"),
    [(WORSE, 0.02, "at least 621"), (SAME, 0.02, "149"), (SAME, 0, None)],
)
def test_queries_needed(values: tuple[list[float], list[float]], max_drop: float, needed: str | None) -> None:
    measures = tables_of(gate_report(compared(*values, max_drop=max_drop)))["Measures"]

    assert measures.rows[0][measures.columns.index("queries needed")] == needed
