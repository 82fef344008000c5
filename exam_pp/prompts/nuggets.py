"""AutoNuggetizer prompts: nuggets from passages, their importance, and their assignment to answers.

The text is that of Figures 3 to 5 of the paper, including the typo "either a vital or okay". New lines of a
figure are blank lines here, and its curly quotes are straight ones. Lists are filled in as JSON, which is
also valid Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from exam_pp.banks import ASSIGNMENT_LABELS, LABEL_RATINGS, Entry
from exam_pp.prompts.base import Prompt, ReadingRule, ReadReply, Unparsed, register
from exam_pp.prompts.entry_list import plain_label, read_entries
from exam_pp.prompts.near_json import json_pieces, json_values
from exam_pp.prompts.reading import NOT_A_LABEL

LIST_SLOT = "nuggets"
"""The placeholder for a list of nuggets."""
PER_CALL = 10
"""Maximal number of nuggets that a call labels, and of segments in a window."""

IMPORTANCE_LABELS = ("okay", "vital")
THREE_LABELS = ASSIGNMENT_LABELS
TWO_LABELS = ("not_support", "support")

_PAPER = (
    "Pradeep et al.: Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the AutoNuggetizer "
    "Framework, 2024"
)
_ADAPTED = "exam_pp, 2026; after "


def _read_nuggets(reply: str, _entry: Entry | None, _unparsed: Unparsed) -> ReadReply:
    nuggets = read_entries(reply, "nuggets")
    return ReadReply(None, bool(nuggets), reason=None if nuggets else "the reply is not a list of nuggets")


def _read_importance(reply: str, _entry: Entry | None, _unparsed: Unparsed) -> ReadReply:
    label = plain_label(reply)
    known = label in IMPORTANCE_LABELS
    return ReadReply(None, label == "vital", reason=None if known else NOT_A_LABEL)


def assignment_reader(labels: tuple[str, ...]) -> ReadingRule:
    """The reading rule of a prompt that asks for these labels, lowest first."""
    return _labels_reader("assignment", plain_label, {label: label for label in labels}, "")


def json_reader(key: str, labels: Mapping[str, Sequence[str | bool]]) -> ReadingRule:
    """The reading rule of a prompt that asks for JSON with a verdict: label to the values that mean it."""

    def value_of(reply: str) -> str:
        objects = [piece for piece in json_pieces(reply) if isinstance(piece, dict) and key in piece]
        near = objects or [value for value in json_values(reply) if isinstance(value, dict) and key in value]
        return plain_label(str(near[-1][key])) if near else plain_label(reply)

    meanings = {plain_label(str(word)): label for label, words in labels.items() for word in words}
    meanings |= {label: label for label in labels}
    return _labels_reader("json", value_of, meanings, f"the key {key!r} of the last JSON object: ")


def _labels_reader(
    name: str, value_of: Callable[[str], str], meanings: Mapping[str, str], where: str
) -> ReadingRule:
    def read(reply: str, _entry: Entry | None, _unparsed: Unparsed) -> ReadReply:
        label = meanings.get(value_of(reply))
        if label is None:
            return ReadReply(None, False, reason=NOT_A_LABEL)
        return ReadReply(LABEL_RATINGS[label], LABEL_RATINGS[label] > 0)

    ratings = ", ".join(f"{word} is {LABEL_RATINGS[label]}" for word, label in reversed([*meanings.items()]))
    about = f"{where}{ratings}; a nugget with any other label stays ungraded"
    return ReadingRule(name, about, read, whole_reply=name == "json")


NUGGET_LIST = ReadingRule("nuggets", "as a list of nuggets: Python, JSON, or lines", _read_nuggets)
IMPORTANCE = ReadingRule(
    "importance", "vital or okay; a nugget with any other label has no importance", _read_importance
)

NUGGET_CREATION = Prompt(
    name="NuggetCreation",
    short="nugget-creation",
    kind="nuggetize",
    system=(
        "You are NuggetizeLLM, an intelligent assistant that can update a list of atomic nuggets to best "
        "provide all the information required for the query."
    ),
    template=(
        "Update the list of atomic nuggets of information (1-12 words), if needed, so they best provide the "
        "information required for the query. Leverage only the initial list of nuggets (if exists) and the "
        "provided context (this is an iterative process). Return only the final list of all nuggets in a "
        "Pythonic list format (even if no updates). Make sure there is no redundant information. Ensure the "
        "updated nugget list has at most {count} nuggets (can be less), keeping only the most vital ones. "
        "Order them in decreasing order of importance. Prefer nuggets that provide more interesting "
        "information.\n\nSearch Query: {query}\n\nContext:\n\n{context}\n\nSearch Query: {query}\n\n"
        "Initial Nugget List: {nuggets}\n\nInitial Nugget List Length: {length}\n\n"
        "Only update the list of atomic nuggets (if needed, else return as is). Do not explain. Always "
        'answer in short nuggets (not questions). List in the form ["a", "b", ...] and a and b are strings '
        'with no mention of ".\n\nUpdated Nugget List:'
    ),
    parse=NUGGET_LIST,
    style="Update the list of atomic nuggets of information",
    cite=f"{_PAPER}, Figure 3",
)
NUGGET_IMPORTANCE = Prompt(
    name="NuggetImportance",
    short="nugget-importance",
    kind="nuggetize",
    system=(
        "You are NuggetizeScoreLLM, an intelligent assistant that can label a list of atomic nuggets based "
        "on their importance for a given search query."
    ),
    template=(
        "Based on the query, label each of the {count} nuggets either a vital or okay based on the following "
        'criteria. Vital nuggets represent concepts that must be present in a "good" answer; on the other '
        "hand, okay nuggets contribute worthwhile information about the target but are not essential. Return "
        "the list of labels in a Pythonic list format (type: List[str]). The list should be in the same "
        "order as the input nuggets. Make sure to provide a label for each nugget.\n\n"
        "Search Query: {query}\n\nNugget List: {nuggets}\n\n"
        "Only return the list of labels (List[str]). Do not explain.\n\nLabels:"
    ),
    parse=IMPORTANCE,
    choices=IMPORTANCE_LABELS,
    style="Based on the query, label each of the nuggets either a vital or okay",
    cite=f"{_PAPER}, Figure 4",
)


def _listwise(name: str, short: str, labels: tuple[str, ...], criteria: str, cite: str) -> Prompt:
    return Prompt(
        name=name,
        short=short,
        kind="assignment",
        system=(
            "You are NuggetizeAssignerLLM, an intelligent assistant that can label a list of atomic nuggets "
            "based on if they are captured by a given passage."
        ),
        template=(
            f"Based on the query and passage, label each of the {{count}} nuggets either as {criteria} "
            "Return the list of labels in a Pythonic list format (type: List[str]). The list should be in "
            "the same order as the input nuggets. Make sure to provide a label for each nugget.\n\n"
            "Search Query: {query}\n\nPassage: {context}\n\nNugget List: {nuggets}\n\n"
            "Only return the list of labels (List[str]). Do not explain.\n\nLabels:"
        ),
        parse=assignment_reader(labels),
        max_rating=LABEL_RATINGS["support"],
        choices=labels,
        style="Based on the query and passage, label each of the nuggets",
        cite=cite,
    )


_CRITERIA = (
    "support, partial_support, or not_support using the following criteria. A nugget that is fully captured "
    "in the passage should be labeled as support. A nugget that is partially captured in the passage should "
    "be labeled as partial_support. If the nugget is not captured at all, label it as not_support."
)
NUGGET_ASSIGNMENT = _listwise(
    "NuggetAssignment", "nugget-assignment", THREE_LABELS, _CRITERIA, f"{_PAPER}, Figure 5"
)
NUGGET_ASSIGNMENT_2 = _listwise(
    "NuggetAssignment2",
    "nugget-assignment-2",
    TWO_LABELS,
    "support or not_support using the following criteria. A nugget that is fully captured in the passage "
    "should be labeled as support. Otherwise, label it as not_support.",
    f"{_ADAPTED}{_PAPER}, Figure 5",
)
NUGGET_ASSIGNMENT_POINTWISE = Prompt(
    name="NuggetAssignmentPointwise",
    short="nugget-assignment-pointwise",
    kind="assignment",
    template=(
        f"Based on the query and passage, label the nugget either as {_CRITERIA} Only return the label. Do "
        "not explain.\nSearch Query: {query}\nNugget: {nugget}\nPassage: {context}\nLabel:"
    ),
    parse=assignment_reader(THREE_LABELS),
    max_rating=LABEL_RATINGS["support"],
    choices=THREE_LABELS,
    style="Based on the query and passage, label the nugget",
    cite=f"{_ADAPTED}{_PAPER}, Figure 5",
)
"""One nugget in a call, with the likelihoods of the labels, for models with a short context."""

LABELS_REPAIR = Prompt(
    name="NuggetLabelsRepair",
    short="nugget-labels-repair",
    kind="nuggetize",
    template=(
        "That is not a list of {count} labels, each of them {labels}. Return nothing but the list of labels "
        "(List[str]), one for each of the {count} nuggets, in the order of the nuggets."
    ),
    parse=ReadingRule("labels", "as the prompt that it repairs", _read_importance),
    style="That is not a list of labels",
    cite="exam_pp, 2026",
)
"""The prompt that follows a list of the wrong length or with unknown labels."""

ASSIGNMENT_PROMPTS = (NUGGET_ASSIGNMENT, NUGGET_ASSIGNMENT_2, NUGGET_ASSIGNMENT_POINTWISE)
register((NUGGET_CREATION, NUGGET_IMPORTANCE, LABELS_REPAIR, *ASSIGNMENT_PROMPTS))


def is_listwise(prompt: Prompt) -> bool:
    """Whether the prompt contains a list of nuggets, for which the model needs a long context."""
    return LIST_SLOT in prompt.slots
