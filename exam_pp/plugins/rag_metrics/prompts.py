"""Prompts about answers: by several criteria, and whether sources or cited passages support a claim.

Criteria ask for ratings of a whole answer, from one reply with a line of JSON.

The set ``RAGEloCriteria`` has the text of appendix A.2 of the paper, which names three criteria in two places
and four in the list. Criteria of your own, from a file, get the same text without the paper's product.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import JSONDecoder
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from exam_pp.banks import Entry
from exam_pp.data_model import SUPPORT_CLASS, SUPPORT_LABELS
from exam_pp.errors import DataError
from exam_pp.prompts.base import (
    CUT_SLOT,
    PROMPTS,
    STILL_THINKING,
    Prompt,
    ReadingRule,
    ReadReply,
    Unparsed,
    register,
)
from exam_pp.prompts.markup import without_thinking
from exam_pp.prompts.near_json import parse_near_json
from exam_pp.prompts.reading import SUPPORT, YES_NO
from exam_pp.text.toml import parse_toml

ANSWER_SLOT = "answer"
"""The placeholder of the answer, which is never shortened."""

MEAN = "mean"
"""The name of the mean of all criteria, which no criterion can have."""

NO_JSON = "the reply has no JSON object with the criteria"
NO_KEY = "the JSON object of the reply lacks the criterion"
NO_LEVEL = "the value of the reply is not a level of the criterion"

_MAX_TRIES = 50
"""Number of opening braces, from the end, at which an object is searched."""


@dataclass(frozen=True)
class Criterion:
    """A criterion with its question, and the descriptions of its levels 0, 1, 2 ..., worst first."""

    name: str
    description: str
    levels: tuple[str, ...]

    @property
    def highest(self) -> int:
        """The rating of the best level."""
        return len(self.levels) - 1


@dataclass(frozen=True)
class CriteriaSet:
    """Criteria, and the prompt that asks for all of them together."""

    criteria: tuple[Criterion, ...]
    prompt: Prompt


def read_criteria(reply: str, criteria: Sequence[Criterion]) -> dict[str, int | str]:
    """Read the ratings of a reply: the values of its last JSON object that has a criterion as a key."""
    text = without_thinking(reply)
    if text is None:
        return {criterion.name: STILL_THINKING for criterion in criteria}
    values = _last_object(text, {criterion.name.lower() for criterion in criteria})
    if values is None:
        return {criterion.name: NO_JSON for criterion in criteria}
    return {criterion.name: _rating(values, criterion) for criterion in criteria}


def _last_object(text: str, names: set[str]) -> dict[str, Any] | None:
    """The last object with one of the names as a key; its keys are in lower case."""
    decoder = JSONDecoder(strict=False)
    start = len(text)
    for _ in range(_MAX_TRIES):
        start = text.rfind("{", 0, start)
        if start < 0:
            return None
        try:
            value, _end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = parse_near_json(text[start : text.find("}", start) + 1])
        if isinstance(value, dict):
            keys = {str(key).strip().lower(): item for key, item in value.items()}
            if names & keys.keys():
                return keys
    return None


def _rating(values: Mapping[str, Any], criterion: Criterion) -> int | str:
    """The rating, or the reason why it is missing; numbers may be written as text or with ``.0``."""
    if (key := criterion.name.lower()) not in values:
        return NO_KEY
    value = values[key]
    if isinstance(value, str) and value.strip().isascii() and len(value) < 10 and value.strip().isdecimal():
        value = int(value)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or value not in range(len(criterion.levels))
    ):
        return NO_LEVEL
    return int(value)


def _reading_rule(criteria: Sequence[Criterion]) -> ReadingRule:
    def read(reply: str, _entry: Entry | None, _unparsed: Unparsed) -> ReadReply:
        ratings = read_criteria(reply, criteria).values()
        reason = next((rating for rating in ratings if isinstance(rating, str)), None)
        return ReadReply(None, reason is None, reason=reason)

    return ReadingRule(
        "criteria",
        "the values of the last JSON object with the criteria as keys; a criterion without a key, or with a "
        "value that is not one of its levels, stays ungraded",
        read,
        whole_reply=True,
    )


def criteria_set(
    name: str,
    criteria: Sequence[Criterion],
    *,
    short: str = "",
    subject: str = "",
    named: Sequence[str] = (),
    version: int = 1,
    cite: str = "a criteria file",
) -> CriteriaSet:
    """Make the prompt for criteria.

    ``criteria``: The criteria, in the order of the prompt. ``subject``: What the questions are about; empty
    for questions about anything.
    """
    prompt = Prompt(
        name=name,
        short=short,
        kind="criteria",
        template=_template(criteria, subject, named or [criterion.name for criterion in criteria]),
        parse=_reading_rule(criteria),
        cite=cite,
        version=version,
        style="Evaluate the quality of the answer by several criteria.",
        info={"criteria": {criterion.name: criterion.highest for criterion in criteria}},
        as_file=_as_file(name, criteria, subject, cite),
    )
    return CriteriaSet(tuple(criteria), prompt)


def _as_file(name: str, criteria: Sequence[Criterion], subject: str, cite: str) -> str:
    """The criteria as the text of a criteria file, under a new name."""
    lines = [
        f"# A copy of the criteria {name} of exam_pp, to be changed.",
        f"name = {_quoted(f'My{name}')}",
        f"subject = {_quoted(subject)}",
        "version = 1",
        f"cite = {_quoted(f'after {cite}')}",
    ]
    for criterion in criteria:
        lines += [
            "",
            "[[criteria]]",
            f"name = {_quoted(criterion.name)}",
            f"description = {_quoted(criterion.description)}",
            "levels = [",
            *(f"    {_quoted(text)}," for text in criterion.levels),
            "]",
        ]
    return "\n".join([*lines, ""])


def _template(criteria: Sequence[Criterion], subject: str, named: Sequence[str]) -> str:
    about = f" about {_escaped(subject)}" if subject else ""
    quality = _escaped(_enumerated(named))
    tops = {criterion.highest for criterion in criteria}
    scores = (
        "a single score from its levels" if len(tops) > 1 else f"a single score between 0 and {max(tops)}"
    )
    best = "the highest number" if len(tops) > 1 else str(max(tops))
    keys = _escaped(_enumerated([_quoted(criterion.name) for criterion in criteria]))
    rules = "\n".join(
        f"- **{_escaped(_title(criterion.name))}**: {_escaped(criterion.description)}"
        for criterion in criteria
    )
    levels = "\n".join(
        "\n".join(
            [
                f"- {_escaped(_quoted(criterion.name))}",
                *(f"  - {level}: {_escaped(text)}" for level, text in enumerate(criterion.levels)),
            ]
        )
        for criterion in criteria
    )
    return f"""You are an impartial judge for evaluating the quality of the responses provided by an AI \
assistant tasked to answer users' questions{about}.
You will be given the user's question and the answer produced by the assistant.
The agent's answer was generated based on a set of documents retrieved by a search engine.
You will be provided with the relevant documents retrieved by the search engine.
Your task is to evaluate the answer's quality based on the response's {quality}.
## Rules for evaluating an answer:
{rules}
## Steps to evaluate an answer:
1. **Understand the user's intent**: Explain in your own words what the user's intent is, given the question.
2. **Check if the answer is correct**: Think step-by-step whether the answer correctly answers the user's \
question.
3. **Evaluate the quality of the answer**: Evaluate the quality of the answer based on its {quality}.
4. **Assign a score**: Produce a single line JSON object with the following keys, each with {scores}, where \
{best} is the highest score on that aspect:
{levels}
The last line of your answer must be a SINGLE LINE JSON object with the keys {keys}, each with {scores}.
[DOCUMENTS RETRIEVED]
{{{CUT_SLOT}}}
[User Query]
{{query}}
[Agent answer]
{{{ANSWER_SLOT}}}"""


def _escaped(text: str) -> str:
    """The text on one line, with braces that are no placeholders."""
    return " ".join(text.split()).replace("{", "{{").replace("}", "}}")


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _title(name: str) -> str:
    return name[:1].upper() + name[1:]


def _enumerated(names: Sequence[str]) -> str:
    """The names as ``a``, ``a and b`` or ``a, b, and c``."""
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


_Text = Annotated[StrictStr, Field(pattern=r"\S")]


class _CriterionKeys(BaseModel):
    """The keys of a criterion in a criteria file."""

    model_config = ConfigDict(extra="forbid")

    name: StrictStr = Field(pattern=r"^[^\s\"\\](?:[^\n\r\"\\]{0,98}[^\s\"\\])?$")
    description: _Text
    levels: list[_Text] = Field(min_length=2, max_length=100)


class CriteriaFile(BaseModel):
    """The keys of a criteria file. ``levels`` describe the ratings 0, 1, 2 ..., worst first."""

    model_config = ConfigDict(extra="forbid")

    name: _Text
    criteria: list[_CriterionKeys] = Field(min_length=1)
    subject: StrictStr = ""
    version: StrictInt = Field(default=1, ge=1)
    cite: StrictStr = "a criteria file"


def parse_criteria(text: str, file: str) -> CriteriaSet:
    """Parse a criteria file from a TOML text; errors name ``file``.

    Raises :class:`DataError`, and pydantic's ValidationError for keys that are missing, unknown or of the
    wrong type.
    """
    keys = CriteriaFile.model_validate(parse_toml(text, file))
    if keys.name in PROMPTS:
        raise DataError(
            f"{keys.name!r} is already the name of a prompt; choose a new one.", file=file, field="name"
        )
    seen: set[str] = set()
    for number, criterion in enumerate(keys.criteria, 1):
        field = f"criteria {number} name"
        if criterion.name.lower() == MEAN:
            raise DataError(
                f"{criterion.name!r} is reserved for the mean of all criteria.", file=file, field=field
            )
        if criterion.name.lower() in seen:
            raise DataError(
                f"{criterion.name!r} is the name of an earlier criterion.", file=file, field=field
            )
        seen.add(criterion.name.lower())
    criteria = [Criterion(each.name, each.description, tuple(each.levels)) for each in keys.criteria]
    return criteria_set(keys.name, criteria, subject=keys.subject, version=keys.version, cite=keys.cite)


RAGELO = criteria_set(
    "RAGEloCriteria",
    (
        Criterion(
            "relevance",
            "Does the answer address the user's question?",
            (
                "The answer is not relevant to the user's question.",
                "The answer is partially relevant to the user's question.",
                "The answer is fully relevant to the user's question.",
            ),
        ),
        Criterion(
            "accuracy",
            "Is the answer factually correct, based on the documents provided?",
            (
                "The answer is factually incorrect.",
                "The answer is partially correct.",
                "The answer is fully correct.",
            ),
        ),
        Criterion(
            "completeness",
            "Does the answer provide all the information needed to answer the user's question?",
            (
                "The answer does not provide enough information to answer the user's question.",
                "The answer only answers some aspects of the user's question.",
                "The answer fully answers the user's question.",
            ),
        ),
        Criterion(
            "precision",
            "If the user's question is about a specific product, does the answer provide the answer for that "
            "specific product?",
            (
                "The answer does not mention the same product or product line as the user's question.",
                "The answer mentions a similar product or product line, but not the same as the user's "
                "question.",
                "The answer mentions the exact same product or product line as the user's question.",
            ),
        ),
    ),
    subject="the catalogue of IoT sensors produced by Infineon",
    short="criteria",
    named=("relevance", "accuracy", "completeness"),
    cite="Rackauckas et al.: RAGElo, 2024, appendix A.2",
)

FACTUAL_CONSISTENCY = Prompt(
    name="FactualConsistency",
    short="factual-consistency",
    kind="claim",
    template="""Instruction: Decide whether the source supports everything that the claim states. Judge only \
by the source, not by your own knowledge. A claim with any statement that the source contradicts or does not \
contain is not supported. Respond with 'Yes' if the source supports the whole claim, otherwise with 'No'.
Source: {context}
Claim: {claim}
Answer:""",
    parse=YES_NO,
    choices=("No", "Yes"),
    style="Decide whether the source supports everything that the claim states.",
    cite="exam_pp; the question of Honovich et al.: TRUE, 2022",
)

CITATION_SUPPORT = Prompt(
    name=SUPPORT_CLASS,
    short="citation-support",
    kind="support",
    template="""Instruction: A statement cites a passage. Decide how far the passage supports the statement. \
Judge only by the passage, not by your own knowledge. Choose one label:
- full_support: The passage contains all information of the statement.
- partial_support: The passage contains a part of the information; the rest is missing.
- no_support: The passage contains none of the information, or contradicts it.
Respond with the label only.
Statement: {claim}
Passage: {context}
Label:""",
    parse=SUPPORT,
    choices=SUPPORT_LABELS,
    max_rating=2,
    style="Decide how far the passage supports the statement.",
    cite="exam_pp; the levels of Open RAG Eval's Citation Metric and of the TREC 2024 RAG track",
)

register([RAGELO.prompt, FACTUAL_CONSISTENCY, CITATION_SUPPORT])
