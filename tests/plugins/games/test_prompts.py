"""Prompts that compare two answers: the words of the paper, its options, and the reading of verdicts."""

from __future__ import annotations

import pytest

from exam_pp.errors import ModelError
from exam_pp.games import WINNERS
from exam_pp.llm.similarity import SimilarityLLM
from exam_pp.plugins.games.compare import CompareOptions
from exam_pp.plugins.games.prompts import PAIRWISE_ANSWERS, PAIRWISE_CHOICE, Evidence, pairwise_answers
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.custom import parse_prompt
from tests.conftest import data_error
from tests.llm.test_similarity import E5_CUTS, Angles, request

EVIDENCE: tuple[Evidence, ...] = ("text", "reason", "both", "none")
VERDICTS = {
    "[[A]]": "A",
    "They differ in detail. [[B]]": "B",
    "**Final verdict: [[C]]**": "C",
    "[[ a ]]": "A",
    "[[A]] at first sight, but on reflection [[B]].": "B",
    "<think>[[A]]</think>[[C]]": "C",
    "[[D]] is no letter of the scale, so [[B]]": "B",
}
WITHOUT = (
    "",
    "A",
    "[A]",
    "Assistant A is better.",
    "Final verdict: A",
    "[[D]]",
    "[[A]], no: [[D]]",
    "[[A or B]]",
    "[[]]",
    "[[AB]]",
)


def winner(prompt: Prompt, reply: str, unparsed: str = "ungraded") -> str | None:
    verdict = prompt.parse(reply, None, unparsed)  # type: ignore[arg-type]
    assert (verdict.rating is None) == (verdict.reason is not None)
    return None if verdict.rating is None else WINNERS[verdict.rating]


@pytest.mark.parametrize(("reply", "expected"), VERDICTS.items())
def test_the_last_verdict_in_brackets_wins(reply: str, expected: str) -> None:
    assert winner(PAIRWISE_ANSWERS, reply) == expected
    assert winner(PAIRWISE_ANSWERS, reply, "chat") == expected


@pytest.mark.parametrize("reply", WITHOUT)
def test_a_reply_without_a_verdict_is_ungraded_and_no_tie(reply: str) -> None:
    assert winner(PAIRWISE_ANSWERS, reply) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Final verdict: A", "A"),
        ("final verdict is Assistant B.", "B"),
        ('{"reason": "longer", "final_verdict": "C"}', "C"),
        ("Final verdict: A. Final verdict: B", "B"),
        ("Final verdict: [B]", "B"),
        ("Final verdict: a tie", None),
        ("Final verdict: A tie", None),
        ("Final verdict: A is better", "A"),
        ("Final verdict: D", None),
        ("Final verdict: Both", None),
        ("The verdict: A", None),
        ("Final verdict: A [[C]]", "C"),
    ],
)
def test_the_lenient_policy_reads_a_final_verdict(reply: str, expected: str | None) -> None:
    assert winner(PAIRWISE_ANSWERS, reply, "chat") == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("A", "A"),
        (" B.", "B"),
        ("**C**", "C"),
        ("Answer B", "B"),
        ("Answer A is better because it is complete.", "A"),
        ("The better answer is B.", "B"),
        ("A: answer A is better", "A"),
        ("B\nIt names the date.", "B"),
        ("A better answer would name the date.", None),
        ("A and B are equal", None),
        ("A is worse.", None),
        ("Both", None),
        ("D", None),
        ("a", None),
        ("", None),
    ],
)
def test_the_short_prompt_reads_a_letter(reply: str, expected: str | None) -> None:
    assert winner(PAIRWISE_CHOICE, reply) == expected


@pytest.mark.parametrize("piece", ["[", "[[", "[[A", "[[A]", "{", '{"', "\\[", "*", " ", "final verdict "])
def test_long_replies_are_read_in_linear_time(piece: str) -> None:
    """A quadratic search takes minutes."""
    assert winner(PAIRWISE_ANSWERS, piece * (200_000 // len(piece)) + "}") is None


def test_the_labels_of_a_choice_are_readable() -> None:
    for prompt in (PAIRWISE_ANSWERS, PAIRWISE_CHOICE):
        assert [winner(prompt, label) for label in prompt.labels] == ["A", "B", "C"]


def test_each_option_of_the_paper_changes_a_sentence() -> None:
    texts = {e: pairwise_answers(e).template for e in EVIDENCE}
    assert len(set(texts.values())) == 4
    assert texts["both"] == PROMPTS.get("PairwiseAnswers").template
    given = "For each reference document, you will be provided with "
    assert f"{given}the text of the document as well as reasons why" in texts["both"]
    assert f"{given}the text of the document.\n" in texts["text"]
    assert f"{given}reasons why the document is or is not relevant.\n" in texts["reason"]
    assert "reference document" not in texts["none"].lower()
    assert "{documents}" not in texts["none"]
    cited = pairwise_answers("both", citations=True).template.splitlines()
    (sentence,) = set(cited) - set(texts["both"].splitlines())
    assert "square brackets" in sentence


@pytest.mark.parametrize("prompt", [PAIRWISE_ANSWERS, PAIRWISE_CHOICE], ids=lambda prompt: prompt.name)
def test_only_the_documents_may_be_cut(prompt: Prompt) -> None:
    parts = prompt.render(dict.fromkeys(prompt.slots, "text"))
    assert [part.slot for part in parts if part.may_be_cut] == ["documents"]


def own(reading: str, template: str) -> Prompt:
    text = f"name = 'Mine'\nkind = 'pair'\nreading = '{reading}'\ntemplate = '''{template}'''"
    return parse_prompt(text, "mine.toml")


def test_own_prompts() -> None:
    letters = own("letter", "{query} {answer_a} {answer_b}")
    assert (letters.labels, winner(letters, "B")) == (("A", "B", "C"), "B")
    verdicts = own("verdict", "{query} {documents} {answer_a} {answer_b} {factors}")
    assert (verdicts.labels[0], winner(verdicts, "so [[B]]")) == ("[[A]]", "B")
    assert CompareOptions(letters).resolved()[0].evidence == "none"
    assert CompareOptions(verdicts).resolved()[0].evidence == "text"


@pytest.mark.parametrize(
    ("reading", "template", "field", "about"),
    [
        ("verdict", "{query} {answer_a}", "template", "{answer_b}"),
        ("verdict", "{query} {answer_a} {answer_b} {context}", "template", "{context}"),
        ("letter", "{query} {answer_a} {answer_b} {documents} {documents}", "template", "once"),
        ("number", "{query} {answer_a} {answer_b}", "reading", "use one of: verdict, letter"),
    ],
)
def test_messages_on_prompt_files(reading: str, template: str, field: str, about: str) -> None:
    with data_error("mine.toml", None, field, about=about):
        own(reading, template)


def test_a_judge_by_similarity_plays_no_games() -> None:
    slots = ("query", "answer_a", "answer_b", "factors", "documents")
    with pytest.raises(ModelError, match=r"name a language model, or --model lexical\."):
        SimilarityLLM(Angles({}), E5_CUTS).batches(
            [request("p", "PairwiseAnswers", **dict.fromkeys(slots, "x"))]
        )
