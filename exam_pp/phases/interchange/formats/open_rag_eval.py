"""Conversion: the CSV files of Open RAG Eval.

Its input holds what one system retrieved and answered: read as answers, or as passages. The system is named
by the file; where a query has several runs, each of them is a system of its own, ``FILE-run-1`` and so on.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from exam_pp.data_model import Passage, PassageData, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.phases.interchange.answer_units import ranking_entry, sentences
from exam_pp.phases.interchange.dropped_fields import answer_losses, trimmed
from exam_pp.phases.interchange.formats.base import Source, Target, add_format
from exam_pp.results import ALL_QUERIES, RunLine, Score
from exam_pp.store.csv_cells import read_cells
from exam_pp.store.files import is_stream
from exam_pp.store.interchange.open_rag_eval import (
    GENERATIONS,
    Generation,
    generations_of,
    read_results,
    write_generations,
    write_results,
)
from exam_pp.store.trec.answer_lines import references_of
from exam_pp.store.trec.answers import Answer, AnswerPart

_NUMBERS = r"\[\s*\d+(?:\s*,\s*\d+)*\s*\]"
_NEXT = re.compile(r"\s+(\S)")
_CLOSING = " \n.,;:!?\"')"
_CITATIONS = re.compile(rf"{_NUMBERS}(?:\s*(?:[,;]\s*)?{_NUMBERS})*")


def cited_sentences(text: str) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
    """The sentences of an answer, each with the numbers that it cites, and how many citations stood inside.

    The marks of citations are taken out of the text. Those that open a sentence belong to the one before;
    one in front of a capital letter ends its sentence, which the system then left without a full stop.
    """
    plain = ""
    marks: list[tuple[int, tuple[str, ...]]] = []
    borders = [0]
    end = 0
    for match in _CITATIONS.finditer(text):
        plain += text[end : match.start()].rstrip()
        marks.append((len(plain), tuple(re.findall(r"\d+", match[0]))))
        end = match.end()
        following = _NEXT.match(text, end)
        if following and following[1].isupper():
            borders.append(len(plain))
        elif plain and text[end : end + 1].isalnum():
            plain += " "
    plain += text[end:]
    if not plain.strip():
        return ([(text.strip(), ())] if text.strip() else []), 0
    stretches = [plain[start:stop] for start, stop in pairwise([*borders, len(plain)])]
    pieces = [piece for stretch in stretches for piece in sentences(stretch)]
    ends = list(accumulate(map(len, pieces)))
    found: list[tuple[str, dict[str, None]]] = [(piece.strip(), {}) for piece in pieces]
    inside = 0
    for position, numbers in marks:
        place = bisect_left(ends, max(position, 1))
        found[place][1].update(dict.fromkeys(numbers))
        inside += bool(plain[position : ends[place]].strip(_CLOSING))
    return [(words, tuple(numbers)) for words, numbers in found if words], inside


def _system(source: Source) -> str:
    if is_stream(source.path):
        raise SelectionError("Open RAG Eval names a system by its file: name a file, not a stream.")
    return Path(source.path.name.removesuffix(".gz")).stem


def _generations(source: Source) -> Iterator[tuple[str, Generation]]:
    """The runs of queries with the names of their systems."""
    system = _system(source)
    cells = read_cells(source.path, GENERATIONS)
    for name, count in cells.unused.items():
        source.losses.add(f"values of {name!r}", count)
    found = generations_of(cells, source.path)
    several = len({generation.run for generation in found}) > 1
    for generation in found:
        yield f"{system}-run-{generation.run}" if several else system, generation


def _docid(system: str, query_id: str, number: str) -> str:
    """Numbers count within an answer: other files have other passages of that number."""
    return f"{system}/{query_id}[{number}]"


def _read_answers(source: Source) -> Iterator[Answer]:
    for system, generation in _generations(source):
        query_id = generation.query_id
        parts, inside = cited_sentences(generation.answer)
        source.losses.add("places of citations inside sentences", inside)
        source.losses.add("texts of passages", len(generation.passages))
        yield Answer(
            query_id,
            system,
            tuple(
                AnswerPart(text, tuple(_docid(system, query_id, number) for number in numbers))
                for text, numbers in parts
            ),
            query_text=generation.query_text,
            references=tuple(_docid(system, query_id, number) for number in generation.passages),
        )


def _read_passages(source: Source) -> list[QueryPassages]:
    """What was retrieved, ranked in the order of the rows."""
    queries: dict[str, QueryPassages] = {}
    for system, generation in _generations(source):
        source.losses.add("answers", bool(generation.answer))
        source.losses.add("texts of queries", bool(generation.query_text))
        query = queries.setdefault(generation.query_id, QueryPassages(generation.query_id, []))
        for rank, (number, text) in enumerate(generation.passages.items(), 1):
            docid = _docid(system, query.query_id, number)
            score = float(len(generation.passages) - rank + 1)
            entry = ranking_entry(RunLine(query.query_id, docid, rank, score, system), ())
            data = PassageData(judgments=[], rankings=[entry])
            query.passages.append(Passage(passage_id=docid, text=text, data=data))
    return [query for query in queries.values() if query.passages]


def _write_answers(answers: Iterable[Answer], target: Target) -> None:
    """Each system is a run, its answers' references are its passages, their texts those of the contexts.

    Raises :class:`~exam_pp.errors.SelectionError` for answers without the texts of their queries, which Open
    RAG Eval's judges are shown.
    """
    runs: dict[str, str] = {}

    def generations() -> Iterator[Generation]:
        for answer in answers:
            query_text = answer.query_text
            if not query_text.strip():
                query_text = target.query_texts.get(answer.query_id, "")
            if not query_text.strip():
                raise SelectionError(
                    f"Open RAG Eval needs the text of the query {answer.query_id!r}, which the answer of "
                    f"{answer.system!r} does not say: name a file of queries with --queries."
                )
            keeps = {"query texts", "cited documents", "references that are not cited", "boundaries of parts"}
            answer_losses(answer, keeps, target.losses)
            runs.setdefault(answer.system, str(len(runs) + 1))
            references = references_of(answer)
            numbers = {docid: str(number) for number, docid in enumerate(references, 1)}
            parts = [(part.text, tuple(numbers[docid] for docid in part.citations)) for part in answer.parts]
            text = " ".join(words + _marks(cited) for words, cited in parts)
            if answer.by_sentence:
                target.losses.add("boundaries of parts", cited_sentences(text.strip()) != (parts, 0))
            texts = target.contexts.get(answer.query_id, {})
            target.losses.add("ids of documents", len(references))
            missing = sum(docid not in texts for docid in references)
            target.losses.add("texts of documents, which --contexts would give", missing)
            passages = {numbers[docid]: trimmed(texts.get(docid, ""), target.losses) for docid in references}
            query_text = trimmed(query_text, target.losses)
            yield Generation(answer.query_id, query_text, runs[answer.system], passages, text)

    written = list(generations())
    target.losses.add("names of systems", len(runs))
    write_generations(written, target.path, inputs=target.inputs)


def _marks(numbers: Sequence[str]) -> str:
    return f" {''.join(f'[{number}]' for number in numbers)}" if numbers else ""


def _read_scores(source: Source) -> list[Score]:
    scores, others = read_results(source.path, _system(source))
    for column, count in others.items():
        source.losses.add(f"values of {column!r}", count)
    return scores


def _write_scores(scores: Iterable[Score], target: Target) -> None:
    scores = list(scores)
    if all(score.query_id == ALL_QUERIES for score in scores):
        raise SelectionError("Results of Open RAG Eval are of single queries, and these scores are means.")
    target.losses.add("means", sum(score.query_id == ALL_QUERIES for score in scores))
    target.losses.add("names of systems", len({score.system for score in scores}))
    write_results(scores, target.path, inputs=target.inputs)


add_format(
    "open-rag-eval", "answers", "answers with passages of Open RAG Eval, CSV", _read_answers, _write_answers
)
add_format(
    "open-rag-eval-passages", "passages", "passages beside answers of Open RAG Eval, CSV",
    _read_passages, None, written_by="--to open-rag-eval --contexts",
)  # fmt: skip
add_format("open-rag-eval-scores", "scores", "results of Open RAG Eval, CSV", _read_scores, _write_scores)
