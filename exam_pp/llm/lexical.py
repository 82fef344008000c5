"""A grader without a neural network: how far a passage's words cover a question or nugget.

It is a *baseline*: it matches words, not meaning, and every judge worth its cost should beat it.
The evidence for a pair is the sum of two parts, both between 0 and 1:

* **coverage**: the share of the entry's words that the passage contains, stemmed (Porter), weighted by
  the square root of their inverse document frequency; words that merely frame a question ("impact",
  "role of") weigh a fifth; nearly equal words (misspellings, word forms) count as equal;
* **association**: the cosine between the passage's words and the words that occur together with the
  entry's words in the passages of the input file (concept-based query expansion, Qiu and Frei, SIGIR
  1993). A question does not contain the words of its answer, so association weighs much for questions
  and little for nuggets, which say what the passage should say.

Words associated by few passages are associated by chance, so association counts less for them.

Fixed thresholds turn the evidence into a rating of 0 to 5, and below a rating of 3 the extracted answer
is "unanswerable". How the constants were chosen, and what they reach, is in ``docs/bundled-grader.md``.
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

from exam_pp.llm.baselines import ASSIGNMENTS, UNANSWERABLE, Baseline, entry_of, scale_of, sentences
from exam_pp.messages import Completion, Request
from exam_pp.stemming import content_stems, stem, tokens

VERSION = 1
"""Counted up whenever a constant changes, so that files say which rule made them."""

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
"""Words that frame a question and say little about its subject."""
FRAME_WEIGHT = 0.2

ASSOCIATION_WEIGHT = {"question": 0.7, "query": 0.7, "nugget": 0.35}
"""The weight of association where it can be trusted; coverage has the rest."""
HALF_TRUST = 30
"""Associations of a word that this many passages hold are trusted by half: chance rules below."""
FULL_COSINE = 0.5
"""An association this strong counts as full."""
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.75)
"""Evidence at which the ratings 1 to 5 begin."""
ASSIGNMENT_THRESHOLDS = (0.5, 0.7)
"""Evidence at which an answer supports a nugget in part, and fully."""
ANSWERABLE = THRESHOLDS[2]
"""Below this evidence (a rating of 3) the extracted answer is "unanswerable"."""

MIN_FUZZY_LENGTH = 5
FUZZY_CUTOFF = 85.0
"""Stems of this length count as equal from this similarity (per cent, rapidfuzz ``ratio``) on."""
MIN_TOGETHER = 3
"""Words that share fewer passages than this are not associated."""
MAX_SAMPLE = 2000
"""Of a frequent word, this many evenly spaced passages are looked at, so that the time stays bounded."""
MAX_ASSOCIATED = 300
"""An entry keeps its strongest associations only."""
SOFT_WIDTH = 0.8
"""Width, in ratings, of the bell around the evidence that stands in for label probabilities."""

_FRAME_STEMS = frozenset(stem(word) for word in FRAME_WORDS)


class Statistics:
    """What the passages of the input file say about words: how rare they are, what goes with what."""

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
        """How many passages were learned."""
        return len(self._words)

    def idf(self, stem: str) -> float:
        """The inverse document frequency of BM25, never negative; 1 where nothing was learned."""
        if not self.size:
            return 1.0
        count = self.count(stem)
        return math.log(1 + (self.size - count + 0.5) / (count + 0.5))

    def count(self, stem: str) -> int:
        """How many passages hold the word."""
        number = self._number.get(stem)
        return len(self._passages_with[number]) if number is not None else 0

    def associated(self, stem: str) -> dict[str, float]:
        """Other words to the cosine between the sets of passages that hold them and ``stem``."""
        number = self._number.get(stem)
        if number is None:
            return {}
        holding = self._passages_with[number]
        sample = holding[:: -(-len(holding) // MAX_SAMPLE)]
        together: Counter[int] = Counter()
        for passage in sample:
            together.update(self._words[passage])
        scale = math.sqrt(len(holding)) / len(sample)
        return {
            self._stems[other]: count * scale / math.sqrt(len(self._passages_with[other]))
            for other, count in together.items()
            if count >= MIN_TOGETHER and other != number
        }


@dataclass(frozen=True)
class _Entry:
    """An entry's words with weights that add up to 1, and its associated words as a unit vector.

    ``trust`` is how far the associations can be believed, between 0 and 1.
    """

    weights: Mapping[str, float]
    associated: Mapping[str, float]
    trust: float


@dataclass(frozen=True)
class _Passage:
    """A passage's words; ``near`` remembers which other words are nearly equal to one of them."""

    words: frozenset[str]
    long_words: Sequence[str]
    near: dict[str, bool]

    @classmethod
    def of(cls, text: str) -> _Passage:
        """The words of a passage or of a sentence."""
        words = frozenset(content_stems(text))
        return cls(words, sorted(word for word in words if len(word) >= MIN_FUZZY_LENGTH), {})

    def holds(self, word: str) -> bool:
        """Whether the passage has the word, or a nearly equal one."""
        if word in self.words:
            return True
        if len(word) < MIN_FUZZY_LENGTH or not word.isalpha():
            return False
        if word not in self.near:
            found = process.extractOne(word, self.long_words, scorer=fuzz.ratio, score_cutoff=FUZZY_CUTOFF)
            self.near[word] = found is not None
        return self.near[word]

    def coverage(self, entry: _Entry) -> float:
        """The weighted share of the entry's words that the passage holds."""
        return math.fsum(weight for word, weight in entry.weights.items() if self.holds(word))

    def association(self, entry: _Entry) -> float:
        """The cosine between the passage's words and the words associated with the entry."""
        if not self.words:
            return 0.0
        get = entry.associated.get
        return math.fsum(get(word, 0.0) for word in self.words) / math.sqrt(len(self.words))


class LexicalLLM(Baseline):
    """Rates by shared and associated words, extracts the best sentence. No neural network."""

    name = "lexical"

    def __init__(self) -> None:
        self.learn(())

    def provenance(self) -> dict[str, Any]:
        """The rule's version and the passages whose statistics it uses."""
        return {
            "engine": "lexical",
            "baseline": "matches words, no neural network",
            "version": VERSION,
            "passages": self._statistics.size,
            "passages_hash": self._statistics.digest,
        }

    def learn(self, passages: Iterable[str]) -> None:
        """Take word statistics from all passages of the input file, in one pass."""
        self._statistics = Statistics(passages)
        # The same passage is asked about many times in a row, the same entries for every passage.
        self._passage = lru_cache(maxsize=64)(_Passage.of)
        self._sentences = lru_cache(maxsize=64)(_sentences)
        self._entry = lru_cache(maxsize=1024)(self._read_entry)

    def reply(self, request: Request) -> Completion:
        """A label of the scale, or the best sentence, or "unanswerable"."""
        entry, passage = entry_of(request), request.slot("context")
        if entry is None or passage is None:
            return Completion(error="the lexical baseline only compares a passage with a question or nugget")
        if labels := scale_of(request):
            thresholds = ASSIGNMENT_THRESHOLDS if labels == ASSIGNMENTS else THRESHOLDS
            level = rating_level(self.evidence(*entry, passage), thresholds)
            level *= (len(labels) - 1) / len(thresholds)
            logprobs = _bell(level, len(labels)) if request.labels else ()
            return Completion(labels[min(int(level + 0.5), len(labels) - 1)], label_logprobs=logprobs)
        if self.evidence(*entry, passage) < ANSWERABLE:
            return Completion(UNANSWERABLE)
        return Completion(self._best_sentence(entry[1], passage))

    def evidence(self, slot: str, entry_text: str, passage_text: str) -> float:
        """How far the passage covers the entry, between 0 and 1; ``slot`` tells a question from a nugget."""
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
            for other, cosine in self._statistics.associated(word).items():
                associated[other] += weight * cosine
        strongest = sorted(associated.items(), key=lambda item: (-item[1], item[0]))[:MAX_ASSOCIATED]
        length = math.sqrt(math.fsum(value * value for _, value in strongest))
        return _Entry(weights, {word: value / length for word, value in strongest}, trust)

    def _best_sentence(self, entry_text: str, passage: str) -> str:
        """The first of the sentences that cover the entry best; association decides between equals."""
        entry = self._entry(entry_text)
        best = max(self._sentences(passage), key=lambda s: (s[1].coverage(entry), s[1].association(entry)))
        return best[0]


def _sentences(passage: str) -> list[tuple[str, _Passage]]:
    return [(text, _Passage.of(text)) for text in sentences(passage)]


def rating_level(evidence: float, thresholds: Sequence[float] = THRESHOLDS) -> float:
    """The evidence on the scale from -0.5 to 5.5: half-way between two ratings at each threshold."""
    edges = (0.0, *thresholds, 1.0)
    index = min(bisect_right(thresholds, evidence), len(thresholds))
    low, high = edges[index], edges[index + 1]
    return index - 0.5 + (evidence - low) / (high - low)


def _bell(level: float, count: int) -> tuple[float, ...]:
    """Log-probabilities of a discrete bell around ``level``: a convention, not a calibrated likelihood."""
    weights = [math.exp(-((label - level) ** 2) / (2 * SOFT_WIDTH**2)) for label in range(count)]
    total = math.fsum(weights)
    return tuple(math.log(weight / total) for weight in weights)
