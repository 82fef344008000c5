"""Nugget banks of TREC AutoJudge (``NuggetBank``, format v3): questions and claims, one object a query."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from exam_pp.data_model import Id, Record
from exam_pp.errors import DataError
from exam_pp.store.files import atomic_output, read_text
from exam_pp.store.parsing import data_error, parse_json
from exam_pp.test_bank import BankLine, Entry, Nugget, Question, entry_id

FORMAT = "v3"
KEPT = "autojudge"
"""The key of ``info`` that keeps what a bank of ours has no place for."""
_CLAIM_KEYS = ("claim", "text", "nugget")
_MD5 = re.compile(r"[0-9a-f]{32}")


class NuggetBankLine(Record):
    """A nugget bank of AutoJudge."""

    query_id: Id
    title_query: str = ""
    full_query: str | None = None
    test_collection: str | None = None
    format_version: str
    nugget_bank: dict[str, dict[str, Any]] | None = Field(default_factory=dict)
    claim_bank: dict[str, dict[str, Any]] | None = Field(default_factory=dict)


def read_autojudge(path: str | Path) -> Iterator[BankLine]:
    """Nugget banks as bank lines; a file holds one object, a list of them, or JSON lines.

    A question's answers become gold answers; references, quality and the like are kept in ``info`` and come
    back with :func:`write_autojudge`. Raises :class:`DataError`, also for other versions of the format.
    """
    for number, value in _objects(path):
        try:
            bank = NuggetBankLine.model_validate(value)
        except ValidationError as error:
            raise data_error(error, path, number) from error
        if bank.format_version != FORMAT:
            raise DataError(
                f"{bank.format_version!r} is not supported, only {FORMAT!r}.",
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
            info={KEPT: rest},
            items=[*questions, *claims],
        )


def _objects(path: str | Path) -> Iterator[tuple[int | None, dict[str, Any]]]:
    text = read_text(path).removeprefix("\ufeff").strip()
    try:
        whole = parse_json(text, path)
    except DataError:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        found: list[tuple[int | None, Any]] = [(n, parse_json(line, path, n)) for n, line in lines]
    else:
        found = [(None, value) for value in (whole if isinstance(whole, list) else [whole])]
    for number, value in found:
        if not isinstance(value, dict):
            raise DataError("is not a nugget bank of AutoJudge.", file=str(path), line=number)
        yield number, value


def _question(
    query_id: str, key: str, value: Mapping[str, Any], path: str | Path, number: int | None
) -> Question:
    text = value.get("question")
    if not isinstance(text, str) or not text.strip():
        raise DataError("is missing.", file=str(path), line=number, field=f"nugget_bank.{key}.question")
    golds = _golds(value.get("answers"))
    given = value.get("question_id")
    return Question(
        query_id=query_id,
        question_id=f"{query_id}/{given}" if isinstance(given, str) and given else entry_id(query_id, text),
        question_text=text,
        info={KEPT: {"key": key, **value}},
        **({"gold_answers": golds} if golds else {}),
        **_importance(value),
    )


def _golds(answers: Any) -> list[str]:
    return [
        str(answer["answer"])
        for answer in (answers.values() if isinstance(answers, dict) else ())
        if isinstance(answer, dict) and answer.get("answer")
    ]


def _claim(query_id: str, key: str, value: Mapping[str, Any], path: str | Path, number: int | None) -> Nugget:
    text = next((value[name] for name in _CLAIM_KEYS if isinstance(value.get(name), str)), "")
    if not text.strip():
        raise DataError("is missing.", file=str(path), line=number, field=f"claim_bank.{key}.claim")
    return Nugget(
        query_id=query_id,
        nugget_id=entry_id(query_id, text),
        nugget_text=text,
        info={KEPT: {"key": key, **value}},
        **_importance(value),
    )


def _importance(value: Mapping[str, Any]) -> dict[str, Any]:
    label = value.get("importance")
    return {"importance": label} if isinstance(label, str) else {}


def write_autojudge(
    lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write a nugget bank a line: questions as nuggets, nuggets as claims; facets of a query are united."""
    banks: dict[str, dict[str, Any]] = {}
    for line in lines:
        bank = banks.setdefault(line.query_id, _new_bank(line))
        for item in line.items:
            key, value = _written(item)
            bank["nugget_bank" if isinstance(item, Question) else "claim_bank"][key] = value
    with atomic_output(path, inputs=inputs) as stream:
        for bank in banks.values():
            stream.write(json.dumps(bank, ensure_ascii=False).encode() + b"\n")


def _new_bank(line: BankLine) -> dict[str, Any]:
    kept = line.info.get(KEPT) if isinstance(line.info, dict) else None
    return {
        "query_id": line.query_id,
        "title_query": line.query_text,
        "full_query": line.query_text,
        "test_collection": line.test_collection,
        "format_version": FORMAT,
        **(kept if isinstance(kept, dict) else {}),
        "nugget_bank": {},
        "claim_bank": {},
    }


def _written(item: Entry) -> tuple[str, dict[str, Any]]:
    """Key and value; what was kept from an import stays where it is still true."""
    kept = item.info.get(KEPT) if isinstance(item.info, dict) else None
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
    if item.importance is not None:
        value["importance"] = item.importance
    return key or item.text, value


def _answers(golds: Iterable[str], old: Any) -> dict[str, Any]:
    known = {
        answer["answer"]: (key, answer)
        for key, answer in (old if isinstance(old, dict) else {}).items()
        if isinstance(answer, dict) and "answer" in answer
    }
    return dict(known.get(gold, (_md5(gold.strip()), {"answer": gold, "references": []})) for gold in golds)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
