"""Labels of nuggets: from the grades of a passage, of an answer in several passages, in the bank's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from exam_pp.data_model import AnyGrades
from exam_pp.metrics.nuggets import is_label
from exam_pp.prompts import PROMPTS
from exam_pp.test_bank import ASSIGNMENT_RATINGS, Entry

Labels = dict[str, list[str | None]]
"""Nugget id to its labels, one for each copy of the nugget in the bank; None is ungraded."""

_LABELS = {rating: label for label, rating in ASSIGNMENT_RATINGS.items()}


def assigned_labels(grades: AnyGrades) -> list[tuple[str, str | None]] | None:
    """Pairs of nugget id and label of grades that assign nuggets; None for other grades.

    An unknown label is skipped; for a duplicate nugget it is None, so that the labels of the copies stay in
    order. Ratings of an assignment prompt without labels are converted to labels, because corrections of
    reviewers are stored as ratings.
    """
    pairs = grades.nugget_labels()
    if pairs is not None:
        times = Counter(nugget_id for nugget_id, _ in pairs)
        return [
            (nugget_id, label if is_label(label) else None)
            for nugget_id, label in pairs
            if is_label(label) or times[nugget_id] > 1
        ]
    prompt = PROMPTS.find(grades.prompt_class)
    if prompt is None or prompt.kind != "assignment":
        return None
    return [(entry, _LABELS[rating]) for entry, rating in grades.entry_ratings().items() if rating in _LABELS]


def better_labels(left: Labels, right: Labels) -> Labels:
    """The better label of each nugget, copy by copy, for an answer in several passages."""
    merged = dict(left)
    for nugget_id, labels in right.items():
        merged[nugget_id] = [
            max(pair, key=_rating) for pair in zip_longest(merged.get(nugget_id, ()), labels)
        ]
    return merged


def _rating(label: str | None) -> int:
    return -1 if label is None else ASSIGNMENT_RATINGS[label]


def labels_in_order(entries: Sequence[Entry], labels: Labels) -> list[str | None]:
    """The label of every entry, or None; the n-th copy of an entry has the n-th label, or the last."""
    occurrences: dict[str, int] = {}
    ordered: list[str | None] = []
    for entry in entries:
        of_entry = labels.get(entry.entry_id, ())
        occurrence = occurrences[entry.entry_id] = occurrences.get(entry.entry_id, -1) + 1
        ordered.append(of_entry[min(occurrence, len(of_entry) - 1)] if of_entry else None)
    return ordered
