"""Prompts of your own from TOML files, and prompts of exam_pp in the form of such files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from exam_pp.banks import CONTRADICT, CRITERION_LABELS, LABEL_RATINGS
from exam_pp.data_model import SUPPORT_LABELS
from exam_pp.errors import DataError, SelectionError
from exam_pp.plugins import offered
from exam_pp.prompts.answer_key import ANSWER_KEY, EXTRACTIVE_RULES
from exam_pp.prompts.answers import ANSWER_TEXT
from exam_pp.prompts.base import CLAIM_SLOT, CUT_SLOT, DOCUMENTS_SLOT, PROMPTS, Prompt, Reader, ReadingRule
from exam_pp.prompts.generation import EXAMPLES_SLOT, FACET_SLOT, LIST_RULES
from exam_pp.prompts.nuggets import (
    IMPORTANCE,
    IMPORTANCE_LABELS,
    LIST_SLOT,
    NUGGET_LIST,
    THREE_LABELS,
    assignment_reader,
    json_reader,
)
from exam_pp.prompts.reading import (
    ANY_ANSWER,
    EXTRACTION,
    EXTRACTIVE_EXTRACTION,
    SUPPORT,
    YES_NO,
    final_score_reader,
    number_reader,
    rating_reader,
    yes_no_reader,
)
from exam_pp.prompts.reasoner import RELEVANCE_LABEL, RELEVANCE_LABELS
from exam_pp.prompts.requirements import ENTRY_SLOTS
from exam_pp.text.toml import parse_toml
from exam_pp.text.wording import did_you_mean

SCALED: dict[str, Callable[[int, tuple[str, ...]], ReadingRule]] = {
    "rating": rating_reader,
    "number": number_reader,
    "final-score": final_score_reader,
}
"""Reading rules that need a scale."""
_UNSCALED: dict[str, tuple[ReadingRule, tuple[str, ...]]] = {
    YES_NO.name: (YES_NO, ("No", "Yes")),  # the position of a label is its rating, so No comes first
    IMPORTANCE.name: (IMPORTANCE, IMPORTANCE_LABELS),
    SUPPORT.name: (SUPPORT, SUPPORT_LABELS),
    RELEVANCE_LABEL.name: (RELEVANCE_LABEL, RELEVANCE_LABELS),
    **{
        rule.name: (rule, ())
        for rule in (
            EXTRACTION,
            ANY_ANSWER,
            ANSWER_KEY,
            EXTRACTIVE_EXTRACTION,
            EXTRACTIVE_RULES["paper"],
            LIST_RULES["questions"],
            LIST_RULES["nuggets"],
            ANSWER_TEXT,
        )
    },
}
"""Other reading rules with their labels, lowest first, but for those of :data:`_ASSIGNMENT`."""
_ASSIGNMENT, _JSON = assignment_reader(THREE_LABELS).name, "json"

_OF_ENTRIES = (
    "rating",
    "number",
    "final-score",
    "yes-no",
    "extraction",
    "any-answer",
    "extractive-extraction",
)
_READINGS: dict[str, tuple[str, ...]] = {
    "question": (*_OF_ENTRIES, "answer-key", "extractive-answer-key"),
    "nugget": _OF_ENTRIES,
    "direct": ("number", "final-score", "yes-no", RELEVANCE_LABEL.name),
    "verification": ("yes-no",),
    "claim": ("yes-no", "number", "final-score"),
    "support": (SUPPORT.name,),
    "assignment": (_ASSIGNMENT, _JSON),
    "generate": ("questions", "nuggets"),
    "query": ("questions",),
    "nuggetize": ("nuggets", "importance"),
    "answer": (ANSWER_TEXT.name,),
}
"""The reading rules of every kind of prompt."""


class _Slots(NamedTuple):
    """The placeholders that a template must have, and those that it can have."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


_SLOTS: dict[str, _Slots] = {
    "question": _Slots(("question", CUT_SLOT), ("query",)),
    "nugget": _Slots(("nugget", CUT_SLOT), ("query",)),
    "direct": _Slots(("query", CUT_SLOT)),
    "verification": _Slots(("question", "correct_answer", "answer")),
    "claim": _Slots((CLAIM_SLOT, CUT_SLOT)),
    "support": _Slots((CLAIM_SLOT, CUT_SLOT)),
    "assignment": _Slots((CUT_SLOT,), (LIST_SLOT, "nugget", "query", "count", *ENTRY_SLOTS)),
    "generate": _Slots(("query",), (FACET_SLOT, "count")),
    "query": _Slots((CUT_SLOT,), (EXAMPLES_SLOT, "count")),
    "nuggetize": _Slots(("query", CUT_SLOT, LIST_SLOT), ("count", "length")),
    "importance": _Slots(("query", LIST_SLOT), ("count",)),
    "answer": _Slots(("query",), (CUT_SLOT,)),
}
"""The placeholders by the kind of prompt, or by its reading rule if the kind has several shapes."""
_REPAIR_SLOTS: Mapping[str, tuple[str, ...]] = {
    "generate": (),
    "query": (),
    "assignment": ("count", "labels"),
    "importance": ("count", "labels"),
}
"""The placeholders of ``repair``, by kind or reading rule; other prompts are not repeated."""
for _kind, _rules, *_slots in offered("prompt files"):
    # A plug-in offers a kind: its name, its reading rules with their labels, and its placeholders.
    _UNSCALED |= _rules
    _READINGS[_kind] = tuple(_rules)
    _SLOTS[_kind] = _Slots(*_slots)
_EXAMPLES = "examples"
_BRACES_HINT = "For a literal brace write {{ or }}."
_IN_BRACES = re.compile(r"\{([^\W\d]\w*)\}")


class PromptFile(BaseModel):
    """The keys of a prompt file. ``scale`` is the highest rating; the lowest is 0.

    The template is ``template``, or the content of ``template_file``, whose path is relative to the prompt
    file; likewise ``system`` and ``system_file``. ``rating_names`` are further words before the number of a
    rating in replies, such as "Urteil". ``placeholders`` maps a placeholder of exam_pp to the text
    that stands for it in the template, such as ``{passage}`` for ``context``. ``key`` and ``labels`` are for
    replies in JSON: the key of the verdict, and the values that mean each label of exam_pp.
    """

    model_config = ConfigDict(extra="forbid")

    name: StrictStr = Field(min_length=1)
    kind: Literal[tuple(_READINGS)]  # type: ignore[valid-type]
    template: StrictStr | None = Field(default=None, min_length=1)
    template_file: StrictStr | None = Field(default=None, min_length=1)
    system: StrictStr | None = None
    system_file: StrictStr | None = Field(default=None, min_length=1)
    placeholders: dict[str, StrictStr] = Field(default_factory=dict)
    reading: StrictStr | None = None
    scale: StrictInt | None = Field(default=None, ge=1, le=99)
    choices: tuple[StrictStr, ...] | None = None
    key: StrictStr | None = Field(default=None, min_length=1)
    labels: dict[str, list[StrictStr | StrictBool]] = Field(default_factory=dict)
    rating_names: tuple[Annotated[StrictStr, Field(pattern=r"\S")], ...] = ()
    repair: StrictStr = ""
    version: StrictInt = Field(default=1, ge=1)
    cite: StrictStr = "a prompt file"
    example: StrictStr | None = None
    examples: list[dict[str, StrictStr]] = Field(default_factory=list)

    @property
    def shape(self) -> str:
        """The key of the placeholders: the kind, or ``importance``."""
        return "importance" if self.reading == "importance" else self.kind


ReadText = Callable[[str, str], str]
"""Returns the content of a file that a key of a prompt file names; raises DataError if it cannot be read."""


def parse_prompt(text: str, file: str, read: ReadText | None = None) -> Prompt:
    """Parse a prompt from a TOML text; errors name ``file``.

    ``read`` reads the files that the prompt file names. Raises :class:`DataError`, and pydantic's
    ValidationError for keys that are missing, unknown or of the wrong type.
    """
    keys = PromptFile.model_validate(parse_toml(text, file))
    if keys.name in PROMPTS:
        raise DataError(
            f"{keys.name!r} is already the name of another prompt; choose a new one.",
            file=file, field="name",
        )  # fmt: skip
    return prompt_from_keys(keys, file, read)


def prompt_from_keys(keys: PromptFile, file: str | None = None, read: ReadText | None = None) -> Prompt:
    """Make the prompt from validated keys; raises :class:`DataError`, which names ``file``."""
    rule, choices = _reading(keys, file)
    keys = keys.model_copy(update={"template": _template(keys, file, read)})
    template = _with_examples(keys, file).strip("\n")
    _check_template(template, keys, file)
    _check_repair(keys, file)
    key_rules = (ANSWER_KEY, EXTRACTIVE_RULES["paper"])
    return Prompt(
        name=keys.name,
        kind=keys.kind,
        template=template,
        parse=rule,
        cite=keys.cite,
        max_rating=_highest_label(keys.kind, choices) if keys.scale is None else keys.scale,
        choices=choices,
        answer_key=keys.kind == "verification" or any(rule is key_rule for key_rule in key_rules),
        version=keys.version,
        style=template.splitlines()[0],
        system=_system(keys, file, read),
        repair=keys.repair,
        info={} if keys.scale is None else {"max_rating": keys.scale},
        # A part of an answer cannot tell what the answer does.
        whole_answer=bool(choices) and set(choices) <= set(CRITERION_LABELS),
    )


def _template(keys: PromptFile, file: str | None, read: ReadText | None) -> str:
    """The template with the placeholders of exam_pp."""
    text = _text_of(keys, "template", file, read)
    if text is None:
        raise DataError(
            "is missing; write the template, or name its file with 'template_file'.",
            file=file, field="template",
        )  # fmt: skip
    return _renamed(text, keys, file) if keys.placeholders else text


def _text_of(
    keys: PromptFile, key: Literal["template", "system"], file: str | None, read: ReadText | None
) -> str | None:
    """The text of a key, or the stripped content of the file that the key with ``_file`` names."""
    text, name, field = getattr(keys, key), getattr(keys, f"{key}_file"), f"{key}_file"
    if name is None:
        return text  # type: ignore[no-any-return]
    if text is not None:
        raise DataError(f"cannot be combined with {key!r}.", file=file, field=field)
    if read is None:
        raise DataError("cannot be read here; write its text instead.", file=file, field=field)
    content = read(name, field).strip()
    if name.lower().endswith((".yaml", ".yml", ".json", ".toml")):
        raise DataError(
            f"{name} is a file of keys and values, which would be sent as the prompt; copy the text of the "
            f"prompt from it into a text file, or into {key!r}.",
            file=file, field=field,
        )  # fmt: skip
    if content:
        return content
    raise DataError(f"{name} is empty.", file=file, field=field)


def _system(keys: PromptFile, file: str | None, read: ReadText | None) -> str:
    system = _text_of(keys, "system", file, read) or ""
    known = {*_all_slots(keys), _EXAMPLES, *keys.placeholders.values()}
    for match in _IN_BRACES.finditer(system):
        if match[1] in known or match[0] in known:
            raise DataError(
                f"contains {match[0]}, but placeholders are filled in the template only.",
                file=file, field="system" if keys.system_file is None else "system_file",
            )  # fmt: skip
    return system.strip("\n")


def _all_slots(keys: PromptFile) -> tuple[str, ...]:
    slots = _SLOTS[keys.shape]
    return (*slots.required, *slots.optional)


def _renamed(template: str, keys: PromptFile, file: str | None) -> str:
    """The template with exam_pp's placeholders for the texts of ``placeholders``, and escaped braces.

    If all texts are names in braces, as for Python's ``str.format``, doubled braces stand for one brace.
    """
    known = (*_all_slots(keys), _EXAMPLES)
    for slot, text in keys.placeholders.items():
        field = f"placeholders.{slot}"
        if slot not in known:
            names = ", ".join(known)
            raise DataError(
                f"is not a placeholder of a {keys.kind} prompt{_suggest(slot, known)}; use: {names}.",
                file=file, field=field,
            )  # fmt: skip
        if not text or text not in template:
            raise DataError(f"{text!r} does not occur in the template.", file=file, field=field)
    if all(_IN_BRACES.fullmatch(text) for text in keys.placeholders.values()):
        names_of = {text[1:-1]: slot for slot, text in keys.placeholders.items()}
        pieces = _placeholders(template, file, "template")
        return "".join(
            _escaped(literal) + ("" if slot is None else f"{{{names_of.get(slot, slot)}}}")
            for literal, slot in pieces
        )
    slots = {text: slot for slot, text in keys.placeholders.items()}
    longest_first = sorted(slots, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, longest_first))})", template)
    return "".join(f"{{{slots[part]}}}" if part in slots else _escaped(part) for part in parts)


def _reading(keys: PromptFile, file: str | None) -> tuple[Reader, tuple[str, ...]]:
    """The reading rule and the labels of the scale, lowest first."""
    readings = _READINGS[keys.kind]
    known = ", ".join(readings)
    if keys.reading is None:
        raise DataError(f"is missing; use one of: {known}.", file=file, field="reading")
    # The rules of all kinds, so that a rule of another kind is not taken for a typing error.
    everywhere = tuple(dict.fromkeys(name for names in _READINGS.values() for name in names))
    if keys.reading not in everywhere:
        hint = _suggest(keys.reading, everywhere)
        raise DataError(
            f"{keys.reading!r} is not a reading rule{hint}; use one of: {known}.",
            file=file, field="reading",
        )  # fmt: skip
    if keys.reading not in readings:
        raise DataError(
            f"{keys.reading!r} cannot be used for a {keys.kind} prompt; use one of: {known}.",
            file=file, field="reading",
        )  # fmt: skip
    if keys.choices is not None and keys.reading not in (YES_NO.name, _ASSIGNMENT):
        raise DataError(
            f"cannot be used with the reading rule {keys.reading!r}, only with {YES_NO.name!r} and "
            f"{_ASSIGNMENT!r}.",
            file=file, field="choices",
        )  # fmt: skip
    if keys.reading in SCALED:
        if keys.scale is None:
            raise DataError(
                f"is missing; the reading rule {keys.reading!r} needs the highest rating.",
                file=file, field="scale",
            )  # fmt: skip
        # Without choices, a prompt makes its labels from the highest rating.
        return SCALED[keys.reading](keys.scale, keys.rating_names), ()
    for field in ("scale", "rating_names"):
        if getattr(keys, field):
            raise DataError(f"cannot be used with the reading rule {keys.reading!r}.", file=file, field=field)
    if keys.reading == _JSON:
        return _json_reading(keys, file)
    for field in ("key", "labels"):
        if getattr(keys, field):
            raise DataError(f"needs the reading rule {_JSON!r}.", file=file, field=field)
    if keys.reading == _ASSIGNMENT:
        labels = _assignment_labels(keys.choices or THREE_LABELS, file)
        return assignment_reader(labels), labels
    if keys.choices is not None:
        choices = _choices(keys.choices, file)
        return yes_no_reader(choices), choices
    if keys.kind == "nuggetize" and keys.reading == NUGGET_LIST.name:
        return NUGGET_LIST, ()
    return _UNSCALED[keys.reading]


def _json_reading(keys: PromptFile, file: str | None) -> tuple[Reader, tuple[str, ...]]:
    """The reading of a verdict in JSON, and its labels, lowest first."""
    if keys.key is None or len(keys.labels) < 2:
        field, missing = ("key", "the key of the verdict") if keys.key is None else ("labels", "two labels")
        raise DataError(f"is missing; the reading rule {_JSON!r} needs {missing}.", file=file, field=field)
    if unknown := [label for label in keys.labels if label not in LABEL_RATINGS]:
        known = ", ".join(LABEL_RATINGS)
        raise DataError(f"{unknown[0]!r} is not a label; use {known}.", file=file, field="labels")
    labels = tuple(sorted(keys.labels, key=lambda label: LABEL_RATINGS[label]))
    return json_reader(keys.key, keys.labels), labels


def _highest_label(kind: str, choices: tuple[str, ...]) -> int | None:
    """The rating of the highest label, if labels are ratings."""
    if kind == "assignment":
        return LABEL_RATINGS[choices[-1]]
    return len(choices) - 1 if kind == "support" or choices == RELEVANCE_LABELS else None


def _assignment_labels(choices: tuple[str, ...], file: str | None) -> tuple[str, ...]:
    scales = (THREE_LABELS, CRITERION_LABELS, (CONTRADICT, *THREE_LABELS))
    if len(choices) < 2 or not any(
        choices[-1] == scale[-1] and choices == tuple(label for label in scale if label in choices)
        for scale in scales
    ):
        raise DataError(
            f"must be two or three of {', '.join(THREE_LABELS)}, in this order and with the last.",
            file=file, field="choices",
        )  # fmt: skip
    return choices


def _choices(choices: tuple[str, ...], file: str | None) -> tuple[str, str]:
    no, *others = (word.strip() for word in choices)
    if len(others) != 1 or not no or not others[0] or no.lower() == others[0].lower():
        raise DataError("must be two different words, the word for no first.", file=file, field="choices")
    return no, others[0]


def _with_examples(keys: PromptFile, file: str | None) -> str:
    """The template with its few-shot examples, whose default layout is the text after ``{examples}``."""
    template = keys.template or ""
    before, placeholder, after = template.partition(f"{{{_EXAMPLES}}}")
    if not keys.examples:
        if placeholder and "examples" not in keys.model_fields_set:
            raise DataError(
                "contains {examples}, but the key 'examples' is missing; write examples = [] for none.",
                file=file, field="template",
            )  # fmt: skip
        return before + after
    if not placeholder:
        raise DataError("must contain {examples} where the examples belong.", file=file, field="template")
    layout = (keys.example or after.rstrip() + " {answer}").strip("\n")
    texts = [_example(layout, values, number, file) for number, values in enumerate(keys.examples, 1)]
    return before + "\n".join(texts) + after


def _example(layout: str, values: dict[str, str], number: int, file: str | None) -> str:
    parts = []
    for literal, slot in _placeholders(layout, file, "example"):
        parts.append(_escaped(literal))
        if slot is not None:
            if slot not in values:
                raise DataError(f"has no key {slot!r}.", file=file, field=f"examples.{number}")
            parts.append(_escaped(values[slot]))
    return "".join(parts)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _placeholders(template: str, file: str | None, field: str) -> list[tuple[str, str | None]]:
    """Split into pairs of literal text and the placeholder after it, or None.

    Raises :class:`DataError` for other braces.
    """
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        raise DataError(f"{str(error).lower()}. {_BRACES_HINT}", file=file, field=field) from error
    for _, slot, spec, conversion in pieces:
        if slot is not None and (spec or conversion or not slot.isidentifier()):
            raise DataError(f"{{{slot}}} is not a placeholder. {_BRACES_HINT}", file=file, field=field)
    return [(literal, slot) for literal, slot, _, _ in pieces]


def _check_template(template: str, keys: PromptFile, file: str | None) -> None:
    if not template.strip():
        raise DataError("is empty.", file=file, field="template")
    slots = [slot for _, slot in _placeholders(template, file, "template") if slot is not None]
    allowed = _all_slots(keys)
    for slot in slots:
        if slot not in allowed:
            names = ", ".join(f"{{{name}}}" for name in allowed)
            hint = _suggest(slot, allowed)
            raise DataError(
                f"has the unknown placeholder {{{slot}}}{hint}; a {keys.kind} prompt can have {names}.",
                file=file, field="template",
            )  # fmt: skip
    for slot in _SLOTS[keys.shape].required:
        if slot not in slots:
            raise DataError(f"does not contain the placeholder {{{slot}}}.", file=file, field="template")
    for slot in (CUT_SLOT, DOCUMENTS_SLOT):
        if slots.count(slot) > 1:
            raise DataError(
                f"contains the placeholder {{{slot}}} more than once.", file=file, field="template"
            )
    if keys.kind == "assignment" and (LIST_SLOT in slots) == bool({"nugget", "reference"} & {*slots}):
        raise DataError(
            "must contain one of the placeholders {nuggets}, for lists of ten, and {nugget}, for one nugget.",
            file=file, field="template",
        )  # fmt: skip


def _check_repair(keys: PromptFile, file: str | None) -> None:
    if not keys.repair:
        return
    allowed = _REPAIR_SLOTS.get(keys.shape)
    if allowed is None:
        raise DataError(
            "cannot be used here; only prompts for lists of entries or labels are repeated.",
            file=file, field="repair",
        )  # fmt: skip
    for _, slot in _placeholders(keys.repair, file, "repair"):
        if slot is not None and slot not in allowed:
            names = ", ".join(f"{{{name}}}" for name in allowed) or "no placeholders"
            raise DataError(
                f"has the unknown placeholder {{{slot}}}; it can have {names}.", file=file, field="repair"
            )


def prompt_as_file(prompt: Prompt) -> str:
    """The prompt as the text of a prompt file, or of a criteria file, under a new name.

    Raises :class:`SelectionError` for a prompt that no prompt file can describe.
    """
    if prompt.as_file:
        return prompt.as_file
    reading = prompt.parse.name if isinstance(prompt.parse, ReadingRule) else None
    shape = "importance" if reading == "importance" else prompt.kind
    if reading not in _READINGS.get(prompt.kind, ()) or not {*_SLOTS[shape].required} <= {*prompt.slots}:
        raise SelectionError(
            f"The prompt {prompt.name!r} cannot be written as a prompt file. If it follows a reply that "
            "cannot be read, its text is the key 'repair' of a prompt file."
        )
    keys: dict[str, object] = {"name": f"My{prompt.name}", "kind": prompt.kind, "reading": reading}
    if reading in SCALED:
        keys["scale"] = prompt.max_rating
    elif reading in (YES_NO.name, _ASSIGNMENT):
        keys["choices"] = list(prompt.choices)
    keys |= {"version": 1, "cite": f"after {prompt.cite}"}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()]
    texts = {"system": prompt.system, "template": prompt.template, "repair": prompt.repair}
    lines += [f'{key} = """\n{_toml_text(text)}"""' for key, text in texts.items() if text]
    return "\n".join([f"# A copy of the prompt {prompt.name} of exam_pp, to be changed.", *lines, ""])


def _toml_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '""\\"')


def _suggest(name: str, known: tuple[str, ...]) -> str:
    hint = did_you_mean(name, known, begins=False)
    return f" ({hint})" if hint else ""
