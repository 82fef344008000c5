"""Prompts on criteria and on expected answers: what a whole answer does, says, or contradicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from exam_pp.banks import CONTRADICT, CRITERION_LABELS, Entry
from exam_pp.prompts.base import Prompt, register
from exam_pp.prompts.nuggets import THREE_LABELS, assignment_reader

ENTRY_SLOTS: Mapping[str, Callable[[Entry], str]] = {
    "weight": lambda entry: json.dumps(entry.weight),
    "sign": lambda entry: "negative" if entry.weight < 0 else "positive",
    "category": lambda entry: entry.category or "",
    "question": lambda entry: entry.group_text or "",
    "reference": lambda entry: entry.text,
}
"""Placeholders for what a bank says of an entry beside its text; the weight is spelled as in the bank."""

_HOW = (
    'A requirement may describe a mistake: then "met" means that the answer makes it; warning against it, or '
    'quoting it as wrong, is not met. "Such as", "for example" and lists in brackets show what would count; '
    "other cases count too, and not all are needed.\n"
)
_MEANINGS = {
    "met": "met: everything the requirement asks is there.",
    "partly_met": "partly_met: a part of it.",
    "not_met": "not_met: nothing of it, or it is wrong.",
}
_ASK = (
    "An answer was written for this request.\nRequest: {query}\nAnswer: {context}\nRequirement: {nugget}\n"
    "Say whether the answer does what the requirement describes, judging only what the answer itself says. "
    + _HOW
)


def _labels(labels: tuple[str, ...]) -> str:
    return " ".join(_MEANINGS[label] for label in reversed(labels))


def _of_answer(name: str, short: str, labels: tuple[str, ...], template: str) -> Prompt:
    """A prompt on a whole answer, whose style is its first line."""
    return Prompt(
        name=name,
        short=short,
        kind="assignment",
        template=template,
        parse=assignment_reader(labels),
        max_rating=2,
        choices=labels,
        style=template.partition("\n")[0],
        cite="exam_pp, 2026",
        whole_answer=True,
    )


def _criterion(name: str, short: str, labels: tuple[str, ...]) -> Prompt:
    listed = ", ".join(reversed(labels[1:])) + f" or {labels[0]}"
    template = f"{_ASK}{_labels(labels)}\nReply with one label: {listed}.\nLabel:"
    return _of_answer(name, short, labels, template)


def _list(name: str, short: str, labels: tuple[str, ...], request: str, how: str, items: str) -> Prompt:
    template = (
        f"An answer was written for this request.\nRequest: {{query}}\nAnswer: {{context}}\n{request} "
        f"judging only what the answer itself says. {how}\n{items}: {{nuggets}}\nReply with nothing but "
        f"a JSON list of {{count}} labels, in the order of the list.\nLabels:"
    )
    return _of_answer(name, short, labels, template)


CRITERION = _criterion("Criterion", "criterion", CRITERION_LABELS)
CRITERION_2 = _criterion("Criterion2", "criterion-2", (CRITERION_LABELS[0], CRITERION_LABELS[-1]))
CRITERION_LIST = _list(
    "CriterionList",
    "criterion-list",
    CRITERION_LABELS,
    "Label each of the {count} requirements by whether the answer does what it describes,",
    _HOW + _labels(CRITERION_LABELS),
    "Requirements",
)
EXPECTED_ANSWERS = _list(
    "ExpectedAnswers",
    "expected-answers",
    (CONTRADICT, *THREE_LABELS),
    "Label each of the {count} expected statements by what the answer says of it,",
    "support: the answer says it. partial_support: the answer says a part of it. not_support: the answer "
    "does not say it. contradict: the answer says the opposite, even if it also supports it.",
    "Statements",
)
REFERENCE = _of_answer(
    "ReferenceAnswer",
    "reference",
    (CONTRADICT, *THREE_LABELS),
    "A question, a reference answer, and an answer to check.\nQuestion: {query}\n"
    "Reference answer: {nugget}\nAnswer: {context}\n"
    "Compare what the two say; wording, order, length and what the answer says beyond the reference do "
    "not matter. If the reference says that there is no answer, an answer that says so has the same "
    "facts.\nsupport: the answer has all facts of the reference. partial_support: it has some of them. "
    "not_support: it has none of them. contradict: it says something that the reference rules out, even "
    "if it has other facts.\nReply with one label: support, partial_support, not_support or contradict.\n"
    "Label:",
)
register((CRITERION, CRITERION_2, CRITERION_LIST, EXPECTED_ANSWERS, REFERENCE))
