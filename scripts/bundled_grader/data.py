"""Generated training examples: passages, exam questions and key facts, with ratings and answers.

Two kinds of example. *Prose*: a passage whose content words are drawn from the listed vocabulary and from
invented words, and an entry some of whose content words were placed into the passage, often inflected; the
rating is the graded coverage of the entry by the passage, the answer the clause that covers it best. *Facts*:
sentences that state an attribute of an entity, with distractors (another entity, another attribute, negation);
the rating says whether the fact asked for is stated, the answer is the value. Invented words are made anew for
every example, so nothing can be memorised and only matching pays.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass

from . import tokenizer as tk
from . import words as w

WORD = re.compile(r"[^\W\d_]+|\d+")
CLAUSE_END = re.compile(r"(?<=[.!?;])\s+")
CUTS = (0.15, 0.27, 0.40, 0.55, 0.70)
MAX_CLAUSE_WORDS = 22
PROMPTS: dict[str, str] = {
    tk.RATE_QUESTION: "rate_question",
    tk.RATE_NUGGET: "rate_nugget",
    tk.ANSWER: "answer",
    tk.EXTRACT: "extract",
    tk.YES_NO: "yes_no",
    tk.RATE_THREE: "rate_three",
    tk.VERIFY: "verify",
}


@dataclass(frozen=True)
class Example:
    """One prompt in normalised form, with what a grader should reply."""

    mark: str
    entry: str
    passage: str
    reply: str
    rating: int
    matched: frozenset[str]  # stems of the entry found in the passage: a training aid, not part of the prompt
    clause: str = ""  # the clause of the passage that matters: a training aid

    @property
    def source(self) -> str:
        """The prompt as the normalizer leaves it."""
        separator = tk.GOLD if self.mark == tk.VERIFY else tk.CONTEXT
        return f"{self.mark} {self.entry}{separator} {self.passage}"


def _weights() -> dict[str, float]:
    """What a match of each stem is worth: little for function words, some for the words of any question."""
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


def split_clauses(passage: str) -> list[str]:
    """Sentences; long ones are cut at commas, and at the limit where there is none."""
    found: list[str] = []
    for sentence in CLAUSE_END.split(passage):
        current: list[str] = []
        for part in re.split(r"(?<=[,:])\s+", sentence):
            tokens = part.split()
            if current and len(current) + len(tokens) > MAX_CLAUSE_WORDS:
                found.append(" ".join(current))
                current = []
            current += tokens
            while len(current) > MAX_CLAUSE_WORDS + 6:
                found.append(" ".join(current[:MAX_CLAUSE_WORDS]))
                current = current[MAX_CLAUSE_WORDS:]
        if current:
            found.append(" ".join(current))
    return found


def coverage(entry: str, passage: str) -> Coverage:
    """Weighted share of the entry's words in the passage, with credit for shared beginnings and word pairs."""
    order = stems(entry)
    worth = {x: WORTH.get(x, 1.0) for x in order}
    total = sum(worth.values()) or 1.0
    clauses = split_clauses(passage)
    per_clause = [stems(x) for x in clauses]
    text = [x for clause in per_clause for x in clause]
    present, pairs = set(text), set(zip(text, text[1:], strict=False))
    heads = {x[:5] for x in present if len(x) > 5}
    matched = {x for x in worth if x in present}
    near = sum(v for x, v in worth.items() if x not in matched and len(x) >= 5 and x[:5] in heads)
    shares = [sum(worth[x] for x in set(c) & matched) / total for c in per_clause]
    best = max(range(len(shares)), key=lambda i: (shares[i], -i))
    wanted = [p for p in zip(order, order[1:], strict=False) if worth[p[0]] >= 0.4 and worth[p[1]] >= 0.4]
    score = sum(worth[x] for x in matched) / total + 0.7 * near / total
    score += 0.15 * sum(p in pairs for p in wanted) / max(2, len(wanted)) + 0.2 * shares[best] - 0.05
    score += 0.05 * math.log((len(text) + 5) / 50)
    return Coverage(score, frozenset(matched), clauses[best], shares[best])
