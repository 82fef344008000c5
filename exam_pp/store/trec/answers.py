"""Reading and writing answers: TREC RAG 2024 and 2025, NeuCLIR/RAGTIME reports, JSON lines, and tables.

The format of each line is detected by its keys. Sources: the submission formats of TREC RAG 2024
(``run_id, topic_id, topic, references, answer``), TREC RAG 2025 (``metadata`` with ``narrative_id``)
and NeuCLIR / RAGTIME (``metadata`` with ``topic_id`` or ``request_id``, and ``responses``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import AliasChoices, AliasPath, ConfigDict, Field

from exam_pp.data_model import Id, Repeat
from exam_pp.errors import DataError
from exam_pp.models import Record
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import parse_json, valid, write_json_lines
from exam_pp.store.problems import Problems
from exam_pp.store.tables import (
    ANSWERS,
    JsonCell,
    Report,
    are_columns_given,
    column_names,
    read_rows,
    read_table,
    stem_of,
    unless_missing,
)
from exam_pp.text.wording import counted, listed

MAX_WORDS, MAX_WORDS_2024 = 1024, 400
"""Longest answer in words (between whitespace) that TREC RAG accepts: in 2026, and in 2024 and 2025.

Answers of 2025 and 2026 have the same form, so only the limit of 2026 is certain for them.
"""


@dataclass(frozen=True)
class AnswerPart:
    """An element of an answer, usually a sentence, with the ids of the documents that it cites."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The answer of a system to a query.

    With ``by_sentence`` the parts are the elements that the system submitted; otherwise a single part is
    the whole text. ``references`` are documents in the system's order, cited or not. ``query_text`` and
    ``team`` are empty if the format does not have them. ``repeat`` is the number, from 1, of one of several
    answers of the system to the same query. ``texts`` are pairs of a document and its text, if the file of
    answers has texts. ``textless_citations`` counts citations of elements without text, which are no
    parts. ``unlisted`` are cited documents that are no references, if the answer lists references.
    ``max_words`` is the length that its track accepts. ``line`` is the line of the answer, for messages.
    """

    query_id: str
    system: str
    parts: tuple[AnswerPart, ...]
    by_sentence: bool = True
    query_text: str = ""
    references: tuple[str, ...] = ()
    team: str = ""
    repeat: int | None = None
    texts: tuple[tuple[str, str], ...] = ()
    textless_citations: int = field(default=0, compare=False, repr=False)
    unlisted: tuple[str, ...] = field(default=(), compare=False, repr=False)
    max_words: int = field(default=MAX_WORDS, compare=False, repr=False)
    line: int | None = field(default=None, compare=False, repr=False)


def _require_any_alias(schema: dict[str, Any]) -> None:
    """Make a JSON Schema require a field with several names under any of them."""
    aliases = {"narrative_id": ("narrative_id", "topic_id", "request_id"), "answer": ("answer", "responses")}
    for name in set(schema["required"]) & aliases.keys():
        schema["required"].remove(name)
        schema["anyOf"] = [{"required": [alias]} for alias in aliases[name]]
        schema["properties"] |= dict.fromkeys(aliases[name], schema["properties"][name])


class _Part(Record):
    text: str
    # Indices into the references, docids, or docids with a confidence; read by `_citations`.
    citations: Any = None


class Rag24Answer(Record):
    """A line of TREC RAG 2024, also with the names of later tracks, or with the query of ragnarok."""

    system: Id = Field(alias="run_id")
    query_id: Id = Field(
        validation_alias=AliasChoices(
            "topic_id", "narrative_id", "request_id", "query_id", "qid", AliasPath("query", "qid")
        )
    )
    query_text: str | None = Field(
        default=None,
        validation_alias=AliasChoices("topic", "narrative", AliasPath("query", "text"), "query"),
    )
    team: Id | None = Field(default=None, alias="team_id")
    references: list[Id] | None = None
    answer: list[_Part] = Field(validation_alias=AliasChoices("answer", "responses"))
    repeat: Repeat | None = None  # a key of exam_pp, which the tracks do not have


class _Metadata(Record):
    model_config = ConfigDict(json_schema_extra=_require_any_alias)

    system: Id = Field(alias="run_id")
    query_id: Id = Field(validation_alias=AliasChoices("narrative_id", "topic_id", "request_id"))
    query_text: str | None = Field(default=None, alias="narrative")
    team: Id | None = Field(default=None, alias="team_id")
    repeat: Repeat | None = None  # a key of exam_pp, which the tracks do not have


class ReportAnswer(Record):
    """A line of TREC RAG 2025, or of NeuCLIR and RAGTIME."""

    model_config = ConfigDict(json_schema_extra=_require_any_alias)

    metadata: _Metadata
    references: list[Id] | None = None
    answer: list[_Part] = Field(validation_alias=AliasChoices("answer", "responses"))


class PlainAnswer(Record):
    """A line with an answer as a single text, the documents it cites, and those its system retrieved."""

    query_id: Id
    system: Id
    text: str
    references: list[Id] | None = None
    citations: list[Id] | None = None
    repeat: Repeat | None = None  # a key of exam_pp, which the tracks do not have


def read_answers(path: str | Path, report: Report | None = None) -> Iterator[Answer]:
    """Yield the answers of a file, in file order; elements without text are not in ``parts``.

    The file has an answer on each line, or is one JSON array of answers, or a table with a query id and an
    answer. The system of a table is in a column, or else the name of the file. The counts of cells in ignored
    columns go to ``report``, or else the columns are logged. Raises :class:`DataError` for an unknown format,
    a citation index outside the references, and two answers of a system to the same query, unless they are
    different repeats.
    """
    problems = Problems(path)
    answers = (
        _answers_of_table(path, problems, report)
        if is_answer_table(path)
        else _placed_answers(path, problems)
    )
    yield from _checked(answers, path, problems)


def read_answer_table(path: str | Path, report: Report | None = None) -> Iterator[Answer]:
    """Yield the answers of a table, as :func:`read_answers` does."""
    problems = Problems(path)
    yield from _checked(_answers_of_table(path, problems, report), path, problems)


def _checked(
    answers: Iterable[tuple[_Place, Answer]], path: str | Path, problems: Problems
) -> Iterator[Answer]:
    seen: set[tuple[str, str, int | None]] = set()
    is_empty = True
    for place, answer in answers:
        key = (answer.system, answer.query_id, answer.repeat)
        is_empty = False
        if key in seen:
            error = DataError(
                f"the system {answer.system!r} answers the query {answer.query_id!r} twice.",
                file=str(path), line=place.line, field=place.field,
            )  # fmt: skip
            problems.add(error, "repeated")
            continue
        seen.add(key)
        yield answer
    problems.check()
    if is_empty:
        raise DataError("has no answers.", file=str(path))


class _Place(NamedTuple):
    """The place of an answer in messages: its line, or its number in an array."""

    line: int | None
    field: str | None = None


def is_answer_table(path: str | Path) -> bool:
    """Whether a file is a table of answers, and has none of the formats of tracks."""
    columns = column_names(path, ANSWERS)
    if not ANSWERS.fits(columns):
        return False
    first = next(read_rows(path, ANSWERS))
    is_known = {"query_id", "system", "text"} <= set(columns) or bool({"run_id", "metadata"} & set(columns))
    is_of_track = is_known or isinstance(first.cells.get("answer"), JsonCell)
    return are_columns_given() or first.header is not None or not is_of_track


def _answers_of_table(
    path: str | Path, problems: Problems, report: Report | None
) -> Iterator[tuple[_Place, Answer]]:
    for row, cells in read_table(path, ANSWERS, problems, report):
        system = cells.get("system") or stem_of(path)
        text = unless_missing(cells["answer"])
        place = _Place(row.line, None if row.record is None else f"record {row.record}")
        yield place, Answer(
            cells["query_id"], system, (AnswerPart(text),) if text else (), by_sentence=False,
            query_text=cells.get("query_text", ""), line=row.line,
        )  # fmt: skip


def _placed_answers(path: str | Path, problems: Problems) -> Iterator[tuple[_Place, Answer]]:
    lines = read_lines(path)
    for position, (number, line) in enumerate(lines):
        if not position and line[:1] not in (b"{", b"["):
            problem = (
                "is not a file of answers: these are JSON lines, a JSON array, or a table (CSV, TSV) with "
                "the columns query_id, system and answer; --columns gives other columns a meaning, as in "
                "--columns query_text=COLUMN,text=COLUMN."
            )
            if len(header := column_names(path)) > 1:
                problem += f" The header has {listed(header)}."
            raise DataError(problem, file=str(path), line=number)
        is_array = line[:1] == b"[" and line[1:].lstrip()[:1] in (b"", b"{", b"]")
        if is_array or (not position and line.strip() == b"{"):
            yield from _answers_of_array(b"\n".join((line, *(rest for _, rest in lines))), path, problems)
        else:
            try:
                yield _Place(number), _answer(parse_json(line, path, number), path, number)
            except DataError as error:
                problems.add(error)


def _answers_of_array(text: bytes, path: str | Path, problems: Problems) -> Iterator[tuple[_Place, Answer]]:
    values = parse_json(text, path)
    for position, value in enumerate(values if isinstance(values, list) else [values], 1):
        name = f"answer {position} of the array" if isinstance(values, list) else ""
        try:
            yield _Place(None, name), _answer(value, path, None)
        except DataError as error:
            field = ", ".join(filter(None, (name, error.field)))
            problems.add(DataError(error.problem, file=str(path), field=field or None))


def _answer(value: Any, path: str | Path, number: int | None) -> Answer:
    keys = value.keys() if isinstance(value, dict) else set()
    is_of_parts = "answer" in keys and ("run_id" in keys or not isinstance(value["answer"], str))
    if is_of_parts or keys & {"metadata", "responses"}:
        report: Rag24Answer | ReportAnswer
        if "metadata" in keys:
            report = valid(ReportAnswer.model_validate, value, path, number)
        else:
            report = valid(Rag24Answer.model_validate, value, path, number)
        head = report.metadata if isinstance(report, ReportAnswer) else report
        parts = _parts(report, path, number)
        return Answer(
            head.query_id, head.system, parts,
            query_text=head.query_text or "", references=tuple(report.references or ()),
            team=head.team or "", repeat=head.repeat,
            textless_citations=sum(len(of.citations or ()) for of in report.answer if not of.text.strip()),
            unlisted=_unlisted(parts, report.references),
            max_words=MAX_WORDS_2024 if "topic_id" in keys else MAX_WORDS, line=number,
        )  # fmt: skip
    if "text" in keys:
        plain = valid(PlainAnswer.model_validate, value, path, number)
        cited = tuple(dict.fromkeys(plain.citations or ()))
        part = (AnswerPart(plain.text, cited),) if plain.text.strip() else ()
        return Answer(
            plain.query_id, plain.system, part, by_sentence=False,
            references=tuple(plain.references or ()), repeat=plain.repeat,
            textless_citations=0 if part else len(cited), unlisted=_unlisted(part, plain.references),
            line=number,
        )  # fmt: skip
    raise DataError(
        "is not an answer in a known format: TREC RAG 2024 (run_id, topic_id, references, answer), "
        "TREC RAG 2025 (metadata, references, answer), RAGTIME (metadata, responses) or plain "
        "(query_id, system, text; references and citations are optional). Rename the keys, or name them with "
        "--columns.",
        file=str(path), line=number,
    )  # fmt: skip


def _parts(
    report: Rag24Answer | ReportAnswer, path: str | Path, number: int | None
) -> tuple[AnswerPart, ...]:
    references = report.references or []
    parts: list[AnswerPart] = []
    for position, element in enumerate(report.answer, 1):
        try:
            citations = _citations(element.citations, references)
        except ValueError as error:
            field = f"element {position} of the answer, citations"
            raise DataError(str(error), file=str(path), line=number, field=field) from error
        if element.text.strip():
            parts.append(AnswerPart(element.text, citations))
    return tuple(parts)


def _unlisted(parts: Iterable[AnswerPart], references: Collection[str] | None) -> tuple[str, ...]:
    listed = references if references is not None else [docid for part in parts for docid in part.citations]
    return tuple(dict.fromkeys(docid for part in parts for docid in part.citations if docid not in listed))


def _citations(value: Any, references: list[str]) -> tuple[str, ...]:
    """Return the cited document ids without duplicates; raises ValueError with a message for the user."""
    if not isinstance(value, list | dict | None):
        raise ValueError(f"{value!r} is not a list of citations.")
    docids: dict[str, None] = {}
    for citation in value or ():
        if isinstance(citation, str):
            docids[citation] = None
        elif not isinstance(citation, int) or isinstance(citation, bool):
            raise ValueError(f"{citation!r} is neither a document id nor an index into the references.")
        elif not 0 <= citation < len(references):
            number = counted(len(references), "reference")
            raise ValueError(f"the index {citation} is out of range for {number}, counted from 0.")
        else:
            docids[references[citation]] = None
    return tuple(docids)


AnswerFormat = Literal["rag24", "rag25", "ragtime", "plain"]


def write_answers(
    answers: Iterable[Answer], path: str | Path, form: AnswerFormat, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write one answer per line, with the references in the order of :func:`references_of`.

    The plain format has the text, with the parts joined by a space, and the citations of all parts.
    """
    write_json_lines(map(_WRITERS[form], answers), path, inputs=inputs)


def references_of(answer: Answer) -> list[str]:
    """Return the references of an answer in order, then cited documents that are not among them."""
    cited = (docid for part in answer.parts for docid in part.citations)
    return list(dict.fromkeys((*answer.references, *cited)))


def _elements(parts: Sequence[AnswerPart], references: Sequence[str]) -> list[dict[str, Any]]:
    index_of = {docid: index for index, docid in enumerate(references)}
    return [{"text": part.text, "citations": [index_of[docid] for docid in part.citations]} for part in parts]


def _rag24(answer: Answer) -> dict[str, Any]:
    references = references_of(answer)
    return {
        "run_id": answer.system,
        "topic_id": answer.query_id,
        "topic": answer.query_text,
        "references": references,
        "response_length": sum(len(part.text.split()) for part in answer.parts),
        "answer": _elements(answer.parts, references),
        **_repeat(answer),
    }


def _rag25(answer: Answer) -> dict[str, Any]:
    references = references_of(answer)
    metadata = {
        "team_id": answer.team,
        "run_id": answer.system,
        "type": "",
        "narrative_id": answer.query_id,
        "narrative": answer.query_text,
        **_repeat(answer),
    }
    return {"metadata": metadata, "references": references, "answer": _elements(answer.parts, references)}


def _ragtime(answer: Answer) -> dict[str, Any]:
    metadata = {
        "team_id": answer.team,
        "run_id": answer.system,
        "topic_id": answer.query_id,
        **_repeat(answer),
    }
    responses = [{"text": part.text, "citations": list(part.citations)} for part in answer.parts]
    return {"metadata": metadata, "responses": responses, "references": references_of(answer)}


def _plain(answer: Answer) -> dict[str, Any]:
    text = " ".join(part.text for part in answer.parts)
    cited = list(dict.fromkeys(docid for part in answer.parts for docid in part.citations))
    documents = {"references": list(answer.references), "citations": cited}
    return {
        "query_id": answer.query_id,
        "system": answer.system,
        "text": text,
        **{key: ids for key, ids in documents.items() if ids},
        **_repeat(answer),
    }


def _repeat(answer: Answer) -> dict[str, int]:
    """The key ``repeat`` of one of several answers to a query; tracks have no such key."""
    return {} if answer.repeat is None else {"repeat": answer.repeat}


_WRITERS: Mapping[AnswerFormat, Callable[[Answer], dict[str, Any]]] = {
    "rag24": _rag24,
    "rag25": _rag25,
    "ragtime": _ragtime,
    "plain": _plain,
}
