"""The clinic finds planted bad questions, and its statistics equal values computed by hand and with SQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Request
from exam_pp.plugins.trust.clinic import Examination, examine, proposed_edits
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import FORMAT, file_sha256, read_edits
from tests.conftest import passage, rubric

WriteLines = Callable[[str, list[Any]], Path]
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"

# Eight passages of one query, best first, and their grades.
GRADES = {
    "p1": {"good": 5, "hard": 5, "twin": 5, "always": 5, "nonsense": 0, "nobody": 0},
    "p2": {"good": 5, "hard": 4, "twin": 5, "always": 5, "nonsense": 4, "nobody": 1},
    "p3": {"good": 4, "hard": 4, "twin": 4, "always": 4, "nonsense": 0, "nobody": 0},
    "p4": {"good": 4, "hard": 0, "twin": 5, "always": 5, "nonsense": 4, "nobody": 0},
    "p5": {"good": 4, "hard": 1, "twin": 4, "always": 5, "nonsense": 4, "nobody": 2},
    "p6": {"good": 0, "hard": 0, "twin": 0, "always": 4, "nonsense": 5, "nobody": 0},
    "p7": {"good": 1, "hard": 0, "twin": 2, "always": 5, "nonsense": 4, "nobody": 0},
    "p8": {"good": 0, "hard": 0, "twin": 0, "always": 5, "nonsense": 4, "nobody": 3},
}
RELEVANT = {"p1": 3, "p2": 2, "p3": 1, "p4": 1, "p5": 1, "p6": 0, "p7": 0, "p8": -2}
TEXTS = {
    "good": "What did Hubble discover about the age of the universe?",
    "hard": "Which instrument corrected the mirror?",
    "twin": "What did Hubble discover about the universe's age?",
    "always": "Is this a text?",
    "nonsense": "How many purple Tuesdays fit a spoon?",
    "nobody": "Who repainted the telescope in 2031?",
}


@pytest.fixture
def bank(write_jsonl: WriteLines) -> Path:
    items = [{"query_id": "q1", "question_id": key, "question_text": text} for key, text in TEXTS.items()]
    return write_jsonl("bank.jsonl", [{"query_id": "q1", "query_text": "hubble", "items": items}])


@pytest.fixture
def graded(write_jsonl: WriteLines) -> Path:
    passages = []
    for name, grades in GRADES.items():
        judgment = {"paragraphId": name, "query": "q1", "relevance": RELEVANT[name], "titleQuery": "q1"}
        lower = judgment | {"relevance": -2}  # of several judgments the highest counts
        data = {"judgments": [judgment, lower], "rankings": []}
        passages.append(passage(name, paragraph_data=data, exam_grades=[rubric(grades)]))
    return write_jsonl("graded.jsonl", [["q1", passages]])


def signs_of(examination: Examination) -> dict[str, set[str]]:
    return {entry.entry_id: set(entry.signs) for entry in examination.entries if entry.signs}


def test_planted_questions_are_found(graded: Path, bank: Path) -> None:
    assert signs_of(examine(graded, bank)) == {
        "always": {"too-easy"},
        "nonsense": {"non-relevant", "discrimination"},
        "nobody": {"too-hard"},
    }


def test_statistics_by_hand(graded: Path, bank: Path) -> None:
    """`hard` passes for p1, p2, p3, whose other passes are 3, 4, 3; for the rest they are 4, 4, 2, 2, 2.

    Pearson's r of (1 1 1 0 0 0 0 0) and (3 4 3 4 4 2 2 2): 1 / sqrt(15/8 * 6) = 0.298.
    """
    health = {entry.entry_id: entry for entry in examine(graded, bank).entries}
    hard = health["hard"]
    assert (hard.asked, hard.passing) == (8, 3)
    assert hard.discrimination == pytest.approx(1 / (15 / 8 * 6) ** 0.5)
    assert (health["nonsense"].judged, health["nonsense"].non_relevant) == (6, 3)
    assert health["always"].discrimination is None, "it never varies"


def test_proposals_are_an_edits_file_that_applies(graded: Path, bank: Path, tmp_path: Path) -> None:
    edits, new = tmp_path / "edits.json", tmp_path / "new.jsonl"
    clinic = ["-q", "bank", "clinic", str(graded), "--bank", str(bank)]
    main([*clinic, "-o", str(tmp_path / "r.txt"), "--also", f"edits={edits!s}"])
    proposed = read_edits(edits)
    assert (proposed.format, proposed.reviewer, proposed.bank_sha256) == (
        FORMAT,
        "exam-pp bank clinic",
        file_sha256(bank),
    )
    reasons = {edit.entry_id: edit.reason for edit in proposed.bank}
    assert reasons["always"] == "too-easy: 8 of 8 passages cover it with grade 4 or more"
    assert reasons["nonsense"] is not None
    assert "3 of 6 judged passages that cover it are non-relevant; discrimination: " in reasons["nonsense"]
    main(["-q", "bank", "apply", str(bank), str(edits), "-o", str(new)])
    assert list(read_bank(new).entries("q1")) == ["good", "hard", "twin"]
    main([*clinic, "-o", str(tmp_path / "r.txt"), "--also", f"edits={edits!s}", "--propose", "too-easy"])
    assert [edit.entry_id for edit in read_edits(edits).bank] == ["always"]


def test_a_query_never_loses_all_entries(write_jsonl: WriteLines, bank: Path) -> None:
    """If no passage covers any entry, removing all entries would hide this."""
    zero = [passage(name, exam_grades=[rubric(dict.fromkeys(TEXTS, 0))]) for name in GRADES]
    examination = examine(write_jsonl("zero.jsonl", [["q1", zero]]), bank)
    assert all("too-hard" in entry.signs for entry in examination.entries)
    assert not proposed_edits(examination, bank).bank


def test_closed_book(bank: Path, tmp_path: Path, backend: Callable[[FakeLLM], None]) -> None:
    """A model that answers two questions closed book, and the fake, which needs the words of a passage."""

    def closed_book_replies(request: Request) -> str:
        assert request.slot("context") == ""
        return "5" if "universe" in str(request.slot("question")) else "0"

    for llm, hits in ((FakeLLM(), set()), (FakeLLM(closed_book_replies), {"good", "twin"})):
        backend(llm)
        book = tmp_path / "book.jsonl"
        main(
            ["-q", "grade", "--closed-book", "--bank", str(bank), "-o", str(book), "--model", "fake",
             "--prompt", RATING]
        )  # fmt: skip
        signs = signs_of(examine(book, bank))
        assert {entry for entry in signs if "too-easy" in signs[entry]} == hits


def test_signs_begin_at_their_limits(write_jsonl: WriteLines, bank: Path) -> None:
    """19 of 20 passages are 95 %."""
    grades = [{"good": 4, "hard": 0 if n < 5 else 4, "always": 0 if n == 0 else 4} for n in range(20)]
    passages = [passage(f"p{n}", exam_grades=[rubric(of)]) for n, of in enumerate(grades)]
    examination = examine(write_jsonl("g.jsonl", [["q1", passages]]), bank)
    signs = signs_of(examination)
    assert ("too-easy" in signs["always"], "too-easy" in signs.get("hard", ())) == (True, False)


def test_mistakes_have_one_sign_of_their_own(write_jsonl: WriteLines, graded: Path) -> None:
    """Nobody should make a mistake, so only one that everybody makes says nothing about the systems."""
    items = [
        {"query_id": "q1", "question_id": key, "question_text": text}
        | ({"weight": -2} if key in ("always", "nonsense", "nobody") else {})
        for key, text in TEXTS.items()
    ]
    bank = write_jsonl("avoid.jsonl", [{"query_id": "q1", "query_text": "hubble", "items": items}])
    examination = examine(graded, bank)
    assert signs_of(examination) == {"always": {"always-made"}}
    health = {entry.entry_id: entry for entry in examination.entries}
    assert health["always"].signs["always-made"] == "8 of 8 passages make it, by grade 4 or more"
    assert health["nobody"].text.endswith(" (to avoid)")
    # The rest of `hard` is without mistakes: 2 2 2 2 2 0 0 0 for 1 1 1 0 0 0 0 0.
    assert health["hard"].discrimination == pytest.approx(0.6)
