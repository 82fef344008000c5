"""Lexical grader, a baseline without a neural network: ratings from shared and associated words.

It matches words, not meaning, so every grader with a language model should beat it. The evidence for a
passage and an entry is a weighted sum of two parts, both between 0 and 1:

* **coverage**: the share of the entry's words that the passage contains, stemmed (Porter), weighted by
  the square root of their inverse document frequency. Words that only frame a question ("impact",
  "role of") get a fifth of the weight. Nearly equal words (misspellings, word forms) count as equal.
* **association**: the cosine between the passage's words and the words that occur together with the
  entry's words in the passages of the input file (concept-based query expansion, Qiu and Frei, SIGIR
  1993). A question does not contain the words of its answer, so association has a large weight for
  questions; nuggets contain them, so it has a small weight there.

Words that are associated by few passages may be associated by chance, so their association counts less.

Fixed thresholds map the evidence to a rating from 0 to 5; below a rating of 3 the extracted answer is
"unanswerable". ``docs/project/baselines.md`` describes how the constants were chosen and the results.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    plain_sentences,
)
from exam_pp.llm_requests import Completion, Request
from exam_pp.text.stemming import content_stems, stem, tokens

VERSION = 1
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

ASSOCIATION_WEIGHT = {"question": 0.7, "query": 0.7, "nugget": 0.35, "claim": 0.35}
"""The weight of association if its trust is 1; coverage has the rest."""
HALF_TRUST = 30
"""A word in this many passages has a trust of one half; associations of rarer words are more random."""
FULL_COSINE = 0.5
"""The cosine that counts as full association."""
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.75)
"""The lowest evidence for the ratings 1 to 5."""
ASSIGNMENT_THRESHOLDS = (0.5, 0.7)
"""The lowest evidence for partial and for full support of a nugget or a claim."""
ANSWERABLE = THRESHOLDS[2]
"""Below this evidence (a rating of 3) the extracted answer is "unanswerable"."""

MIN_FUZZY_LENGTH = 5
FUZZY_CUTOFF = 85.0
"""Stems of at least this length count as equal from this similarity (per cent, rapidfuzz ``ratio``)."""
MIN_TOGETHER = 3
"""The minimal number of common passages for associated words."""
MAX_SAMPLE = 2000
"""The maximal number of passages, evenly spaced, that are read for a frequent word, to limit the time."""
MAX_ASSOCIATED = 300
"""The number of strongest associations that an entry keeps."""
SOFT_WIDTH = 0.8
"""The width in ratings of the bell curve that replaces label probabilities."""

_FRAME_STEMS = frozenset(stem(word) for word in FRAME_WORDS)


class WordStatistics:
    """Word statistics of the passages in the input file: document frequency and association."""

    def __init__(self, passages: Iterable[str] = ()) -> None:
        digest = hashlib.sha256()
        self._words: list[array[int]] = []
        self._passages_with: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
        self._number: dict[str, int] = {}
        for passage in passages:
            digest.update(passage.encode("utf-8", "surrogatepass") + b"\0")
            words = [self._number.setdefault(w, len(self._number)) for w in set(content_stems(passage))]
            for word in words:
                self._passages_with[word].append(len(self._words))
            self._words.append(array("I", words))
        self._stems = list(self._number)
        self.digest = digest.hexdigest()[:16]

    @property
    def size(self) -> int:
        """The number of passages."""
        return len(self._words)

    def idf(self, stem: str) -> float:
        """The inverse document frequency of BM25, never negative; 1 without passages."""
        if not self.size:
            return 1.0
        count = self.count(stem)
        return math.log(1 + (self.size - count + 0.5) / (count + 0.5))

    def count(self, stem: str) -> int:
        """The number of passages that contain the word."""
        number = self._number.get(stem)
        return len(self._passages_with[number]) if number is not None else 0

    def associated(self, stem: str) -> dict[str, float]:
        """Maps associated words to the cosine between their set of passages and that of ``stem``."""
        number = self._number.get(stem)
        if number is None:
            return {}
        containing = self._passages_with[number]
        sample = containing[:: -(-len(containing) // MAX_SAMPLE)]
        together: Counter[int] = Counter()
        for passage in sample:
            together.update(self._words[passage])
        scale = math.sqrt(len(containing)) / len(sample)
        return {
            self._stems[word]: count * scale / math.sqrt(len(self._passages_with[word]))
            for word, count in together.items()
            if count >= MIN_TOGETHER and word != number
        }


@dataclass(frozen=True)
class _Entry:
    """An entry's words with weights that sum to 1, and its associated words as a unit vector.

    ``trust`` is the reliability of the associations, between 0 and 1.
    """

    weights: Mapping[str, float]
    associated: Mapping[str, float]
    trust: float


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

    def coverage(self, entry: _Entry) -> float:
        """The weighted share of the entry's words that the passage contains."""
        return math.fsum(weight for word, weight in entry.weights.items() if self.has_word(word))

    def association(self, entry: _Entry) -> float:
        """The cosine between the passage's words and the words associated with the entry."""
        if not self.words:
            return 0.0
        get = entry.associated.get
        return math.fsum(get(word, 0.0) for word in self.words) / math.sqrt(len(self.words))


class LexicalLLM(Baseline):
    """A baseline that rates by shared and associated words and extracts the best sentence."""

    name = "lexical"

    def __init__(self) -> None:
        self.learn(())

    def provenance(self) -> dict[str, Any]:
        """Return the version of the rule, and number and hash of the passages."""
        return {
            "engine": "lexical",
            "baseline": "matches words, no neural network",
            "version": VERSION,
            "batch_invariant": True,
            "passages": self._statistics.size,
            "passages_hash": self._statistics.digest,
        }

    def learn(self, passages: Iterable[str]) -> None:
        """Compute word statistics from all passages of the input file, in one pass."""
        self._statistics = WordStatistics(passages)
        # Requests come passage by passage, and every passage has the same entries.
        self._passage = lru_cache(maxsize=64)(_Passage.of)
        self._sentences = lru_cache(maxsize=64)(_sentences)
        self._entry = lru_cache(maxsize=1024)(self._read_entry)

    def reply(self, request: Request) -> Completion:
        """Reply with a label of the scale, the best sentence, or "unanswerable"."""
        entry, passage = entry_of(request), request.slot("context")
        answers = [request.slot(slot) for slot in ("answer_a", "answer_b")]
        if entry is not None and None not in answers:
            return self._better_answer(request, *entry, [text or "" for text in answers])
        if entry is None or passage is None:
            return Completion(
                error="the lexical baseline can only compare a passage with a question, nugget, query or "
                "claim"
            )
        if criteria := criteria_of(request):
            evidence = self.evidence(*entry, request.slot("answer") or "")
            return Completion(criteria_reply(criteria, evidence))
        if labels := answer_scale(request):
            thresholds = ASSIGNMENT_THRESHOLDS if labels in (ASSIGNMENTS, SUPPORT_LABELS) else THRESHOLDS
            level = rating_level(self.evidence(*entry, passage), thresholds)
            level *= (len(labels) - 1) / len(thresholds)
            logprobs = _bell(level, len(labels)) if request.labels else ()
            return Completion(labels[min(int(level + 0.5), len(labels) - 1)], label_logprobs=logprobs)
        if self.evidence(*entry, passage) < ANSWERABLE:
            return Completion(UNANSWERABLE)
        return Completion(self._best_sentence(entry[1], passage))

    def _better_answer(self, request: Request, slot: str, query: str, answers: list[str]) -> Completion:
        """The label of the answer with more evidence for the query."""
        a, b = (self.evidence(slot, query, text) for text in answers)
        labels = answer_scale(request) or VERDICTS
        winner = 2 if a == b else int(b > a)
        certain = tuple(0.0 if label == winner else -math.inf for label in range(len(labels)))
        return Completion(labels[winner], label_logprobs=certain if request.labels else ())

    def evidence(self, slot: str, entry_text: str, passage_text: str) -> float:
        """The evidence between 0 and 1 that the passage covers the entry; ``slot`` is the kind of entry."""
        entry, passage = self._entry(entry_text), self._passage(passage_text)
        weight = ASSOCIATION_WEIGHT[slot] * entry.trust
        association = min(1.0, passage.association(entry) / FULL_COSINE)
        return (1 - weight) * passage.coverage(entry) + weight * association

    def _read_entry(self, text: str) -> _Entry:
        stems = dict.fromkeys(content_stems(text)) or dict.fromkeys(tokens(text))
        weights = {
            word: math.sqrt(self._statistics.idf(word)) * (FRAME_WEIGHT if word in _FRAME_STEMS else 1.0)
            for word in stems
        }
        total = math.fsum(weights.values())
        weights = {word: weight / total for word, weight in weights.items()}
        associated: defaultdict[str, float] = defaultdict(float)
        trust = 0.0
        for word, weight in weights.items():
            count = self._statistics.count(word)
            trust += weight * count / (count + HALF_TRUST)
            for associated_word, cosine in self._statistics.associated(word).items():
                associated[associated_word] += weight * cosine
        strongest = sorted(associated.items(), key=lambda item: (-item[1], item[0]))[:MAX_ASSOCIATED]
        length = math.sqrt(math.fsum(value * value for _, value in strongest))
        return _Entry(weights, {word: value / length for word, value in strongest}, trust)

    def _best_sentence(self, entry_text: str, passage: str) -> str:
        """The first sentence with the highest coverage of the entry; association breaks ties."""
        entry = self._entry(entry_text)
        best = max(self._sentences(passage), key=lambda s: (s[1].coverage(entry), s[1].association(entry)))
        return best[0]


def _sentences(passage: str) -> list[tuple[str, _Passage]]:
    return [(text, _Passage.of(text)) for text in plain_sentences(passage)]


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
