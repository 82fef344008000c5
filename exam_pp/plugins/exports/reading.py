"""Reader of exports: answers with their contexts, the reference answers as a bank, proposals of columns."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from exam_pp.banks import REFERENCES, TARGET, BankLine, make_entry
from exam_pp.errors import DataError
from exam_pp.formats.bank_csv import BANK, has_bank
from exam_pp.formats.base import Format, Source, register
from exam_pp.formats.dropped_fields import DroppedFields, count_unused
from exam_pp.formats.sample import Fit, Sample
from exam_pp.plugins.exports.tools import REFERENCES as DATA_SET
from exam_pp.plugins.exports.tools import TOOLS, Tool
from exam_pp.plugins.exports.values import (
    ANSWER,
    QUESTION,
    located,
    other_messages,
    parsed,
    passages_of,
    rows_of,
    text_of,
    unfolded,
)
from exam_pp.store.csv_cells import plain_name
from exam_pp.store.files import read_text
from exam_pp.store.parsing import lists_of, read_objects
from exam_pp.store.problems import Problems
from exam_pp.store.tables import ANSWERS, Layout, given_columns, read_rows, stem_of
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.text.keys import id_of_text

MEANINGS = replace(
    ANSWERS,
    optional=(*ANSWERS.optional, "contexts", "reference"),
    names={**ANSWERS.names, "contexts": ("context", "passages"), "reference": ("reference_answer",)},
)
"""What ``--columns`` can name in an export."""
_MEANINGS_OF_BANKS = replace(MEANINGS, kind="bank")
_WORDS = {
    "query_text": "question query userinput userquery usermessage prompt input request message frage anfrage "
    "pregunta consulta pergunta domanda vraag вопрос 質問 问题 問題 질문 سؤال السؤال",
    "text": "answer response output completion reply generated prediction result antwort respuesta réponse "
    "resposta risposta antwoord ответ 回答 答え 答案 답변 إجابة الإجابة جواب",
    "contexts": "contexts context docs documents passages retrieved sources chunks",
    "reference": "reference expected groundtruth gold target referenz musterantwort referencia référence",
    "query_id": "queryid questionid qid",
    "system": "system model provider version variant",
}
"""Meaning to words of names that suggest it, best first."""
_REFERENCES = "reference answers (--bank reads them)"


def first_list(value: Any, tool: Tool) -> list[dict[str, Any]]:
    """The outermost list of a document with the marks of a tool in its first objects; else empty."""
    marks = [(mark.removeprefix("-"), mark[:1] != "-") for mark in tool.marks.split()]
    for objects in islice(lists_of(value), 60):
        for record in map(unfolded, objects[:3]):
            if all(any(True for _ in located(record, mark)) is must for mark, must in marks):
                return objects
    return []


def _sniff(sample: Sample, tool: Tool, fit: Fit) -> Fit:
    named = given_columns(_MEANINGS_OF_BANKS, sample.names).keys()
    if tool is DATA_SET and named >= {"query_text", "reference"}:
        return fit
    value = sample.value if sample.value is not None else dict.fromkeys(sample.names, "")
    return fit if first_list(rows_of(value) or value, tool) else Fit.NOT


@dataclass
class Asked:
    """A question in an export: its records, of which ``record`` has the answer, and its place in the file."""

    records: list[dict[str, Any]]
    record: dict[str, Any]
    line: int | None
    query_text: str
    query_id: str


class Export:
    """An export of a tool, and the keys in use; raises :class:`~exam_pp.errors.DataError`.

    What stands around its records is their value of the key ``^``. ``tool`` has the places that the user
    named instead of its own.
    """

    def __init__(self, source: Source, tool: Tool, meanings: Layout = MEANINGS) -> None:
        self.path, self.dropped = source.path, source.dropped
        self.used: set[tuple[str, ...]] = {("^",)}
        values = read_values(source.path)
        self.records: list[tuple[int | None, dict[str, Any]]] = []
        named = {plain_name(place.split(".")[1]) for place in tool.system.split("|") if place[:1] == "^"}
        is_around = bool(values) and values[0][1] not in first_list(values[0][1], tool)
        for line, document in values:
            found = (first_list(document, tool) if is_around else []) or [document]
            around = {
                key: value
                for key, value in document.items()
                if plain_name(key) not in named
                and found[0] is not document
                and not any(each[0] is found[0] for each in lists_of(value))
            }
            self.dropped.keys(around)
            self.records += [(line, {**unfolded(each), "^": document if is_around else {}}) for each in found]
        columns = keys_of([record for _, record in self.records[:20]])
        self.tool = tool._replace(**given_columns(meanings, columns))

    def asked(self) -> Iterator[Asked]:
        """The questions, in order; spans of one trace are one."""
        groups: dict[Any, list[tuple[int | None, dict[str, Any]]]] = defaultdict(list)
        for number, (line, record) in enumerate(self.records):
            groups[self.text(record, self.tool.trace) or number].append((line, record))
        for group in groups.values():
            roots = (pair for pair in group if not self.text(pair[1], self.tool.parent))
            line, record = next(roots, group[0])
            text = self.text(record, self.tool.query_text, QUESTION)
            others = (other_messages(value) for value, _ in located(record, self.tool.query_text))
            self.dropped.add("other messages of conversations", max(others, default=0))
            own = self.text(record, f"{self.tool.query_id}|query_id|qid|topic_id|question_id")
            yield Asked([each for _, each in group], record, line, text, own or (text and id_of_text(text)))

    def text(self, record: Mapping[str, Any], places: str, names: tuple[str, ...] = ANSWER) -> str:
        """The first text that is not empty at the places."""
        texts = (text_of(value, names, path, self.used) for value, path in located(record, places))
        return next(filter(None, texts), "")

    def system_of(self, record: Mapping[str, Any]) -> tuple[str, int]:
        """The system of an answer, and its number among those of this name."""
        system = self.text(record, f"{self.tool.system}|system|system_id|run_id") or stem_of(self.path)
        return system, int(self.text(record, self.tool.variant) or 0)

    def references(self, record: Mapping[str, Any]) -> list[str]:
        """The reference answers of a record."""
        for value, path in located(record, self.tool.reference):
            self.used.add(path)
            inner = parsed(value)
            several = inner if isinstance(inner, list) and inner and isinstance(inner[0], str) else [value]
            if texts := list(filter(None, (text_of(each, ANSWER, path, self.used) for each in several))):
                return texts
        return []

    def count_dropped(self) -> None:
        """Count every key that is not in use."""
        tree: dict[str, Any] = {}
        for path in sorted(self.used, key=len, reverse=True):  # what is used as a whole comes last
            inner = tree
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = True
        for _, record in self.records:
            count_unused(record, tree, self.dropped)


def keys_of(records: Sequence[Any], above: str = "") -> list[str]:
    """The names of all values in records, with points between the keys, from the outermost."""
    found: dict[str, None] = {}
    for record in records:
        for key, value in record.items() if isinstance(record, dict) else ():
            found[above + key] = None
            found |= dict.fromkeys(keys_of([parsed(value)], f"{above}{key}."))
    return list(found)


def read_values(path: Path) -> list[tuple[int | None, dict[str, Any]]]:
    """The objects of a JSON document or of JSON lines, or the rows of a table, with their lines."""
    if read_text(path).lstrip("\ufeff \r\n\t")[:1] in ("{", "["):
        values = list(read_objects(path, "a record"))
        rows = rows_of(values[0][1]) if len(values) == 1 else []
        return [(None, row) for row in rows] or values
    return [(row.line, dict(row.cells)) for row in read_rows(path, Layout((), as_it_is=True))]


def read_answers_of(source: Source, tool: Tool) -> list[Answer]:
    """Read the answers of an export, with its contexts as the passages that the system retrieved.

    Reference answers are counted as dropped, because a bank has them. Raises :class:`DataError` for an answer
    without a question, an export without answers, and two answers of a system to a query.
    """
    export = Export(source, tool)
    problems = Problems(source.path)
    answers: dict[tuple[str, str, str], Answer] = {}
    repeats: set[str] = set()
    questions = list(export.asked())
    named = [export.system_of(each.record) for each in questions]
    variants = {name: sorted({number for other, number in named if other == name}) for name, _ in set(named)}
    for asked, (system, variant) in zip(questions, named, strict=True):
        place = variants[system].index(variant)
        answer = _answer(export, asked, f"{system}-{place + 1}" if place else system)
        repeat = export.text(asked.record, export.tool.repeat)
        repeats.add(repeat)
        before = answers.setdefault((answer.system, answer.query_id, repeat), answer)
        problem = "" if answer.query_id else "has no question, which the answer is to."
        if before is not answer and before.parts == answer.parts:
            source.dropped.add("copies of answers")
        elif before is not answer:
            problem = f"the system {answer.system!r} answers the query {answer.query_text!r} twice."
        if problem:
            problems.add(DataError(problem, file=str(source.path), line=asked.line), "repeated")
    export.count_dropped()
    problems.check()
    if not any(answer.parts for answer in answers.values()):
        problem = "has questions and no answers of a system; reference answers are a test bank: --bank."
        raise DataError(problem, file=str(source.path))
    if len(repeats) == 1:
        return list(answers.values())
    return [replace(answer, repeat=int(repeat)) for (_, _, repeat), answer in answers.items()]


def _answer(export: Export, asked: Asked, system: str) -> Answer:
    texts = _contexts(export, asked.records)
    parts, is_cited = _parts(export, asked.record, list(texts))
    export.dropped.add(_REFERENCES, len(export.references(asked.record)))
    return Answer(
        asked.query_id, system, parts,
        by_sentence=is_cited, query_text=asked.query_text, references=tuple(texts),
        texts=tuple((key, text) for key, text in texts.items() if text), line=asked.line,
    )  # fmt: skip


def _contexts(export: Export, records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Id to text of the contexts of an answer, in order; a context without an id gets one of its text."""
    tool = export.tool
    found: list[tuple[str, str]] = []
    ids: list[str] = []
    for record in records:
        given = (passages_of(*each, export.used, tool.separator) for each in located(record, tool.contexts))
        found += next(filter(None, given), [])
        for value, path in located(record, tool.passage_ids):
            export.used.add(path)
            ids += [str(each) for each in parsed(value)]
    found = found or [(key, "") for key in ids]
    ids = ids if len(ids) == len(found) else [""] * len(found)
    texts: dict[str, str] = {}
    for (own, text), other in zip(found, ids, strict=True):
        key = own or other or id_of_text(text)
        texts[key if texts.get(key, text) == text else f"{key}#{id_of_text(text)}"] = text
    return texts


def _parts(
    export: Export, record: Mapping[str, Any], ids: Sequence[str]
) -> tuple[tuple[AnswerPart, ...], bool]:
    """The parts of an answer, and whether they are sentences with citations of the system."""
    for value, path in located(record, export.tool.answer):
        inner = parsed(value)
        if isinstance(inner, list) and inner and all(isinstance(e, dict) and "citations" in e for e in inner):
            export.used.update(((*path, "text"), (*path, "citations")))
            return tuple(
                AnswerPart(str(each.get("text", "")), tuple(
                    ids[cited] if isinstance(cited, int) and cited < len(ids) else str(cited)
                    for cited in each["citations"]
                )) for each in inner if str(each.get("text", "")).strip()
            ), True  # fmt: skip
    text = export.text(record, export.tool.answer)
    return ((AnswerPart(text),) if text else ()), False


def read_references(source: Source) -> list[BankLine]:
    """Read the reference answers of an export as a bank; raises :class:`DataError` if it has none."""
    lines: dict[str, BankLine] = {}
    if tool := _tool_of(Sample.of(source.path)):
        export = Export(source, tool, _MEANINGS_OF_BANKS)
        for asked in export.asked():
            key, texts = asked.query_id, export.references(asked.record) if asked.query_id else []
            export.dropped.add("questions without a reference answer", not texts)
            group = {"group": f"{key}/references"} if len(texts) > 1 else {}
            made = [make_entry("nugget", key, text, **group) for text in texts]
            if made:
                line = BankLine(
                    query_id=key, query_text=asked.query_text, info={TARGET: REFERENCES}, items=made
                )
                lines.setdefault(key, line)
        export.count_dropped()
    if not lines:
        problem = (
            "has answers and no test bank or references: --bank and --answers look swapped. If it has "
            "references under another name, name their column, as in --columns bank:reference=answer."
        )
        raise DataError(problem, file=str(source.path))
    return list(lines.values())


def _tool_of(sample: Sample) -> Tool | None:
    """The tool whose export has references, or else questions; None for other files."""
    return next((tool for tool in (DATA_SET, *TOOLS) if _sniff(sample, tool, Fit.LOOSE)), None)


def read_queries_of(path: Path) -> dict[str, str]:
    """Read the questions of an export by their ids; empty for other files."""
    with suppress(DataError):  # the reader of queries raises its own
        if tool := _tool_of(Sample.of(path)):
            asked = Export(Source(path, DroppedFields()), tool).asked()
            return {each.query_id: each.query_text for each in asked if each.query_id}
    return {}


def read_unknown(path: Path, dropped: DroppedFields) -> list[Answer] | None:
    """Read the answers of a file by the columns that the user named.

    Returns None for a file that has neither these nor names that look like a question and an answer. Raises
    :class:`DataError` with a proposal for one that has such names.
    """
    try:
        values = read_values(path)
    except DataError:
        return None  # its reader raises the error
    proposals: list[dict[str, str]] = []
    for records in lists_of(values[0][1] if len(values) == 1 else [value for _, value in values]):
        names = keys_of(records[:20])
        given = given_columns(MEANINGS, names)
        if "answer" in given and given.keys() & {"query_text", "query_id"}:
            key = given.get("query_text") or given["query_id"]
            marks = " ".join(name.replace(" ", "_") for name in (key, given["answer"]))
            return read_answers_of(Source(path, dropped), Tool("columns", "", marks, "", ""))
        proposals.append(_proposal(names))
    best = next((each for each in proposals if {"query_text", "text"} <= each.keys()), None)
    if best is None:
        return None
    columns = [f"{meaning}={name}" for meaning, name in best.items()]
    raise DataError(
        f"is not a file of answers in a known format. It looks like {', '.join(columns)}: add --columns "
        f"{shlex.quote(','.join(columns))}",
        file=str(path),
    )


def _proposal(names: Sequence[str]) -> dict[str, str]:
    """Meaning to the name that suggests it most, each name once."""
    proposal: dict[str, str] = {}
    leaves = [name for name in names if not any(other.startswith(f"{name}.") for other in names)]
    for meaning, words in _WORDS.items():
        taken = proposal.values()
        found = (
            name for word in words.split() for name in leaves
            if name not in taken and word in map(plain_name, name.split("."))
        )  # fmt: skip
        if (best := next(found, None)) is not None:
            proposal[meaning] = best
    return proposal


def _format(tool: Tool) -> Format:
    read, fit = partial(read_answers_of, tool=tool), Fit.LOOSE if tool is TOOLS[-1] else Fit.STRONG
    return Format(
        tool.name, "answers", tool.about, partial(_sniff, tool=tool, fit=fit),
        lambda path: read(Source(path, DroppedFields())), "answer", read,
    )  # fmt: skip


register(
    *map(_format, TOOLS),
    Format(
        "references", "bank", DATA_SET.about,
        # A bank may have gold answers of its questions.
        lambda sample: Fit.NOT if has_bank(BANK.used(sample.names)) else _sniff(sample, DATA_SET, Fit.GOOD),
        lambda path: read_references(Source(path, DroppedFields())), noun="query",
        read=read_references,
    ),
)  # fmt: skip
