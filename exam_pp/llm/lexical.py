"""Lexical grader, a baseline without a neural network: ratings from shared words.

It matches words, not meaning, so every grader with a language model should beat it. The evidence for a
passage and an entry is the share of the entry's words that the passage contains, stemmed (Porter). Words that
only frame a question ("impact", "role of") get a fifth of the weight, and nearly equal words (misspellings,
word forms) count as equal. So a grade depends on its passage and its entry alone.

Fixed thresholds map the evidence to a rating from 0 to 5; below a rating of 3 the extracted answer is
"unanswerable". ``docs/project/baselines.md`` describes how the constants were chosen and the results.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rapidfuzz import fuzz, process

from exam_pp.data_model import SUPPORT_LABELS
from exam_pp.llm.baselines import (
    ASSIGNMENTS,
    UNANSWERABLE,
    VERDICTS,
    Baseline,
    answer_scale,
    criteria_of,
    criteria_reply,
    entry_of,
)
from exam_pp.llm_requests import DECIMALS, Completion, Request
from exam_pp.text.sentences import plain_sentences
from exam_pp.text.stemming import content_stems, stem, tokens

VERSION = 2
"""Increases whenever a constant changes; files record it."""

_FRAME_LIST = """
achieve address affect aspect associate associated benefit case challenge characteristic common
commonly compare compared comparison consider consideration considered consist contribute define
describe differ difference different effect effective example explain factor feature function help
helps impact implication importance important include including influence interact involve involved
issue key know known main major mean method necessary often play potential primary process provide
purpose reason relate related relevant result role significance significant specific term type
typical typically use used using usually variation various vary versus way within work
"""

FRAME_WORDS = frozenset(_FRAME_LIST.split())
"""Words that frame a question and carry little information about its subject."""
FRAME_WEIGHT = 0.2

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.75)
"""The lowest evidence for the ratings 1 to 5."""
ASSIGNMENT_THRESHOLDS = (0.5, 0.7)
"""The lowest evidence for partial and for full support of a nugget or a claim."""
ANSWERABLE = THRESHOLDS[2]
"""Below this evidence (a rating of 3) the extracted answer is "unanswerable"."""

MIN_FUZZY_LENGTH = 5
FUZZY_CUTOFF = 85.0
"""Stems of at least this length count as equal from this similarity (per cent, rapidfuzz ``ratio``)."""
SOFT_WIDTH = 0.8
"""The width in ratings of the bell curve that replaces label probabilities."""


@dataclass(frozen=True)
class _Passage:
    """A passage's words; ``near`` caches whether another word is nearly equal to one of them."""

    words: frozenset[str]
    long_words: Sequence[str]
    near: dict[str, bool]

    @classmethod
    def of(cls, text: str) -> _Passage:
        """Make the word set of the text of a passage or a sentence."""
        words = frozenset(content_stems(text))
        return cls(words, sorted(word for word in words if len(word) >= MIN_FUZZY_LENGTH), {})

    def has_word(self, word: str) -> bool:
        """Whether the passage contains the word or a nearly equal word."""
        if word in self.words:
            return True
        if len(word) < MIN_FUZZY_LENGTH or not word.isalpha():
            return False
        if word not in self.near:
            match = process.extractOne(word, self.long_words, scorer=fuzz.ratio, score_cutoff=FUZZY_CUTOFF)
            self.near[word] = match is not None
        return self.near[word]


# Requests come passage by passage, and every passage has the same entries.
_passage = lru_cache(maxsize=256)(_Passage.of)


@lru_cache(maxsize=1024)
def _weights(entry: str) -> dict[str, float]:
    """The words of an entry with their weights."""
    stems = dict.fromkeys(content_stems(entry)) or dict.fromkeys(tokens(entry))
    frame = set(map(stem, FRAME_WORDS))  # not at import: the stemmer is slow to load
    return {word: FRAME_WEIGHT if word in frame else 1.0 for word in stems}


def coverage(entry: str, passage: str) -> float:
    """The weighted share, from 0 to 1, of the words of an entry that a passage contains."""
    weights, words = _weights(entry), _passage(passage)
    found = math.fsum(weight for word, weight in weights.items() if words.has_word(word))
    return round(found / math.fsum(weights.values()), DECIMALS) if weights else 0.0


class LexicalLLM(Baseline):
    """A baseline that rates by shared words and extracts the best sentence."""

    name = "lexical"

    def provenance(self) -> dict[str, Any]:
        """Return the version of the rule."""
        return {
            "engine": "lexical",
            "baseline": "matches words, no neural network",
            "version": VERSION,
            "batch_invariant": True,
        }

    def reply(self, request: Request) -> Completion:
        """Reply with a label of the scale, the best sentence, or "unanswerable"."""
        entry, passage = entry_of(request), request.slot("context")
        answers = [request.slot(slot) for slot in ("answer_a", "answer_b")]
        if entry is not None and None not in answers:
            return self._better_answer(request, entry[1], [text or "" for text in answers])
        if entry is None or passage is None:
            return Completion(
                error="the lexical baseline can only compare a passage with a question, nugget, query or "
                "claim"
            )
        if criteria := criteria_of(request):
            return Completion(criteria_reply(criteria, coverage(entry[1], request.slot("answer") or "")))
        evidence = coverage(entry[1], passage)
        if labels := answer_scale(request):
            return label_of(evidence, labels, soft=bool(request.labels))
        if evidence < ANSWERABLE:
            return Completion(UNANSWERABLE)
        return Completion(max(plain_sentences(passage), key=lambda part: coverage(entry[1], part)))

    def _better_answer(self, request: Request, query: str, answers: list[str]) -> Completion:
        """The label of the answer with more evidence for the query."""
        a, b = (coverage(query, text) for text in answers)
        labels = answer_scale(request) or VERDICTS
        winner = 2 if a == b else int(b > a)
        certain = tuple(0.0 if label == winner else -math.inf for label in range(len(labels)))
        return Completion(labels[winner], label_logprobs=certain if request.labels else ())


def label_of(evidence: float, labels: Sequence[str], *, soft: bool) -> Completion:
    """The label of a scale for evidence from 0 to 1, on request with a bell curve around it."""
    thresholds = ASSIGNMENT_THRESHOLDS if labels in (ASSIGNMENTS, SUPPORT_LABELS) else THRESHOLDS
    level = rating_level(evidence, thresholds) * (len(labels) - 1) / len(thresholds)
    logprobs = _bell(level, len(labels)) if soft else ()
    return Completion(labels[min(int(level + 0.5), len(labels) - 1)], label_logprobs=logprobs)


def rating_level(evidence: float, thresholds: Sequence[float] = THRESHOLDS) -> float:
    """Map evidence to the scale from -0.5 to 5.5; each threshold is half-way between two ratings."""
    edges = (0.0, *thresholds, 1.0)
    index = min(bisect_right(thresholds, evidence), len(thresholds))
    low, high = edges[index], edges[index + 1]
    return index - 0.5 + (evidence - low) / (high - low)


def _bell(level: float, count: int) -> tuple[float, ...]:
    """Log-probabilities of a discrete bell curve around ``level``, which are not calibrated likelihoods."""
    weights = [math.exp(-((label - level) ** 2) / (2 * SOFT_WIDTH**2)) for label in range(count)]
    total = math.fsum(weights)
    return tuple(math.log(weight / total) for weight in weights)
