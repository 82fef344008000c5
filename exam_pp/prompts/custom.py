"""Custom prompts from TOML files: name, kind, template with placeholders, and reading rule."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from string import Formatter
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from exam_pp.errors import DataError
from exam_pp.prompts.answer_key import ANSWER_KEY
from exam_pp.prompts.base import CUT_SLOT, PROMPTS, Prompt, ReadingRule
from exam_pp.prompts.reading import (
    ANY_ANSWER,
    EXTRACTION,
    YES_NO,
    final_score_reader,
    number_reader,
    rating_reader,
    yes_no_reader,
)

SCALED: dict[str, Callable[[int], ReadingRule]] = {
    "rating": rating_reader,
    "number": number_reader,
    "final-score": final_score_reader,
}
"""Reading rules that need a scale."""
UNSCALED = {rule.name: rule for rule in (YES_NO, EXTRACTION, ANY_ANSWER, ANSWER_KEY)}
READINGS = (*SCALED, *UNSCALED)

_KINDS = {
    "rating": ("question", "nugget"),
    "number": ("question", "nugget", "direct"),
    "final-score": ("question", "nugget", "direct"),
    "yes-no": ("question", "nugget", "direct"),
    "extraction": ("question", "nugget"),
    "any-answer": ("question", "nugget"),
    "answer-key": ("question",),
}
_SLOTS = {"question": ("question", "query"), "nugget": ("nugget", "query"), "direct": ("query",)}
_EXAMPLES = "{examples}"
_BRACES_HINT = "For a literal brace write {{ or }}."


class PromptFile(BaseModel):
    """The keys of a prompt file. ``scale`` is the highest rating; the lowest is 0."""

    model_config = ConfigDict(extra="forbid")

    name: StrictStr = Field(min_length=1)
    kind: Literal["question", "nugget", "direct"]
    template: StrictStr = Field(min_length=1)
    reading: StrictStr | None = None
    scale: StrictInt | None = Field(default=None, ge=1, le=99)
    choices: tuple[StrictStr, StrictStr] | None = None
    version: StrictInt = Field(default=1, ge=1)
    cite: StrictStr = "a prompt file"
    example: StrictStr | None = None
    examples: list[dict[str, StrictStr]] = Field(default_factory=list)


def parse_prompt(text: str, file: str) -> Prompt:
    """Parse a prompt from a TOML text; errors name ``file``.

    Raises :class:`DataError`, and pydantic's ValidationError for keys that are missing, unknown or of the
    wrong type.
    """
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"is not valid TOML: {error}.", file=file) from error
    keys = PromptFile.model_validate(values)
    if keys.name in PROMPTS:
        raise DataError(
            f"{keys.name!r} is already the name of another prompt; choose a new one.",
            file=file, field="name",
        )  # fmt: skip
    return prompt_of(keys, file)


def prompt_of(keys: PromptFile, file: str | None = None) -> Prompt:
    """Make the prompt from validated keys; raises :class:`DataError`, which names ``file``."""
    rule = _reading(keys, file)
    template = _with_examples(keys, file).strip("\n")
    _check_template(template, keys, file)
    return Prompt(
        name=keys.name,
        kind=keys.kind,
        template=template,
        parse=rule,
        cite=keys.cite,
        max_rating=keys.scale,
        choices=(keys.choices or ("No", "Yes")) if rule.name == YES_NO.name else (),
        answer_key=rule is ANSWER_KEY,
        version=keys.version,
        style=template.splitlines()[0],
    )


def _reading(keys: PromptFile, file: str | None) -> ReadingRule:
    known = ", ".join(READINGS)
    if keys.reading is None:
        raise DataError(f"is missing; use one of: {known}.", file=file, field="reading")
    if keys.reading not in READINGS:
        raise DataError(
            f"{keys.reading!r} is not a reading rule{_suggest(keys.reading, READINGS)}; use one of: {known}.",
            file=file, field="reading",
        )  # fmt: skip
    if keys.kind not in _KINDS[keys.reading]:
        raise DataError(
            f"{keys.reading!r} cannot be used for a {keys.kind} prompt.", file=file, field="reading"
        )
    if keys.choices is not None and keys.reading != YES_NO.name:
        raise DataError(
            f"cannot be used with the reading rule {keys.reading!r}, only with {YES_NO.name!r}.",
            file=file, field="choices",
        )  # fmt: skip
    if keys.reading in SCALED:
        if keys.scale is None:
            raise DataError(
                f"is missing; the reading rule {keys.reading!r} needs the highest rating.",
                file=file, field="scale",
            )  # fmt: skip
        return SCALED[keys.reading](keys.scale)
    if keys.scale is not None:
        raise DataError(f"cannot be used with the reading rule {keys.reading!r}.", file=file, field="scale")
    return UNSCALED[keys.reading] if keys.choices is None else yes_no_reader(_choices(keys.choices, file))


def _choices(choices: tuple[str, str], file: str | None) -> tuple[str, str]:
    no, yes = (word.strip() for word in choices)
    if not no or not yes or no.lower() == yes.lower():
        raise DataError("must be two different words, the word for no first.", file=file, field="choices")
    return no, yes


def _with_examples(keys: PromptFile, file: str | None) -> str:
    """The template with its few-shot examples, whose default layout is the text after ``{examples}``."""
    before, placeholder, after = keys.template.partition(_EXAMPLES)
    if not keys.examples:
        if placeholder:
            raise DataError(
                "contains {examples}, but the key 'examples' is missing.", file=file, field="template"
            )
        return keys.template
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
    slots = [slot for _, slot in _placeholders(template, file, "template") if slot is not None]
    allowed = (*_SLOTS[keys.kind], CUT_SLOT)
    for slot in slots:
        if slot not in allowed:
            names = ", ".join(f"{{{name}}}" for name in allowed)
            hint = _suggest(slot, allowed)
            raise DataError(
                f"has the unknown placeholder {{{slot}}}{hint}; a {keys.kind} prompt can have {names}.",
                file=file, field="template",
            )  # fmt: skip
    for slot in (_SLOTS[keys.kind][0], CUT_SLOT):
        if slot not in slots:
            raise DataError(f"does not contain the placeholder {{{slot}}}.", file=file, field="template")
        if slots.count(slot) > 1:
            raise DataError(
                f"contains the placeholder {{{slot}}} more than once.", file=file, field="template"
            )


def _suggest(name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
