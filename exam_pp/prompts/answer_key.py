"""Comparison of extracted answers with gold answers by their words (EXAM++, 2024, section 4.2.1)."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from exam_pp.prompts.base import ReadingRule, Unparsed, Verdict
from exam_pp.prompts.reading import is_ill_formed, is_unanswerable, without_markup
from exam_pp.stemming import content_stems, tokens
from exam_pp.test_bank import Entry

MAX_DISTANCE = 0.2
"""Answers match if their edit distance is below this share of the longer answer's length."""

YES_WORDS = frozenset({"true", "yes", "correct", "right"})
NO_WORDS = frozenset({"false", "no", "incorrect", "wrong"})
_TRUTH = {"true": YES_WORDS, "yes": YES_WORDS, "false": NO_WORDS, "no": NO_WORDS}
"""Maps a gold answer to the replies that mean the same."""
_NEGATIONS = frozenset({"not", "never", "t"})  # "isn't" is two tokens
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")

_STRIP = string.punctuation + string.whitespace + "“”‘’«»…–—"
_CHOICES = r"(?:above|these|those|them|(?:other )?(?:answers?|choices|options|preceding|following))"
_LETTERS = r"[a-h](?:\s*,\s*[a-h])*\s*,?\s*(?:and|or|&|,)\s*[a-h]"
_NOT_CHECKABLE = re.compile(
    rf"(?:(?:all|both|none|neither|either|any|one|two|three|four|each|most|some|more than one)\s+"
    rf"(?:of\s+)?(?:the\s+)?{_CHOICES}(?:\s+above)?(?:\s+are\s+(?:correct|true|right))?"
    rf"|(?:both\s+)?(?:(?:answers?|choices|options)\s+)?{_LETTERS})"
)


def normalise(answer: str) -> str:
    """Lower-case an answer, drop its stop words, stem the words (Porter), and join them with spaces.

    Numbers stay whole: "3.5 km" does not become "35 km".
    """
    return " ".join(content_stems(answer))


def is_checkable(gold: str) -> bool:
    """Whether a gold answer can be compared with text; "all of the above" and "both a and b" cannot."""
    text = " ".join(gold.lower().split()).strip(_STRIP)
    return bool(text) and not _NOT_CHECKABLE.fullmatch(text)


def checkable_golds(entry: Entry) -> list[str] | None:
    """The gold answers that can be compared with text; None if the entry has only other gold answers.

    An empty list means that the correct answer is "unanswerable". Raises ValueError for an entry without
    ``gold_answers``.
    """
    if entry.gold_answers is None:
        raise ValueError(f"{entry.entry_id} has no gold_answers")
    golds = [gold for gold in entry.gold_answers if is_checkable(gold)]
    return golds if golds or not entry.gold_answers else None


def matches(answer: str, gold: str) -> bool:
    """Whether the words of an answer match a gold answer.

    The edit distance of the normalised answers must be below 20 % of the longer answer. If both contain
    numbers, these must be equal: by the distance alone, 3.5 km would match 35 km. A gold answer "true" or
    "yes" also accepts yes, correct and right; "false" or "no" accepts no, incorrect and wrong.
    """
    truth = _TRUTH.get(gold.lower().strip(_STRIP))
    if truth is not None:
        # Normalisation would drop the "not" of "not true" as a stop word.
        plain = answer.lower().strip(_STRIP)
        return plain in truth or (not _NEGATIONS.intersection(tokens(plain)) and _near(plain, gold))
    return _near(answer, gold)


def _near(answer: str, gold: str) -> bool:
    left, right = _normalise(answer), _normalise(gold)
    if not left or not right:
        left, right = answer.strip().lower(), gold.strip().lower()
    if left == right:
        return bool(left)
    left_numbers, right_numbers = _numbers(left), _numbers(right)
    if left_numbers and right_numbers and left_numbers != right_numbers:
        return False
    return Levenshtein.distance(left, right) < MAX_DISTANCE * max(len(left), len(right))


def _numbers(text: str) -> list[str]:
    """The sorted numbers of a text, without thousands separators."""
    numbers = _NUMBER.findall(text)
    return sorted(n.replace(",", "") if _THOUSANDS.fullmatch(n) else n for n in numbers)


_normalise = lru_cache(maxsize=65_536)(normalise)


def is_correct(answer: str, golds: Sequence[str]) -> bool:
    """Whether an answer is correct; without gold answers, "unanswerable" is correct.

    With gold answers, expressions of unanswerability and ill-formed answers (empty, or a lone choice label)
    are wrong, unless they match a gold answer "no" or "false". The answer is compared with
    and without its markup.
    """
    plain = without_markup(answer)
    return _is_correct(answer, golds) or (plain is not answer and _is_correct(plain, golds))


def _is_correct(answer: str, golds: Sequence[str]) -> bool:
    if not golds:
        return is_unanswerable(answer)
    if any(gold.lower().strip(_STRIP) in _TRUTH and matches(answer, gold) for gold in golds):
        return True
    if is_unanswerable(answer) or is_ill_formed(answer):
        return False
    return any(matches(answer, gold) for gold in golds)


def read_answer(reply: str, entry: Entry | None, _unparsed: Unparsed = "default") -> Verdict:
    """Read a reply to a prompt with answer key: 1 if it matches a gold answer, else 0."""
    golds = None if entry is None else checkable_golds(entry)
    if golds is None:
        return Verdict(None, False, reason=NOT_CHECKABLE)
    return Verdict(None, is_correct(reply, golds))


NOT_CHECKABLE = "the gold answer cannot be compared with text"

ANSWER_KEY = ReadingRule(
    "answer-key",
    "1 if the reply matches a gold answer of the bank: lower-cased, without stop words, Porter-stemmed, edit "
    'distance below 20 %; else 0 (with `gold_answers: []`, 1 for "unanswerable")',
    read_answer,
)
