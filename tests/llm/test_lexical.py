"""The lexical grader: words, statistics, ratings, extraction, and agreement with real grades."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.graders.soft import soft_grade
from exam_pp.llm.lexical import THRESHOLDS, LexicalLLM, Statistics, rating_level
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.prompts import PROMPTS
from exam_pp.text.stemming import content_stems, tokens

RATING = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
EXTRACTION = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")

PASSAGES = [
    "The Panama Canal was finished in 1914. Workers died of malaria and yellow fever.",
    "Malaria is carried by mosquitoes. Draining swamps reduced the disease.",
    "Bees dance in the hive to tell others where flowers are.",
    "A heat pump moves heat instead of making it.",
]
WORDS = st.lists(
    st.sampled_from(["canal", "malaria", "bees", "heat", "pump", "dance", "tides", "the"]), min_size=1
).map(" ".join)


def learned(passages: list[str] | None = None) -> LexicalLLM:
    llm = LexicalLLM()
    llm.learn(PASSAGES if passages is None else passages)
    return llm


def ask(llm: LexicalLLM, text: str, passage: str, *, extract: bool = False) -> Completion:
    prompt = EXTRACTION if extract else RATING
    return llm.reply(Request(prompt.render({"question": text, "context": passage}), prompt.labels))


def rate(llm: LexicalLLM, text: str, passage: str) -> int:
    return int(ask(llm, text, passage).text)


def test_tokens_keep_numbers_whole() -> None:
    assert tokens("It's 3.5 km, or 4,000 m; COVID-19.") == [
        "it", "s", "3.5", "km", "or", "4,000", "m", "covid", "19",
    ]  # fmt: skip


def test_content_stems_drop_stop_words_and_endings() -> None:
    assert content_stems("What were the workers building?") == ["worker", "build"]


def test_rare_words_have_more_weight() -> None:
    statistics = Statistics(["bees dance", "bees sleep", "bees eat"])
    assert statistics.idf("danc") > statistics.idf("bee") > 0
    assert statistics.count("bee") == 3
    assert statistics.count("whale") == 0
    assert statistics.idf("whale") > statistics.idf("danc")


def test_idf_is_that_of_bm25() -> None:
    """ln(1 + (N − n + .5) / (n + .5)) with N 3 and n 1 (Robertson and Zaragoza 2009; Lucene's form)."""
    assert Statistics(["a bee", "a cat", "a dog"]).idf("cat") == pytest.approx(math.log(1 + 2.5 / 1.5))


def test_association_is_the_cosine_of_the_sets_of_passages_of_two_words() -> None:
    """Storm and rain share 3 passages; they are in 4 and 3: 3 / √12."""
    statistics = Statistics(["storm rain", "storm rain", "storm rain wind", "storm", "wind", "sun"])
    assert statistics.associated("storm") == {"rain": pytest.approx(3 / math.sqrt(12))}
    assert statistics.associated("sun") == {}
    assert statistics.associated("unknown") == {}


def test_a_passage_with_the_answer_beats_the_others() -> None:
    llm = learned()
    question = "When was the Panama Canal finished?"
    ratings = [rate(llm, question, passage) for passage in PASSAGES]
    assert ratings[0] >= 4
    assert max(ratings[1:]) == 0


def test_misspelt_words_count() -> None:
    llm = learned()
    right = llm.evidence("question", "mosquitoes", PASSAGES[1])
    assert llm.evidence("question", "mosquittoes", PASSAGES[1]) == pytest.approx(right, abs=0.05)
    assert llm.evidence("question", "mosaic", PASSAGES[1]) == 0


def test_numbers_are_never_nearly_equal() -> None:
    llm = learned(["It cost 123456 francs."])
    assert llm.evidence("nugget", "123457", "It cost 123456 francs.") == 0


def test_words_that_frame_a_question_have_little_weight() -> None:
    llm = learned()
    assert llm.evidence("question", "What is the significance of bees?", "significance") < 0.3
    assert llm.evidence("question", "What is the significance of bees?", "bees") > 0.7


def test_association_finds_answers_without_the_words_of_the_question() -> None:
    storms = [
        "The storm brought rain and wind.",
        "Storm: heavy rain, strong wind.",
        "Rain, wind, storm.",
    ] * 30
    llm = learned([*storms, *PASSAGES])
    near, far = "Rain and wind all night.", "A heat pump moves heat."
    assert llm.evidence("question", "What is a storm?", near) > llm.evidence(
        "question", "What is a storm?", far
    )
    assert llm.evidence("nugget", "a storm", near) < llm.evidence("question", "a storm", near)


def test_without_learning_every_word_has_the_same_weight() -> None:
    assert LexicalLLM().evidence("question", "bees and wasps", "bees") == pytest.approx(0.5)


def test_best_sentence_is_the_extraction() -> None:
    reply = ask(learned(), "Which diseases did the canal workers die of?", PASSAGES[0], extract=True)
    assert reply.text == "Workers died of malaria and yellow fever."
    assert ask(learned(), "Where do bees dance?", PASSAGES[3], extract=True).text == "unanswerable"


def test_extraction_agrees_with_the_rating() -> None:
    """A rating of at least 3 has an extracted answer; a lower rating does not."""
    llm = learned()
    for question in ("Where do bees dance?", "When was malaria reduced by draining?", "What heats a house?"):
        for passage in PASSAGES:
            extracted = ask(llm, question, passage, extract=True).text
            assert (extracted != "unanswerable") == (rate(llm, question, passage) >= 3)


def test_provenance_identifies_the_passages() -> None:
    first, second = learned().provenance(), learned(PASSAGES[:3]).provenance()
    assert first == learned().provenance()
    assert (first["passages"], second["passages"]) == (4, 3)
    assert first["passages_hash"] != second["passages_hash"]
    assert "no neural network" in str(first["baseline"])


@given(WORDS, WORDS)
def test_evidence_is_a_share(entry: str, passage: str) -> None:
    llm = learned()
    assert 0 <= llm.evidence("question", entry, passage) <= 1 + 1e-9
    assert llm.evidence("question", entry, passage) == llm.evidence("question", entry, passage)


@given(st.floats(0, 1))
def test_levels_round_to_the_rating_of_the_thresholds(evidence: float) -> None:
    expected = sum(evidence >= threshold for threshold in THRESHOLDS)
    assert min(int(rating_level(evidence) + 0.5), 5) == expected


def test_levels_grow_with_the_evidence() -> None:
    levels = [rating_level(step / 100) for step in range(101)]
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (-0.5, 5.5)


def test_soft_grade_peaks_at_the_rating_and_follows_the_evidence() -> None:
    llm = learned()
    strong = ask(llm, "When was the Panama Canal finished?", PASSAGES[0])
    weak = ask(llm, "When was the Panama Canal widened by workers of Spain?", PASSAGES[0])
    for reply in (strong, weak):
        assert math.fsum(map(math.exp, reply.label_logprobs)) == pytest.approx(1)
        assert max(range(6), key=reply.label_logprobs.__getitem__) == int(reply.text)
    soft_strong, soft_weak = soft_grade(strong.label_logprobs), soft_grade(weak.label_logprobs)
    assert soft_strong is not None
    assert soft_weak is not None
    assert soft_strong.expected > soft_weak.expected


@pytest.mark.integration
def test_agreement_with_gpt4_and_judges_on_every_fourth_query(shared_data: Path) -> None:
    """TREC DL 2019: pair-level Spearman at least .33 with GPT-4, AUC at least .77 with judgments."""
    from scipy.stats import spearmanr

    from exam_pp.metrics.agreement import area_under_curve
    from exam_pp.store.banks.bank_json import read_bank
    from exam_pp.store.passages.graded_file import read_passages

    folder = shared_data / "dl19-gpt4"
    bank = read_bank(folder / "dl19-gpt4-questions.jsonl.gz")
    queries = list(read_passages(folder / "dl19-graded.jsonl.gz"))
    llm = learned([passage.text for query in queries for passage in query.passages])
    lexical: list[int] = []
    gpt4: list[int] = []
    areas: list[float] = []
    for query in queries[::4]:
        means, relevant = [], []
        for passage in query.passages:
            published = next(passage.grade_sets()).entry_ratings()
            entries = bank.entries(query.query_id)
            ratings = {key: rate(llm, entries[key].text, passage.text) for key in published}
            lexical += ratings.values()
            gpt4 += published.values()
            means.append(fmean(ratings.values()))
            relevant.append(max(judgment.relevance for judgment in passage.judgments) >= 2)
        area = area_under_curve(means, relevant)
        if area is not None:
            areas.append(area)
    assert spearmanr(lexical, gpt4).statistic >= 0.33
    assert fmean(areas) >= 0.77
    assert len(set(lexical)) == 6


def test_unsupported_prompts_are_errors_of_their_completions() -> None:
    reply = learned().reply(Request((Part("Write ten questions about "), Part("bees", "query"))))
    assert reply.text == ""
    assert reply.error is not None
    assert "baseline" in reply.error
