"""Samples of pairs for people to label: population, probabilities, independence of the order of the file."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.data_model import DIRECT_ID
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.plugins.trust.pair_sample import PairSample, SampledBy
from exam_pp.plugins.trust.pair_sample_files import read_pair_sample
from exam_pp.plugins.trust.sample_pairs import sample_pairs
from exam_pp.store.edits import file_sha256
from tests.conftest import passage, rubric, without_times

WriteLines = Callable[[str, list[Any]], Path]
Key = tuple[str, str, str]
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


def ranked(passage_id: str, query_id: str, ranks: dict[str, int], *grades: Any, **keys: Any) -> Any:
    """A passage with grades and the ranks of systems."""
    rankings = [
        {"method": method, "paragraphId": passage_id, "queryId": query_id, "rank": rank, "score": -rank}
        for method, rank in ranks.items()
    ]
    data = {"judgments": [], "rankings": rankings}
    return passage(passage_id, paragraph_data=data, exam_grades=list(grades), **keys)


def graded_lines(rng: random.Random | None = None) -> list[Any]:
    """Two queries with six passages each, rated for two entries by ``one`` and partly by ``two``.

    Of each query, system a returns p1, p2, p3 ..., and b returns only p6.
    """
    lines: list[Any] = []
    for query_id in ("q1", "007"):
        passages: list[Any] = []
        for number in range(1, 7):
            ratings = {f"{query_id}/a": 0, f"{query_id}/b": number - 1}
            grades = [rubric(ratings, llm="one")]
            if number > 2:
                grades.append(rubric({f"{query_id}/b": 0}, llm="two"))
            ranks = {"a": number} | ({"b": 1} if number == 6 else {})
            passages.append(ranked(f"p{number}", query_id, ranks, *grades))
        lines.append([query_id, passages])
    if rng is not None:
        rng.shuffle(lines)
        for _, passages in lines:
            rng.shuffle(passages)
    return lines


@pytest.fixture
def graded(write_jsonl: WriteLines) -> Path:
    return write_jsonl("graded.jsonl", graded_lines())


def drawn(graded: Path, budget: int, by: SampledBy = "even", **options: Any) -> PairSample:
    criteria = GradeFilter(model="one", prompt_class=RATED)
    return sample_pairs(graded, grade_filter=criteria, budget=budget, by=by, **options).sample


def keys(sample: PairSample) -> set[Key]:
    return {(pair.query_id, pair.passage_id, pair.entry_id) for pair in sample.pairs}


def probabilities(graded: Path, budget: int, by: SampledBy, **options: Any) -> dict[Key, float]:
    """The probability of every pair that can be drawn, from samples with other seeds."""
    known: dict[Key, float] = {}
    population = drawn(graded, budget, by, **options).size
    for seed in range(5000):
        for pair in drawn(graded, budget, by, seed=seed, **options).pairs:
            known[pair.query_id, pair.passage_id, pair.entry_id] = pair.probability
        if len(known) == population:
            return known
    raise AssertionError("a pair is never drawn")


def test_even_pairs_are_equally_likely(graded: Path) -> None:
    assert set(probabilities(graded, 6, "even").values()) == {0.25}


def test_every_rating_gets_the_same_expected_number(graded: Path) -> None:
    # Rating 0: the 12 pairs of the entries a and the two of p1 with b; the ratings 1 to 5: two pairs each.
    # The level 16 / 6 is above 2, so these are certain, and 6 of the 14 pairs with rating 0 remain.
    by_pair = probabilities(graded, 16, "rating")
    assert len(by_pair) == 24
    rated_0 = {key for key in by_pair if key[2].endswith("/a") or key[1] == "p1"}
    assert {key: by_pair[key] for key in rated_0} == pytest.approx(dict.fromkeys(rated_0, 6 / 14))
    assert all(by_pair[key] == 1 for key in by_pair.keys() - rated_0)


def test_pairs_on_which_graders_disagree_are_likelier(graded: Path) -> None:
    # Of the entries b, p3 to p6 have the ratings 2 to 5 by one and 0 by two; the scale ends at 5. So the
    # spreads of a query are 0.4, 0.6, 0.8 and 1 (2.8 in all), and 0 for the other 8 pairs.
    by_pair = probabilities(graded, 4, "disagreement")
    assert len(by_pair) == 24
    for (_, passage_id, entry_id), probability in by_pair.items():
        number = int(passage_id[1:])
        spread = (number - 1) / 5 if entry_id.endswith("/b") and number > 2 else 0
        assert probability == pytest.approx(4 * (0.25 / 24 + 0.75 * spread / 5.6))
    assert sum(by_pair.values()) == pytest.approx(4)


def test_the_lowest_probability_is_recorded_also_without_such_a_pair(graded: Path) -> None:
    for seed in range(30):
        assert drawn(graded, 16, "rating", seed=seed).lowest_probability == pytest.approx(6 / 14)


def test_whole_entries(graded: Path) -> None:
    """Each of four entries has six pairs and is in half of the samples of 12 pairs, with all of them."""
    times: Counter[str] = Counter()
    seeds = 400
    for seed in range(seeds):
        sample = drawn(graded, 12, "entry", seed=seed)
        of_entry = Counter(pair.entry_id for pair in sample.pairs)
        assert set(of_entry.values()) <= {6}
        assert {pair.probability for pair in sample.pairs} <= {0.5}
        times.update(of_entry.keys())

    assert len(times) == 4
    assert all(abs(count - seeds / 2) < 4 * (seeds / 4) ** 0.5 for count in times.values())


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is called once; then its first result is returned."""
    results: list[Any] = []

    def call(*arguments: Any, **options: Any) -> Any:
        if not results:
            results.append(function(*arguments, **options))
        return results[0]

    return call


@pytest.mark.parametrize("by", ["even", "rating", "disagreement"])
def test_the_order_of_the_file_does_not_matter(graded: Path, by: SampledBy, write_jsonl: WriteLines) -> None:
    shuffled = write_jsonl("shuffled.jsonl", graded_lines(random.Random(3)))
    first, second = (drawn(path, 8, by, seed=5) for path in (graded, shuffled))
    assert (first.pairs, first.population) == (second.pairs, second.population)
    assert first.graded_sha256 == file_sha256(graded) != second.graded_sha256


@pytest.mark.parametrize("by", ["even", "rating", "disagreement"])
def test_a_larger_sample_contains_the_smaller_one(graded: Path, by: SampledBy) -> None:
    samples = [keys(drawn(graded, budget, by, seed=1)) for budget in (2, 6, 12, 23)]
    assert samples[0] < samples[-1]
    assert all(small <= large for small, large in pairwise(samples))


def test_the_population_is_recorded(write_jsonl: WriteLines) -> None:
    """Of q1, p2 has no grade of q1/b, p3 no grade at all, p9 is too deep; q1/c has a grade only there."""
    passages = [
        ranked("p1", "q1", {"a": 1}, rubric({"q1/a": 1, "q1/b": 2}, llm="one")),
        ranked("p2", "q1", {"a": 2}, rubric({"q1/a": 1}, llm="one"), rubric({"q1/b": 1}, llm="two")),
        ranked("p3", "q1", {"a": 3}),
        ranked("p9", "q1", {"a": 9}, rubric({"q1/c": 1}, llm="one")),
    ]
    sample = drawn(write_jsonl("graded.jsonl", [["q1", passages]]), 99, cutoff=3)

    assert [(block.passages, block.entries) for block in sample.population["q1"]] == [
        ([], ["q1/c"]),
        (["p1"], ["q1/a", "q1/b"]),
        (["p2"], ["q1/a"]),
        (["p3"], []),
    ]
    assert set(sample.could_be_drawn()) == keys(sample)


def test_only_pairs_within_the_cutoff_of_a_system(graded: Path) -> None:
    sample = drawn(graded, 100, cutoff=2)
    assert {passage_id for _, passage_id, _ in keys(sample)} == {"p1", "p2", "p6"}, "p6 is the first of b"
    assert (sample.size, sample.cutoff) == (12, 2)
    assert {pair.probability for pair in sample.pairs} == {1.0}


def test_without_a_cutoff_all_graded_passages_count(write_jsonl: WriteLines) -> None:
    lines = graded_lines()
    lines[0][1].append(ranked("unranked", "q1", {}, rubric({"q1/a": 3}, llm="one")))
    lines[0][1].append(ranked("ungraded", "q1", {"a": 7}))
    graded = write_jsonl("graded.jsonl", lines)
    assert drawn(graded, 1).size == 24
    everything = drawn(graded, 100, cutoff=0)
    assert ("q1", "unranked", "q1/a") in keys(everything)
    assert (everything.size, everything.cutoff) == (25, None)


def test_a_file_without_rankings_counts_all_graded_passages(write_jsonl: WriteLines) -> None:
    graded = write_jsonl("graded.jsonl", [["q1", [passage("p1", exam_grades=[rubric({"q1/a": 2})])]]])
    result = sample_pairs(graded, budget=1)
    assert (result.sample.size, result.sample.cutoff) == (1, None)
    assert result.notes[0].startswith("The file has no rankings")


def test_the_bank_decides_which_entries_count(graded: Path, write_jsonl: WriteLines) -> None:
    question = {"query_id": "q1", "question_id": "q1/b", "question_text": "What?"}
    line = {"query_id": "q1", "test_collection": "t", "query_text": "q", "items": [question]}
    assert {key[2] for key in keys(drawn(graded, 100, bank=write_jsonl("bank.jsonl", [line])))} == {"q1/b"}


def test_direct_grades(write_jsonl: WriteLines) -> None:
    grade = {
        "correctAnswered": True, "answer": "2", "llm": "one", "llm_options": {},
        "prompt_info": {"prompt_class": "GradedRelevance"}, "self_ratings": 2, "relevance_label": 2,
    }  # fmt: skip
    graded = write_jsonl("graded.jsonl", [["q1", [ranked("p1", "q1", {"a": 1}, grades=[grade])]]])
    sample = sample_pairs(graded, budget=9).sample
    assert keys(sample) == {("q1", "p1", DIRECT_ID)}
    assert sample.prompt_class == "GradedRelevance"


def of_model(model: str, ratings: dict[str, int]) -> list[Any]:
    return [["q1", [ranked("p1", "q1", {"a": 1}, rubric(ratings, llm=model))]]]


DEEP = [["q1", [ranked("p1", "q1", {"a": 9}, rubric({"q1/a": 1}))]]]
APART = [rubric({"q1/a": 1}, llm="one"), rubric({"q1/b": 4}, llm="two")]
ONE = GradeFilter(model="one", prompt_class=RATED)


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (graded_lines(), {}, "2 sets of grades"),
        ([["q1", [ranked("p1", "q1", {"a": 1})]]], {}, "has no grades; run"),
        (of_model("human:ann", {"q1/a": 2}), {}, "are those of the reviewer 'human:ann'"),
        (DEEP, {"cutoff": 2}, "No passage within the first 2 ranks"),
        (DEEP, {"by": "disagreement"}, "needs the grades of two models"),
        (
            graded_lines(), {"by": "disagreement", "grade_filter": ONE, "compared": ["one"]},
            "--grader names 'one' twice",
        ),
        (
            graded_lines(), {"by": "disagreement", "grade_filter": ONE, "compared": ["gpt"]},
            r"no such grades by 'gpt' \(graders: one, two\)",
        ),
        (
            [["q1", [ranked("p1", "q1", {"a": 1}, *APART)]]], {"by": "disagreement", "grade_filter": ONE},
            r"no other grader in .* rated the pairs of 'one'",
        ),
    ],
)  # fmt: skip
def test_refusals(write_jsonl: WriteLines, lines: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        sample_pairs(write_jsonl("graded.jsonl", lines), budget=3, **options)


def test_people_count_as_graders_only_if_they_are_named(write_jsonl: WriteLines) -> None:
    lines = of_model("one", {"q1/a": 1, "q1/b": 1})
    lines[0][1][0]["exam_grades"].append(rubric({"q1/a": 4}, llm="human:ann"))
    graded = write_jsonl("graded.jsonl", lines)
    with pytest.raises(SelectionError, match="needs the grades of two models"):
        drawn(graded, 1, "disagreement")
    by_pair = probabilities(graded, 1, "disagreement", compared=["human:ann"])
    assert by_pair == pytest.approx({("q1", "p1", "q1/a"): 0.875, ("q1", "p1", "q1/b"): 0.125})


def test_scales_of_graders_are_compared_from_0_to_1(write_jsonl: WriteLines) -> None:
    """A rating of 5 of 5 agrees with correct (1 of 1) of a prompt without a scale."""
    extracted = rubric({"q1/a": 1, "q1/b": 1}, llm="two", self_ratings=None)
    extracted["prompt_info"] = {"prompt_class": "QuestionCompleteConciseUnanswerablePromptWithChoices"}
    lines = of_model("one", {"q1/a": 5, "q1/b": 0})
    lines[0][1][0]["exam_grades"] += [extracted, rubric({"q1/a": 5, "q1/b": 0}, llm="three")]
    graded = write_jsonl("graded.jsonl", lines)
    result = sample_pairs(graded, grade_filter=GradeFilter(model="one"), budget=1, by="disagreement")
    assert "agree on all pairs" in result.notes[-1], "prompts without a scale do not count by default"


def run(arguments: Iterable[object], capsys: pytest.CaptureFixture[str]) -> str:
    main([str(argument) for argument in arguments])
    return without_times(capsys.readouterr().err)


def test_command(graded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "pairs.json"
    arguments = ["sample-pairs", graded, "--grader", "one", "--by", "rating", "--seed", 4, "-o", output]
    err = run([*arguments, "--count", 6], capsys)
    sample = read_pair_sample(output)
    passages = {(pair.query_id, pair.passage_id) for pair in sample.pairs}
    assert err == (
        f"Drew {len(sample.pairs)} of 24 graded pairs (expected: 6).\n"
        f"A person reads {len(passages)} passages of 2 queries to label them.\n"
    )
    assert (sample.model, sample.prompt_class, sample.by, sample.seed) == ("one", RATED, "rating", 4)
    assert (sample.cutoff, sample.size, sample.graded_sha256) == (6, 24, file_sha256(graded))
    err = run([*arguments, "--count", 25, "--cutoff", 0], capsys)
    assert err.startswith("--count 25 is above the number of graded pairs (24): the sample has all of them")
    assert json.loads(output.read_text()).keys().isdisjoint({"cutoff"})
