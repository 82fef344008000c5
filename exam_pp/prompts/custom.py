"""Prompts of your own, from a TOML file: a name, a kind, words with placeholders, and a rule for reading."""

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
    """The prompt that a TOML text describes; ``file`` is named in errors.

    Raises :class:`DataError`, and pydantic's ValidationError for keys that are missing, unknown or of the
    wrong type.
    """
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"is not valid TOML: {error}.", file=file) from error
    given = PromptFile.model_validate(values)
    if given.name in PROMPTS:
        raise DataError(f"{given.name!r} is a prompt of exam_pp already.", file=file, field="name")
    return prompt_of(given, file)


def prompt_of(given: PromptFile, file: str | None = None) -> Prompt:
    """The prompt that checked keys describe; raises :class:`DataError`, which names ``file``."""
    rule = _reading(given, file)
    template = _with_examples(given, file).strip("\n")
    _check_template(template, given, file)
    return Prompt(
        name=given.name,
        kind=given.kind,
        template=template,
        parse=rule,
        cite=given.cite,
        max_rating=given.scale,
        choices=(given.choices or ("No", "Yes")) if rule.name == YES_NO.name else (),
        answer_key=rule is ANSWER_KEY,
        version=given.version,
        style=template.splitlines()[0],
    )


def _reading(given: PromptFile, file: str | None) -> ReadingRule:
    known = ", ".join(READINGS)
    if given.reading is None:
        why = "a scale needs a rule for reading replies" if given.scale is not None else "is missing"
        raise DataError(f"{why}: one of {known}.", file=file, field="reading")
    if given.reading not in READINGS:
        raise DataError(
            f"no reading rule {given.reading!r}{_suggest(given.reading, READINGS)}; known: {known}.",
            file=file, field="reading",
        )  # fmt: skip
    if given.kind not in _KINDS[given.reading]:
        raise DataError(
            f"{given.reading!r} does not read replies to {given.kind} prompts.", file=file, field="reading"
        )
    if given.choices is not None and given.reading != YES_NO.name:
        raise DataError(f"the reading rule {given.reading!r} has no choices.", file=file, field="choices")
    if given.reading in SCALED:
        if given.scale is None:
            raise DataError(
                f"the reading rule {given.reading!r} needs the highest rating.", file=file, field="scale"
            )
        return SCALED[given.reading](given.scale)
    if given.scale is not None:
        raise DataError(f"the reading rule {given.reading!r} has no scale.", file=file, field="scale")
    return UNSCALED[given.reading] if given.choices is None else yes_no_reader(_choices(given.choices, file))


def _choices(given: tuple[str, str], file: str | None) -> tuple[str, str]:
    no, yes = (word.strip() for word in given)
    if not no or not yes or no.lower() == yes.lower():
        raise DataError("must be two words, the one for no first.", file=file, field="choices")
    return no, yes


def _with_examples(given: PromptFile, file: str | None) -> str:
    """The template with its few-shot examples; by default they look like what follows them."""
    before, found, after = given.template.partition(_EXAMPLES)
    if not given.examples:
        if found:
            raise DataError("has {examples}, but the file gives none.", file=file, field="template")
        return given.template
    if not found:
        raise DataError("does not say where the {examples} go.", file=file, field="template")
    layout = (given.example or after.rstrip() + " {answer}").strip("\n")
    texts = [_example(layout, values, number, file) for number, values in enumerate(given.examples, 1)]
    return before + "\n".join(texts) + after


def _example(layout: str, values: dict[str, str], number: int, file: str | None) -> str:
    parts = []
    for words, slot in _placeholders(layout, file, "example"):
        parts.append(_escaped(words))
        if slot is not None:
            if slot not in values:
                raise DataError(f"{slot} is missing.", file=file, field=f"examples.{number}")
            parts.append(_escaped(values[slot]))
    return "".join(parts)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _placeholders(template: str, file: str | None, field: str) -> list[tuple[str, str | None]]:
    """Words and the placeholder after them; raises :class:`DataError` for braces that are none."""
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        raise DataError(
            f"{str(error).lower()}; write braces that are no placeholder twice.", file=file, field=field
        ) from error
    for _, slot, spec, conversion in pieces:
        if slot is not None and (spec or conversion or not slot.isidentifier()):
            raise DataError(
                f"{{{slot}}} is no placeholder; write braces that are none twice.", file=file, field=field
            )
    return [(words, slot) for words, slot, _, _ in pieces]


def _check_template(template: str, given: PromptFile, file: str | None) -> None:
    slots = [slot for _, slot in _placeholders(template, file, "template") if slot is not None]
    allowed = (*_SLOTS[given.kind], CUT_SLOT)
    for slot in slots:
        if slot not in allowed:
            names = ", ".join(f"{{{name}}}" for name in allowed)
            hint = _suggest(slot, allowed)
            raise DataError(
                f"unknown placeholder {{{slot}}}{hint}; a {given.kind} prompt has {names}.",
                file=file, field="template",
            )  # fmt: skip
    for slot in (_SLOTS[given.kind][0], CUT_SLOT):
        if slots.count(slot) != 1:
            problem = "is missing" if slot not in slots else "occurs more than once"
            raise DataError(f"the placeholder {{{slot}}} {problem}.", file=file, field="template")


def _suggest(name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
