"""Rubrics of other tools, criteria with weights or questions with expected answers, and verdicts on them.

JSON or JSON lines of ResearchRubrics, TREC RAG 2026, RAGDoll, HealthBench, DRAGUN and the package rubric,
which may also be YAML. They differ in names only, so that one table of names reads them all, also with what
judges say of answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.banks import CRITERIA, TARGET, BankLine, Nugget, entry_id
from exam_pp.errors import SelectionError
from exam_pp.formats.base import Format, make_reader, register
from exam_pp.formats.dropped_fields import EMPTY
from exam_pp.formats.sample import Sample, fits
from exam_pp.store.csv_cells import plain_name
from exam_pp.store.files import read_text
from exam_pp.store.parsing import parse_yaml, read_objects, valid
from exam_pp.store.tables import SYSTEM, Layout, read_rows, stem_of
from exam_pp.text.wording import listed

LISTS = ("rubrics", "rubric", "sections", "criteria", "short_answers", "report", "verdicts")
"""Keys of lists of entries, of their parts, or of verdicts."""
RUBRIC = Layout(
    ("text",),
    (
        "group", "group_text", "entry_id", "query_id", "query_text", "weight", "importance", "category",
        "system", "verdict", "success",
    ),
    names={
        "text": ("criterion", "requirement", "rubric_title", "short_answer_text", "short_answer", "answer"),
        "group": ("question_id",),
        "group_text": ("question_text",),
        "entry_id": ("answer_id", "nugget_id", "criterion_id"),
        "query_id": ("qid", "sample_id", "prompt_id", "topic_id"),
        "query_text": ("query", "prompt"),
        "weight": ("points",),
        "importance": ("tier", "nugget_type"),
        "category": ("axis", "type", "tags"),
        "system": SYSTEM[1:],
        "verdict": ("verdicts", "auto_assessment", "assessment", "criterion_status", "criteria_met", "label"),
    },
)  # fmt: skip
"""The names of what an entry or a verdict has, of itself or from what stands above its list."""
WEIGHTS = {
    "must_have": 1, "should_have": 1, "avoid": -1,
    "mandatory": 5, "optional": 2,
    "A: Have to Know": 4, "B: Good to Know": 2, "C: Nice to Know": 1,
}  # fmt: skip
"""Importance to the weight of entries without a weight: of autojudge-annotate, RAGDoll, and DRAGUN."""
_YAML = re.compile(r"^[ \t-]*requirement[ \t]*:", re.MULTILINE)
_AFTER_A_WORD = re.compile(r"(?<=\w)[\W_]")
_OF_ENTRY = {
    "text": "nugget_text", "group": "group", "group_text": "group_text", "importance": "importance",
    "weight": "weight",
}  # fmt: skip
"""Role to the key of an entry."""


class Part(NamedTuple):
    """An entry or a verdict, of the object on ``line``, at the place ``where``: role to what is not empty.

    What has no role is in ``of_query`` if it stands above all lists, else in ``of_entry``.
    """

    line: int | None
    where: str
    values: Mapping[str, Any]
    of_query: dict[str, Any]
    of_entry: dict[str, Any]


def parts(path: str | Path) -> Iterator[Part]:
    """The entries or verdicts of a file, in order; raises :class:`~exam_pp.errors.DataError`."""
    names: dict[tuple[str, ...], dict[str, str]] = {}
    for line, record in _records(path):
        above = record if record.keys() & LISTS else {}
        for where, cells in _innermost(record):
            used = names.get(tuple(cells)) or names.setdefault(tuple(cells), RUBRIC.used(tuple(cells)))
            values = {role: cells[name] for role, name in used.items() if cells[name] not in EMPTY}
            others = {k: v for k, v in cells.items() if k not in used.values() and v not in EMPTY}
            of_query = {k: v for k, v in others.items() if k in above}
            yield Part(line, where, values, of_query, {k: v for k, v in others.items() if k not in above})


def _records(path: str | Path) -> Iterable[tuple[int | None, Mapping[str, Any]]]:
    text = read_text(path).removeprefix("\ufeff").lstrip()
    if text[:1] in ("{", "["):
        return read_objects(path, "a rubric or a verdict")
    if _YAML.search(text):
        return [(None, {LISTS[0]: parse_yaml(text, path, "A rubric in YAML")})]
    return ((row.line, row.cells) for row in read_rows(path, RUBRIC))


def _innermost(
    value: Mapping[str, Any], where: str = "", above: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The innermost objects below lists, each with its place and with what stands above it.

    What is no object, such as a label, gets the key of its list.
    """
    below = {key: value[key] for key in LISTS if isinstance(value.get(key), list | dict)}
    cells = {**(above or {}), **{key: item for key, item in value.items() if key not in below}}
    if not below:
        yield where, cells
    for key, items in below.items():
        for number, item in enumerate(items if isinstance(items, list) else [items], 1):
            inner = item if isinstance(item, dict) else {key: item}
            yield from _innermost(inner, f"{where}.{key}.{number}".removeprefix("."), cells)


def read_rubrics(path: str | Path) -> Iterator[BankLine]:
    """Read rubrics as a bank; other fields of queries and entries are kept in ``info``.

    A criterion is a nugget, and so is an expected answer, in the group of its question. A query without an id
    has the name of the file. Raises :class:`~exam_pp.errors.DataError`.
    """
    lines: dict[str, BankLine] = {}
    for part in parts(path):
        values = part.values
        query_id = str(values.get("query_id") or re.sub(r"\.ya?ml$", "", stem_of(path)))
        if query_id not in lines:
            info = {**part.of_query, TARGET: "nuggets" if "group" in values else CRITERIA}
            prompt = values.get("query_text", "")
            info |= {"prompt": prompt} if isinstance(prompt, list) and len(prompt) > 1 else {}
            title = _query_text(prompt)
            lines[query_id] = BankLine(query_id=query_id, query_text=title, info=info, items=[])
        own_id = f"{query_id}/{values['entry_id']}" if "entry_id" in values else None
        fields = {
            "query_id": query_id,
            "nugget_id": own_id or entry_id(query_id, str(values.get("text"))),
            **{key: values[role] for role, key in _OF_ENTRY.items() if role in values},
            **({"combine": "mean"} if "group" in values else {}),
            **({"category": _category(values["category"])} if "category" in values else {}),
            **({"info": part.of_entry} if part.of_entry else {}),
        }
        lines[query_id].items.append(valid(Nugget.model_validate, fields, path, part.line, part.where))
    weigh(lines.values(), {})
    yield from lines.values()


def _query_text(value: Any) -> str:
    """A text, or the last message of the user in a conversation."""
    messages = value if isinstance(value, list) else [{"role": "user", "content": value}]
    texts = [m.get("content") for m in messages if isinstance(m, dict) and m.get("role") == "user"]
    return str(texts[-1]) if texts else ""


def _category(value: Any) -> str:
    """A name, or the axis among tags such as ``axis:accuracy``."""
    tags = [str(tag) for tag in (value if isinstance(value, list) else [value])]
    return next((tag.removeprefix("axis:") for tag in tags if tag.startswith("axis:")), tags[0])


def weigh(lines: Iterable[BankLine], weights: Mapping[str, float]) -> None:
    """Give entries the weight of their importance: that of ``weights``, or of :data:`WEIGHTS` without one.

    A word of ``weights`` may be the first of several, such as ``must`` for ``must_have``. Raises
    :class:`~exam_pp.errors.SelectionError` for a word that no entry has.
    """
    items = [(item, item.importance) for line in lines for item in line.items if item.importance]
    for word, weight in [*WEIGHTS.items(), *weights.items()]:
        name = plain_name(word)
        found = [i for i, of in items if name in map(plain_name, (of, _AFTER_A_WORD.split(of)[0]))]
        if word in weights and not found:
            known = listed(list(dict.fromkeys(repr(of) for _, of in items))) or "none"
            raise SelectionError(f"No entry has the importance {word!r}; the bank has: {known}.")
        for item in found:
            if word in weights or "weight" not in item.model_fields_set:
                item.weight = weight


def roles_of(sample: Sample) -> set[str]:
    """The roles that the first entry or verdict of a file has, and ``list`` if it is in a list."""
    cells = next((cells for _, cells in _innermost(sample.item)), {})
    is_list = sample.item.keys() & LISTS or cells.keys() & {"requirement"}
    return {*RUBRIC.used(tuple(cells) or sample.names), *(["list"] if is_list else [])}


def _is_rubric(sample: Sample) -> bool:
    is_yaml, roles = any(_YAML.match(line) for line in sample.texts), roles_of(sample)
    return is_yaml or ({"text", "list"} <= roles and "verdict" not in roles)


register(
    Format(
        "rubrics", "bank", "rubrics of ResearchRubrics, TREC RAG 2026, RAGDoll, HealthBench, DRAGUN, rubric",
        fits(_is_rubric), read_rubrics, "query", make_reader(read_rubrics),
    ),
)  # fmt: skip
