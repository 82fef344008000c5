"""Generated training examples: passages, exam questions and key facts, with ratings and answers.

There are two kinds of examples. *Prose*: the content words of a passage come from the listed vocabulary and
from invented words, and some content words of an entry are placed into the passage, often inflected. The
rating measures how much of the entry the passage covers; the answer is the clause that covers it best.
*Facts*: sentences state an attribute of an entity, with distractors (another entity, another attribute,
negation). The rating depends on whether the requested fact is stated; the answer is the value. Every example
has new invented words, so that the model cannot memorise and has to match.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from . import templates as tp
from . import tokenizer as tk
from . import words as w

T = TypeVar("T")
WORD = re.compile(r"[^\W\d_]+|\d+")
CLAUSE_END = re.compile(r"(?<=[.!?;])\s+")
CUTS = (0.15, 0.27, 0.40, 0.55, 0.70)
ASSIGNMENT_CUTS = (0.65, 0.85)
ASSIGNMENTS = tuple(tk.LABELS)
MAX_CLAUSE_WORDS = 32
PROMPTS: dict[str, str] = {
    tk.RATE_QUESTION: "rate_question",
    tk.RATE_NUGGET: "rate_nugget",
    tk.ANSWER: "answer",
    tk.EXTRACT: "extract",
    tk.YES_NO: "yes_no",
    tk.RATE_THREE: "rate_three",
    tk.VERIFY: "verify",
    tk.ASSIGN: "assign",
}


@dataclass(frozen=True)
class Example:
    """A normalised prompt with its target reply."""

    mark: str
    entry: str
    passage: str
    reply: str
    rating: int
    matched: frozenset[
        str
    ]  # stems of the entry that are in the passage; a training aid, not part of the prompt
    clause: str = ""  # the clause of the passage that answers; a training aid

    @property
    def source(self) -> str:
        """The prompt after normalisation."""
        separator = tk.GOLD if self.mark == tk.VERIFY else tk.CONTEXT
        return f"{self.mark} {self.entry}{separator} {self.passage}"


def _weights() -> dict[str, float]:
    """Stem to the weight of a match: low for function words, medium for words common in questions."""
    worth: dict[str, float] = {}
    for block, value in ((w.FUNCTION, 0.1), (w.GENERIC, 0.4)):
        for word in w.words(block):
            worth.setdefault(tk.stem(word), value)
    return worth


WORTH = _weights()


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order."""
    return [tk.stem(x) for x in WORD.findall(text.lower())]


@dataclass(frozen=True)
class Coverage:
    """How much of an entry a passage covers."""

    score: float
    matched: frozenset[str]
    clause: str
    clause_share: float

    @property
    def rating(self) -> int:
        return sum(self.score > cut for cut in CUTS)

    @property
    def assignment(self) -> str:
        """The label of a nugget for an answer."""
        return ASSIGNMENTS[sum(self.score > cut for cut in ASSIGNMENT_CUTS)]


def split_clauses(passage: str) -> list[str]:
    """Split a passage into sentences; long sentences are split at commas, or at the word limit."""
    clauses: list[str] = []
    for sentence in CLAUSE_END.split(passage):
        current: list[str] = []
        for part in re.split(r"(?<=[,:])\s+", sentence):
            tokens = part.split()
            if current and len(current) + len(tokens) > MAX_CLAUSE_WORDS:
                clauses.append(" ".join(current))
                current = []
            current += tokens
            while len(current) > MAX_CLAUSE_WORDS + 6:
                clauses.append(" ".join(current[:MAX_CLAUSE_WORDS]))
                current = current[MAX_CLAUSE_WORDS:]
        if current:
            clauses.append(" ".join(current))
    return clauses


def coverage(entry: str, passage: str) -> Coverage:
    """Weighted share of the entry's words in the passage, plus shared prefixes and word pairs."""
    order = stems(entry)
    worth = {x: WORTH.get(x, 1.0) for x in order}
    total = sum(worth.values()) or 1.0
    clauses = split_clauses(passage)
    per_clause = [stems(x) for x in clauses]
    text = [x for clause in per_clause for x in clause]
    present, pairs = set(text), set(itertools.pairwise(text))
    heads = {x[:5] for x in present if len(x) > 5}
    matched = {x for x in worth if x in present}
    near = sum(v for x, v in worth.items() if x not in matched and len(x) >= 5 and x[:5] in heads)
    shares = [sum(worth[x] for x in set(c) & matched) / total for c in per_clause]
    best = max(range(len(shares)), key=lambda i: (shares[i], -i))
    entry_pairs = [p for p in itertools.pairwise(order) if worth[p[0]] >= 0.4 and worth[p[1]] >= 0.4]
    score = sum(worth[x] for x in matched) / total + 0.7 * near / total
    score += (
        0.15 * sum(p in pairs for p in entry_pairs) / max(2, len(entry_pairs)) + 0.2 * shares[best] - 0.05
    )
    score += 0.05 * math.log((len(text) + 5) / 50)
    return Coverage(score, frozenset(matched), clauses[best], shares[best])


VOWELS = ("a", "e", "i", "o", "u", "ea", "io", "ou")
ONSETS = {
    False: w.words("b c d f g l m n p r s t v st tr pr gr pl ch sh br cl fl sp h w k"),
    True: w.words("j k z kr sk th wh gl dr bl sn tw qu y ph sm"),
}
CODAS = ("", "", "n", "r", "s", "l", "t", "m", "nd", "x", "ck", "rd")
INFLECTIONS = ("s", "s", "s", "ed", "ing", "ly", "al", "er", "ation")
SHARES = (0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 1.0)
"""The shares of an entry's words that may go into a passage; one share is drawn per example."""
FILLERS = ("people", "time", "example", "way", "part", "number", "type", "process", "result", "system")


class Generator:
    """Generates examples from a seed; ``held_out`` uses templates, words and syllables of the test split."""

    def __init__(self, seed: int, held_out: bool = False) -> None:
        self.rng = random.Random(f"{seed}-{held_out}")
        self.held_out = held_out
        topical = w.words(w.TOPICAL)
        self.topical = [x for i, x in enumerate(topical) if (i % 12 == 0) == held_out]
        self.common = w.words(w.COMMON)
        self.generic = w.words(w.GENERIC)
        self.prefixes, self.roots, self.suffixes = w.words(w.PREFIXES), w.words(w.ROOTS), w.words(w.SUFFIXES)
        self.sentences, self.questions = self._part(tp.SENTENCES), self._part(tp.QUESTIONS)
        self.nuggets, self.facts = self._part(tp.NUGGETS), self._part(tp.FACTS)

    def _part(self, templates: list[T]) -> list[T]:
        return [x for i, x in enumerate(templates) if (i % tp.HOLD_OUT == 0) == self.held_out]

    def invented(self) -> str:
        """An invented word: combined word parts, syllables, a number or a short code."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.45:
            head = rng.choice(self.prefixes) if rng.random() < 0.5 else rng.choice(self.roots)
            tail = rng.choice(self.suffixes) if rng.random() < 0.7 else ""
            return head + rng.choice(self.roots) + tail
        if kind < 0.9:
            onsets = ONSETS[self.held_out] if rng.random() < 0.7 else ONSETS[False] + ONSETS[True]
            syllables = rng.choice((1, 2, 2, 3))
            return "".join(
                rng.choice(onsets) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(syllables)
            )
        if kind < 0.96:
            return str(rng.choice((rng.randrange(20), rng.randrange(1500, 2030), rng.randrange(10**5))))
        return "".join(rng.choice("ABCDEFGHIKLMNOPRSTVW") for _ in range(rng.choice((2, 3, 3, 4))))

    def content(self, invented: float = 0.35) -> str:
        """A content word; most are listed words, so that the model also learns to match their pieces."""
        draw = self.rng.random()
        if draw < invented:
            return self.invented()
        return self.rng.choice(self.topical if draw < invented + (1 - invented) * 0.6 else self.common)

    def name(self) -> str:
        """A name of one or two words."""
        return " ".join(self.invented().capitalize() for _ in range(self.rng.choice((1, 1, 2))))

    def inflect(self, word: str) -> str:
        """Return the word, sometimes inflected or capitalised."""
        draw = self.rng.random()
        if draw < 0.2 and word.isalpha() and len(word) > 3 and not word.isupper():
            return word.removesuffix("e") + self.rng.choice(INFLECTIONS)
        return word.capitalize() if draw > 0.93 and word.islower() else word

    def lookalike(self, word: str) -> str:
        """A word with the same beginning or ending, so that a single equal piece is not a match."""
        new = self.invented()
        cut = max(1, len(word) // 2)
        return word[:cut] + new[-3:] if self.rng.random() < 0.5 else new[:3] + word[cut:]

    def fill(self, template: str, pool: list[str]) -> str:
        """Fill a sentence template with words of the pool, and capitalise the first letter."""
        text = re.sub(r"\{\}", lambda _: self.inflect(self.rng.choice(pool)), template)
        return text[:1].upper() + text[1:]

    def phrase(self, pool: list[str]) -> str:
        """The words of a slot: one to three content words, removed from the pool unless it is empty."""
        rng = self.rng
        chosen = []
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
            if rng.random() < 0.15:
                chosen.append(rng.choice(self.generic))
            else:
                chosen.append(pool.pop() if pool else self.content())
        return " ".join(chosen)

    def entry(self, pool: list[str], nugget: bool) -> str:
        """A question or a key fact about some words of the pool."""
        template = self.rng.choice(self.nuggets if nugget else self.questions)
        text = re.sub(r"\{\d\}", lambda _: self.phrase(pool), template)
        return text[:1].upper() + text[1:] if self.rng.random() < 0.8 else text.lower()

    def prose(self, pool: list[str], sentences: int) -> str:
        """A text of this many sentences with words of the pool."""
        filled = [self.fill(self.rng.choice(self.sentences), pool) for _ in range(sentences)]
        text = " ".join(filled)
        if self.rng.random() < 0.1:
            text = text.replace(".", "", 1)
        return text.lower() if self.rng.random() < 0.05 else text

    def prose_pair(self, nugget: bool, shares: Sequence[float] = SHARES) -> tuple[str, str]:
        """An entry, and a passage that covers a random share of it."""
        rng = self.rng
        invented = rng.choice((0.1, 0.3, 0.6))
        subject = [self.content(invented) for _ in range(rng.choice((2, 3, 4, 5, 6)))]
        entry = self.entry(subject, nugget)
        words = list(dict.fromkeys(x for x in WORD.findall(entry) if WORTH.get(tk.stem(x.lower()), 1) >= 0.4))
        share = rng.choice(shares)
        kept = [x for x in words if rng.random() < share]
        missing = [x for x in words if x not in kept]
        pool = [self.content(invented) for _ in range(rng.randint(10, 36))]
        pool += rng.choices(self.generic, k=rng.randint(0, 5)) + rng.choices(FILLERS, k=2)
        if missing and rng.random() < 0.4:
            pool += [self.lookalike(rng.choice(missing).lower()) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.35:  # put the words close together, as in a passage that answers the question
            where = [self.fill(rng.choice(self.sentences), kept * 2 + pool[:4]) if kept else ""]
            text = self.prose(pool + kept, rng.randint(1, 6))
            return entry, " ".join(x for x in ([*where, text] if rng.random() < 0.5 else [text, *where]) if x)
        return entry, self.prose(pool + kept * rng.randint(1, 3), rng.randint(2, 8))

    def fact_pair(self) -> tuple[str, str, str, int]:
        """A question, a passage with distractors (same entity or attribute), the answer and the rating."""
        rng = self.rng
        _, statement, question = rng.choice(self.facts)
        entity, other = self.name(), self.name()

        def value() -> str:
            return " ".join(self.content(0.6) for _ in range(rng.choice((1, 1, 2, 3))))

        def number() -> str:
            return str(
                rng.choice(
                    (
                        rng.randint(2, 99),
                        rng.randint(100, 2030),
                        f"{rng.randint(1, 99)},{rng.randint(100, 999)}",
                    )
                )
            )

        def state(template: str, who: str) -> tuple[str, str]:
            answer = number() if "{n}" in template else value() if rng.random() < 0.6 else self.name()
            text = template.replace("{e}", who).replace("{v}", answer).replace("{n}", answer)
            if text.startswith(answer):
                answer = answer[:1].upper() + answer[1:]
            return text[:1].upper() + text[1:], answer

        sentences = [state(rng.choice(self.facts)[1], other)[0] for _ in range(rng.randint(0, 3))]
        kind = rng.choice(
            ("stated", "stated", "stated", "other entity", "other attribute", "neither", "negated")
        )
        answer, rating = "unanswerable", 0
        if kind == "stated":
            text, answer = state(statement, entity)
            sentences.append(text)
            rating = 5
        elif kind == "other entity":
            sentences.append(state(statement, other)[0])
            rating = 1
        elif kind == "other attribute":
            sentences.append(state(rng.choice([f for f in self.facts if f[1] != statement])[1], entity)[0])
            rating = 2
        elif kind == "negated":
            sentences.append(
                f"Nobody knows {question[:1].lower()}{question[1:].rstrip('?')}.".replace(
                    " is ", " might be "
                )
            )
            rating = 2
        sentences += [
            self.fill(rng.choice(self.sentences), [self.content() for _ in range(9)])
            for _ in range(rng.randint(1, 4))
        ]
        rng.shuffle(sentences)
        return question.replace("{e}", entity), " ".join(sentences).replace("{e}", entity), answer, rating

    def example(self) -> Example:
        """An example of a random kind, in proportions that reflect how the grader is used."""
        draw = self.rng.random()
        if draw < 0.16:
            return self._fact_example()
        if draw < 0.19:
            return self._verify_example()
        marks = (tk.RATE_QUESTION, tk.RATE_NUGGET, tk.ANSWER, tk.EXTRACT, tk.YES_NO, tk.RATE_THREE, tk.ASSIGN)
        mark = self.rng.choices(marks, (44, 16, 14, 12, 10, 4, 24))[0]
        if mark == tk.ASSIGN:
            return self._assign_example()
        entry, passage = self.prose_pair(nugget=mark in (tk.RATE_NUGGET, tk.EXTRACT))
        covered = coverage(entry, passage)
        reply = covered.clause if covered.clause_share >= 0.2 else "unanswerable"
        return Example(
            mark,
            entry,
            passage,
            self._reply(mark, reply, covered.rating),
            covered.rating,
            covered.matched,
            covered.clause,
        )

    def _assign_example(self) -> Example:
        """A nugget assignment; answers are longer than passages, and contain more nuggets completely."""
        entry, passage = self.prose_pair(nugget=True, shares=(0.0, 0.3, 0.5, 0.6, 0.8, 0.9, 1.0, 1.0, 1.0))
        if self.rng.random() < 0.6:
            more = self.prose([self.content(0.2) for _ in range(20)], self.rng.randint(2, 12))
            passage = " ".join(self.rng.sample((passage, more), 2))
        covered = coverage(entry, passage)
        return Example(
            tk.ASSIGN, entry, passage, covered.assignment, covered.rating, covered.matched, covered.clause
        )

    def _reply(self, mark: str, answer: str, rating: int) -> str:
        if mark in (tk.ANSWER, tk.EXTRACT):
            return answer
        if mark == tk.YES_NO:
            return "Yes" if rating >= 3 else "No"
        return str(min(2, rating // 2)) if mark == tk.RATE_THREE else str(rating)

    def _fact_example(self) -> Example:
        entry, passage, answer, rating = self.fact_pair()
        mark = self.rng.choices((tk.RATE_QUESTION, tk.ANSWER, tk.YES_NO), (40, 50, 10))[0]
        covered = coverage(entry, passage)
        clause = next((c for c in split_clauses(passage) if answer in c), covered.clause)
        return Example(
            mark, entry, passage, self._reply(mark, answer, rating), rating, covered.matched, clause
        )

    def _verify_example(self) -> Example:
        """A comparison of an answer with a gold answer; inflected words are equal, other words are not."""
        rng = self.rng
        gold = [self.content(0.5) for _ in range(rng.choice((1, 1, 2, 3)))]
        answer = [self.inflect(x) if rng.random() < 0.5 else x for x in gold]
        same = rng.random() < 0.5
        if not same:
            answer = [self.content(0.5) if rng.random() < 0.7 else x for x in answer[:-1]] + [
                self.content(0.5)
            ]
        if rng.random() < 0.4:
            answer = [*rng.choice((["the"], ["it", "is"], ["a"], ["about"])), *answer]
        question = self.entry([self.content()], nugget=False)
        gold_text, answer_text = " ".join(gold), " ".join(answer)
        covered = coverage(gold_text, answer_text)
        passage = f'"{gold_text}"{tk.CONTEXT} "{answer_text}"'
        return Example(
            tk.VERIFY, f'"{question}"', passage, "Yes" if same else "No", 5 * same, covered.matched
        )
