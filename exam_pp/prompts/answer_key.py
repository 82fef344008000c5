"""Comparison of extracted answers with gold answers by their words (EXAM++, 2024, section 4.2.1)."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from exam_pp.banks import Entry
from exam_pp.prompts.base import AnswerMatch, Prompt, ReadingRule, ReadReply, Unparsed
from exam_pp.prompts.markup import without_markup
from exam_pp.prompts.reading import (
    NOT_CHECKABLE,
    for_extractive_model,
    is_ill_formed,
    is_unanswerable,
)
from exam_pp.text.stemming import content_stems, tokens

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
    return " ".join(content_stems(answer, whole=True))


def is_checkable(gold: str) -> bool:
    """Whether a gold answer can be compared with text; "all of the above" and "both a and b" cannot."""
    text = " ".join(gold.lower().split()).strip(_STRIP)
    return bool(text) and not _NOT_CHECKABLE.fullmatch(text)


def gold_answers(entry: Entry, match: AnswerMatch) -> list[str] | None:
    """The gold answers that a rule compares with replies; None if the rule cannot use any of them.

    ``paper`` compares every gold answer, ``strict`` none that refers to other choices, such as "all of the
    above". An empty list means that the correct answer is "unanswerable". Raises ValueError for an entry
    without ``gold_answers``.
    """
    if entry.gold_answers is None:
        raise ValueError(f"{entry.entry_id} has no gold_answers")
    golds = [gold for gold in entry.gold_answers if gold.strip() and (match == "paper" or is_checkable(gold))]
    return golds if golds or not entry.gold_answers else None


def matches(answer: str, gold: str, match: AnswerMatch = "paper") -> bool:
    """Whether the words of an answer match a gold answer.

    The edit distance of the normalised answers must be below 20 % of the longer answer (EXAM++, 2024, section
    4.2.1). With ``strict``, numbers in both answers must also be equal: by the distance alone, 3.5 km matches
    35 km. A gold answer "true" or "yes" then also accepts yes, correct and right; "false" or "no" accepts no,
    incorrect and wrong.
    """
    if match == "paper":
        return _near(*_comparable(answer, gold))
    truth = _TRUTH.get(gold.lower().strip(_STRIP))
    if truth is not None:
        # Normalisation would drop the "not" of "not true" as a stop word.
        plain = answer.lower().strip(_STRIP)
        return plain in truth or (not _NEGATIONS.intersection(tokens(plain)) and _equal_numbers(plain, gold))
    return _equal_numbers(answer, gold)


def _comparable(answer: str, gold: str) -> tuple[str, str]:
    """Both answers normalised; only lower-cased if one of them consists of stop words."""
    left, right = _normalise(answer), _normalise(gold)
    if left and right:
        return left, right
    return answer.strip().lower(), gold.strip().lower()


def _near(left: str, right: str) -> bool:
    return Levenshtein.distance(left, right) < MAX_DISTANCE * max(len(left), len(right))


def _equal_numbers(answer: str, gold: str) -> bool:
    """Whether two answers are near, and have the same numbers if both have numbers."""
    left, right = _comparable(answer, gold)
    left_numbers, right_numbers = _numbers(left), _numbers(right)
    if left != right and left_numbers and right_numbers and left_numbers != right_numbers:
        return False
    return _near(left, right)


def _numbers(text: str) -> list[str]:
    """The sorted numbers of a text, without thousands separators."""
    numbers = _NUMBER.findall(text)
    return sorted(n.replace(",", "") if _THOUSANDS.fullmatch(n) else n for n in numbers)


_normalise = lru_cache(maxsize=65_536)(normalise)


def is_correct(answer: str, golds: Sequence[str], match: AnswerMatch = "paper") -> bool:
    """Whether an answer is correct; without gold answers, "unanswerable" is correct.

    With gold answers, expressions of unanswerability and ill-formed answers (empty, or a lone choice label)
    are wrong. With ``strict``, they are correct if they match a gold answer "no" or "false". The answer is
    compared with and without its markup.
    """
    plain = without_markup(answer)
    return _is_correct(answer, golds, match) or (plain is not answer and _is_correct(plain, golds, match))


def _is_correct(answer: str, golds: Sequence[str], match: AnswerMatch) -> bool:
    if not golds:
        return is_unanswerable(answer)
    if match == "strict" and any(
        gold.lower().strip(_STRIP) in _TRUTH and matches(answer, gold, match) for gold in golds
    ):
        return True
    if is_unanswerable(answer) or is_ill_formed(answer):
        return False
    return any(matches(answer, gold, match) for gold in golds)


def _rule(match: AnswerMatch, description: str) -> ReadingRule:
    def read(reply: str, entry: Entry | None, _unparsed: Unparsed) -> ReadReply:
        golds = None if entry is None else gold_answers(entry, match)
        if golds is None:
            return ReadReply(None, False, reason=NOT_CHECKABLE)
        return ReadReply(None, is_correct(reply, golds, match))

    return ReadingRule("answer-key", description, read)


_DESCRIPTION = (
    "1 if the reply matches a gold answer of the bank: lower-cased, without stop words, Porter-stemmed, edit "
    'distance below 20 %; else 0 (with `gold_answers: []`, 1 for "unanswerable")'
)
ANSWER_KEY_RULES: Mapping[AnswerMatch, ReadingRule] = {
    "paper": _rule("paper", _DESCRIPTION),
    "strict": _rule("strict", f"{_DESCRIPTION}; numbers are equal, and true-or-false answers have synonyms"),
}
"""The rule of the paper (EXAM++, 2024, section 4.2.1), and a stricter one, by the value of --answer-match."""
EXTRACTIVE_RULES: Mapping[AnswerMatch, ReadingRule] = {
    match: for_extractive_model(rule) for match, rule in ANSWER_KEY_RULES.items()
}
"""The same rules for extractive models."""

ANSWER_KEY = ANSWER_KEY_RULES["paper"]


def with_answer_match(prompt: Prompt, match: AnswerMatch) -> Prompt:
    """The prompt with another rule for the comparison with gold answers; other prompts are unchanged."""
    for rules in (ANSWER_KEY_RULES, EXTRACTIVE_RULES):
        if any(prompt.parse is rule for rule in rules.values()):
            return replace(prompt, parse=rules[match], answer_match=match)
    return prompt
