"""TREC AutoJudge: nugget banks (``NuggetBank``, format v3), those of RAGTIME 2026, and evaluation results.

A nugget bank contains questions and claims, one object per query. A bank of RAGTIME 2026 contains questions
with answers, of which any or all must be found. Results are rows of run, topic, measure and
value in one of two orders: ``run topic measure value`` (``ir_measures``) or ``run measure topic value``
(``tot``). The topic ``all`` is the mean. An optional header line gives the order.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from exam_pp.banks import BankLine, Entry, Nugget, Question, entry_id
from exam_pp.data_model import Id
from exam_pp.errors import DataError
from exam_pp.formats.bank import of_kind, with_answers, with_questions, with_texts, without_kept_info
from exam_pp.formats.base import Format, Schema, Target, make_reader, register
from exam_pp.formats.dropped_fields import count_dropped_bank_fields
from exam_pp.formats.sample import Fit, Sample, fits
from exam_pp.models import Record
from exam_pp.results import Score
from exam_pp.store.files import atomic_output, read_text_lines
from exam_pp.store.numbers import is_number, parse_number
from exam_pp.store.parsing import read_objects, valid, write_json_lines
from exam_pp.store.trec.runs import TrecColumns
from exam_pp.store.trec.scores import without_duplicates

_VERSION = "v3"
_KEPT = "autojudge"
"""The key of ``info`` that keeps the fields that a bank line of exam_pp does not have."""
_CLAIM_KEYS = ("claim", "text", "nugget")
_MD5 = re.compile(r"[0-9a-f]{32}")
_AGGREGATORS = {"all": "AND", "any": "OR"}
"""How a group of answers is earned, to the word of these formats."""


class NuggetBankLine(Record):
    """A nugget bank of AutoJudge."""

    query_id: Id
    title_query: str = ""
    full_query: str | None = None
    test_collection: str | None = None
    format_version: str
    nugget_bank: dict[str, dict[str, Any]] | None = Field(default_factory=dict)
    claim_bank: dict[str, dict[str, Any]] | None = Field(default_factory=dict)


class Ragtime26Metadata(Record):
    """The topic of a nugget bank, and the run that it comes from."""

    topic_id: Id


class Ragtime26Line(Record):
    """A nugget bank of RAGTIME 2026; any (OR) or all (AND) answers to a question must be found."""

    metadata: Ragtime26Metadata
    nugget_bank: list[dict[str, Any]]


def read_autojudge(path: str | Path) -> Iterator[BankLine]:
    """Read nugget banks as bank lines; a file is one object, a list of objects, or JSON lines.

    The answers of a question become gold answers. All other fields, such as references and quality, are kept
    in ``info``, and :func:`write_autojudge` restores them. Raises :class:`DataError`, also for other versions
    of the format.
    """
    for number, value in read_objects(path, "a nugget bank of AutoJudge"):
        bank = valid(NuggetBankLine.model_validate, value, path, number)
        if bank.format_version != _VERSION:
            raise DataError(
                f"{bank.format_version!r} is not supported; the version must be {_VERSION!r}.",
                file=str(path), line=number, field="format_version",
            )  # fmt: skip
        questions = (
            _question(bank.query_id, *item, path, number) for item in (bank.nugget_bank or {}).items()
        )
        claims = (_claim(bank.query_id, *item, path, number) for item in (bank.claim_bank or {}).items())
        rest = {key: value[key] for key in value if key not in ("nugget_bank", "claim_bank")}
        yield BankLine(
            query_id=bank.query_id,
            test_collection=bank.test_collection or "",
            query_text=bank.full_query or bank.title_query,
            info={_KEPT: rest},
            items=[*questions, *claims],
        )


def read_ragtime26(path: str | Path) -> Iterator[BankLine]:
    """Read the answers as nuggets, in the group of their question; raises :class:`DataError`.

    All other fields are kept as by :func:`read_autojudge`.
    """
    for number, value in read_objects(path, "a nugget bank of RAGTIME"):
        bank = valid(Ragtime26Line.model_validate, value, path, number)
        topic, rest = bank.metadata.topic_id, {key: value[key] for key in value if key != "nugget_bank"}
        items = [
            _question(topic, str(question.get("question") or place), question, path, number)
            for place, question in enumerate(bank.nugget_bank, 1)
        ]
        yield with_answers(BankLine(query_id=topic, info={_KEPT: rest}, items=items))


def _question(
    query_id: str, key: str, value: Mapping[str, Any], path: str | Path, number: int | None
) -> Question:
    text = value.get("question")
    if not isinstance(text, str) or not text.strip():
        raise DataError("is missing.", file=str(path), line=number, field=f"nugget_bank.{key}.question")
    golds = _golds(value.get("answers"))
    own_id = value.get("question_id")
    return Question(
        query_id=query_id,
        question_id=(
            f"{query_id}/{own_id}" if isinstance(own_id, str) and own_id else entry_id(query_id, text)
        ),
        question_text=text,
        info={_KEPT: {"key": key, **value}},
        **({"gold_answers": golds} if golds else {}),
        **({"combine": "all"} if value.get("aggregator_type") == _AGGREGATORS["all"] else {}),
        **_importance(value),
    )


def _golds(answers: Any) -> list[str]:
    return [str(answer["answer"]) for answer in _listed(answers) if answer.get("answer")]


def _listed(answers: Any) -> list[dict[str, Any]]:
    """The answers of a question, which are a list or the values of an object."""
    items = list(answers.values()) if isinstance(answers, dict) else answers
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _claim(query_id: str, key: str, value: Mapping[str, Any], path: str | Path, number: int | None) -> Nugget:
    text = next((value[name] for name in _CLAIM_KEYS if isinstance(value.get(name), str)), "")
    if not text.strip():
        raise DataError("is missing.", file=str(path), line=number, field=f"claim_bank.{key}.claim")
    return Nugget(
        query_id=query_id,
        nugget_id=entry_id(query_id, text),
        nugget_text=text,
        info={_KEPT: {"key": key, **value}},
        **_importance(value),
    )


def _importance(value: Mapping[str, Any]) -> dict[str, Any]:
    label = value.get("importance")
    return {"importance": label} if isinstance(label, str) else {}


def write_autojudge(
    lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write one nugget bank per query: questions as nuggets, nuggets as claims; facets are merged."""
    write_json_lines(_banks(lines), path, inputs=inputs)


def _banks(lines: Iterable[BankLine]) -> Iterable[dict[str, Any]]:
    banks: dict[str, dict[str, Any]] = {}
    for line in lines:
        bank = banks.setdefault(line.query_id, _new_bank(line))
        for item in line.items:
            key, value = _written(item)
            bank["nugget_bank" if isinstance(item, Question) else "claim_bank"][key] = value
    return banks.values()


def _new_bank(line: BankLine) -> dict[str, Any]:
    kept = line.info.get(_KEPT) if isinstance(line.info, dict) else None
    return {
        "query_id": line.query_id,
        "title_query": line.query_text,
        "full_query": line.query_text,
        "test_collection": line.test_collection,
        "format_version": _VERSION,
        **(kept if isinstance(kept, dict) else {}),
        "nugget_bank": {},
        "claim_bank": {},
    }


def _written(item: Entry) -> tuple[str, dict[str, Any]]:
    """Key and value of an entry, with the fields kept from an import unless the text has changed."""
    kept = item.info.get(_KEPT) if isinstance(item.info, dict) else None
    value: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
    key = value.pop("key", None)
    name = "question" if isinstance(item, Question) else next((n for n in _CLAIM_KEYS if n in value), "claim")
    if value.get(name) != item.text:
        key, value = None, {k: v for k, v in value.items() if k != "question_id"}
    value[name] = item.text
    if isinstance(item, Question):
        last = item.entry_id.rpartition("/")[2]
        value.setdefault("question_id", last if _MD5.fullmatch(last) else _md5(item.text.strip()))
        if item.gold_answers is not None and item.gold_answers != _golds(value.get("answers")):
            value["answers"] = _answers(item.gold_answers, value.get("answers"))
    else:
        value.setdefault("query_id", item.query_id)  # autojudge-base requires it of claims
    if item.importance is not None:
        value["importance"] = item.importance
    if "combine" in item.model_fields_set and item.combine in _AGGREGATORS:
        value["aggregator_type"] = _AGGREGATORS[item.combine]
    return key or item.text, value


def _answers(golds: Iterable[str], old: Any) -> dict[str, Any]:
    keyed = old.items() if isinstance(old, dict) else ((_md5(str(a.get("answer"))), a) for a in _listed(old))
    known = {
        answer["answer"]: (key, answer)
        for key, answer in keyed
        if isinstance(answer, dict) and "answer" in answer
    }
    return dict(known.get(gold, (_md5(gold.strip()), {"answer": gold, "references": []})) for gold in golds)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


Order = Literal["ir_measures", "tot"]
_FIELDS = 4


def read_evaluation(path: str | Path, order: Order = "ir_measures") -> Iterator[Score]:
    """Read the scores of single queries and the means, in file order; raises :class:`DataError`."""
    return without_duplicates(_scores(path, order), path)


def _scores(path: str | Path, order: Order) -> Iterator[tuple[int, Score]]:
    for index, (number, line) in enumerate(read_text_lines(path)):
        fields = line.split()
        if len(fields) != _FIELDS:
            raise DataError(
                f"has {len(fields)} fields instead of 4 (run, topic, measure, value; "
                "or run, measure, topic, value).",
                file=str(path), line=number,
            )  # fmt: skip
        if index == 0 and "measure" in fields:
            order = "tot" if fields[1] == "measure" else "ir_measures"
            continue
        system, second, third, text = fields
        topic, measure = (second, third) if order == "ir_measures" else (third, second)
        try:
            value = parse_number(text)
        except ValueError as error:
            raise DataError(f"{error}.", file=str(path), line=number, field="value") from None
        yield number, Score(system, topic, measure, value)


def _is_bank(sample: Sample) -> bool:
    return not _is_ragtime26(sample) and ("nugget_bank" in sample.item or "claim_bank" in sample.item)


def _is_ragtime26(sample: Sample) -> bool:
    return isinstance(sample.item.get("nugget_bank"), list)


def _sniff_results(order: Order, sample: Sample) -> Fit:
    """Rows of four fields with a number in the last, with or without a header."""
    header, *rest = sample.fields or [[]]
    rows = rest or [header]
    fit = sample.has_four_fields and all(map(_is_result, rows)) and _order(header, rows) == order
    return Fit.GOOD if fit else Fit.NOT


def _is_result(row: Sequence[str]) -> bool:
    """Whether the last field is a number, and topic and measure are not both numbers (a table of scores)."""
    return is_number(row[3]) and not (is_number(row[1]) and is_number(row[2]))


def _order(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Order:
    if "measure" in header:
        return "tot" if header.index("measure") == 1 else "ir_measures"
    # `all` is a topic, and there are usually fewer measures than topics.
    second, third = {row[1] for row in rows}, {row[2] for row in rows}
    if "all" in third or ("all" not in second and len(second) < len(third)):
        return "tot"
    return "ir_measures"


def _write_bank(lines: Iterable[BankLine], target: Target) -> None:
    lines = with_texts([with_questions(line, target.dropped) for line in lines], target.dropped)
    keeps = {
        "groups of entries",
        "query texts",
        "test collections",
        "importance labels",
        "gold answers",
        "queries without entries",
    }
    count_dropped_bank_fields([without_kept_info(line, _KEPT) for line in lines], keeps, target.dropped)
    texts: Counter[tuple[str, str, str]] = Counter()
    for line in lines:
        for item in line.items:
            texts[line.query_id, item.kind, item.text] += 1
            target.dropped.add("entry ids", _id_when_read(item) != item.entry_id)
            target.dropped.add("empty lists of gold answers", item.gold_answers == [])
            golds = item.gold_answers or [] if isinstance(item, Question) else []
            distinct = {gold.strip() for gold in golds if gold}
            target.dropped.add("empty or duplicate gold answers", len(golds) - len(distinct))
            target.dropped.add(
                "gold answers of nuggets", isinstance(item, Nugget) and bool(item.gold_answers)
            )
    target.dropped.add("entries with a duplicate text", sum(count - 1 for count in texts.values()))
    write_autojudge(lines, target.path, inputs=target.inputs)


def _write_ragtime26(lines: Iterable[BankLine], target: Target) -> None:
    """Write one nugget bank per query; a question without a word for its answers has OR."""
    lines = of_kind([with_questions(line, target.dropped) for line in lines], "question", target.dropped)
    lines = with_texts(lines, target.dropped)
    keeps = {"importance labels", "gold answers", "groups of entries"}
    kept = [without_kept_info(line, _KEPT) for line in lines]
    count_dropped_bank_fields(
        kept, keeps, target.dropped, entry_id=lambda item: entry_id(item.query_id, item.text)
    )
    write_json_lines(map(_ragtime26, _banks(lines)), target.path, inputs=target.inputs)


def _ragtime26(bank: Mapping[str, Any]) -> dict[str, Any]:
    metadata = bank["metadata"] if isinstance(bank.get("metadata"), dict) else {}
    questions = [
        {key: question[key] for key in ("question", "importance", "metadata") if key in question}
        | {
            "aggregator_type": "AND" if question.get("aggregator_type") == "AND" else "OR",
            "answers": _listed(question.get("answers")),
        }
        for question in bank["nugget_bank"].values()
    ]
    return {"metadata": {**metadata, "topic_id": bank["query_id"]}, "nugget_bank": questions}


def _id_when_read(item: Entry) -> str:
    """The id of the entry after a round trip."""
    last = item.entry_id.rpartition("/")[2]
    is_kept = isinstance(item, Question) and item.entry_id == f"{item.query_id}/{last}" and len(last) == 32
    return item.entry_id if is_kept else entry_id(item.query_id, item.text)


def _write_results(order: Order, scores: Iterable[Score], target: Target) -> None:
    """Write scores separated by tabs, with a header that gives the order.

    Names have ``_`` in place of blanks, which would shift the columns.
    """
    column = TrecColumns()
    with atomic_output(target.path, inputs=target.inputs) as stream:
        for system, topic, measure, value in (("run_id", "query_id", "measure", "value"), *scores):
            run, query, name = column("system", system), column("query", topic), column("measure", measure)
            names = (run, query, name) if order == "ir_measures" else (run, name, query)
            number = value if isinstance(value, str) else repr(value)
            stream.write("\t".join((*names, number)).encode() + b"\n")
    target.dropped.add("blanks in ids", len(column.changed))


def _results(name: str, order: Order, about: str) -> Format:
    read = partial(read_evaluation, order=order)
    return Format(
        name, "scores", about, partial(_sniff_results, order), read, "score",
        lambda source: list(read(source.path)), partial(_write_results, order),
    )  # fmt: skip


register(
    Format(
        "ragtime26", "bank", "nugget bank of RAGTIME 2026", fits(_is_ragtime26), read_ragtime26, "query",
        make_reader(read_ragtime26), _write_ragtime26,
        schema=Schema("ragtime26", "a nugget bank of RAGTIME 2026", Ragtime26Line),
    ),
    Format(
        "autojudge-bank", "bank", "nugget bank of AutoJudge (v3)", fits(_is_bank), read_autojudge, "query",
        make_reader(read_autojudge), _write_bank,
        schema=Schema("autojudge-bank", "a nugget bank of AutoJudge", NuggetBankLine),
    ),
    _results("autojudge-eval", "ir_measures", "results of AutoJudge: run topic measure value"),
    _results("autojudge-tot", "tot", "results of AutoJudge: run measure topic value"),
)  # fmt: skip
