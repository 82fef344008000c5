"""CSV files of Open RAG Eval: passages and answers of a RAG system, and their scores.

Input files have the columns ``query_id, query, query_run, passage_id ("[1]"), passage, generated_answer``
and one row per passage. The answer is in the first row of its query and run, and cites passages inline:
``[1]``, ``[2][3]``, ``[1, 2]``. Output files have the columns ``query_id, query`` and one per measure, with
the prefix ``run_1_`` and so on if there are several runs. A cell is a number, or a JSON object such as
``{"precision@": {"1": 1.0}}`` in the column ``retrieval_score_precision_metrics``; as a score, this value has
the name ``retrieval_score_precision_metrics.precision@.1``.

Input files are read as answers, or as passages. The name of the file is the name of the system; if queries
have several runs, they are the repeats of this system.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, Source, Target, csv_records, register
from exam_pp.formats.dropped_fields import count_dropped_answer_fields, trimmed
from exam_pp.formats.open_rag_eval_results import MEASURE, read_results
from exam_pp.formats.sample import Fit, fits, with_columns
from exam_pp.records import replace
from exam_pp.results import Score
from exam_pp.roles import System
from exam_pp.store.csv_cells import write_cells
from exam_pp.store.tables import Cells, Layout, read_cells
from exam_pp.store.trec.answers import Answer, AnswerPart, references_of
from exam_pp.store.trec.runs import check_has_name
from exam_pp.text.sentences import sentences
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

COLUMNS = ("query_id", "query", "query_run", "passage_id", "passage", "generated_answer")
GENERATIONS = Layout(
    ("query_id", "query", "passage_id", "passage", "generated_answer"), ("query_run",), ("query_id",)
)
_ONLY_RUN = "1"


@dataclass
class Generation:
    """One run of a query: the answer, and the passages by number, in file order."""

    query_id: str
    query_text: str
    run: str
    passages: dict[str, str] = field(default_factory=dict)
    answer: str = ""
    line: int | None = field(default=None, compare=False, repr=False)
    lines: dict[str, int | None] = field(default_factory=dict, compare=False, repr=False)


def generations_of(cells: Cells, path: str | Path) -> list[Generation]:
    """The runs of all queries, in the order of their first rows.

    Raises :class:`DataError` if a run has a passage number twice, two answers, or two query texts.
    """
    generations: dict[tuple[str, str], Generation] = {}
    for line, row in cells:
        run = row.get("query_run") or _ONLY_RUN
        new = Generation(row["query_id"], row["query"], run, line=line)
        generation = generations.setdefault((new.query_id, run), new)
        number = row["passage_id"].strip("[] ")
        name = f"run {run} of the query {new.query_id!r}"
        if number in generation.passages:
            raise DataError(f"{name} has the passage [{number}] twice.", file=str(path), line=line)
        if row["query"] not in ("", generation.query_text):
            raise DataError(f"{name} has two different query texts.", file=str(path), line=line)
        if row["generated_answer"] and generation.answer not in ("", row["generated_answer"]):
            raise DataError(f"{name} has two different answers.", file=str(path), line=line)
        if number:
            generation.passages[number] = row["passage"]
            generation.lines[number] = line
        elif row["passage"]:
            raise DataError("is empty.", file=str(path), line=line, field="passage_id")
        generation.answer = generation.answer or row["generated_answer"]
    return list(generations.values())


_NUMBERS = r"\[\s*\d+(?:\s*,\s*\d+)*\s*\]"
_NEXT = re.compile(r"\s+(\S)")
_CLOSING = " \n.,;:!?\"')"
_CITATIONS = re.compile(rf"{_NUMBERS}(?:\s*(?:[,;]\s*)?{_NUMBERS})*")


def cited_sentences(text: str) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
    """Split an answer into sentences, each with the numbers that it cites; count citations inside sentences.

    Citation marks are removed from the text. A mark at the start of a sentence belongs to the sentence before
    it. A mark before a capital letter ends a sentence, even without a full stop.
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
    cited: list[tuple[str, dict[str, None]]] = [(piece.strip(), {}) for piece in pieces]
    inside = 0
    for position, numbers in marks:
        index = bisect_left(ends, max(position, 1))
        cited[index][1].update(dict.fromkeys(numbers))
        inside += bool(plain[position : ends[index]].strip(_CLOSING))
    return [(sentence, tuple(numbers)) for sentence, numbers in cited if sentence], inside


def _system(source: Source) -> str:
    check_has_name(source.path)
    return _stem(source.path)


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem


@dataclass(frozen=True)
class _Run:
    """A run of a query: system, repeat, and for each passage number the id of the passage."""

    system: str
    repeat: int | None
    generation: Generation
    docids: Mapping[str, str]

    def docid(self, number: str) -> str:
        """The id of a passage; a number without a passage keeps it, so that the citation is not lost."""
        return self.docids.get(number) or _docid(self.system, self.generation.query_id, number)


def _runs(source: Source) -> Iterator[_Run]:
    """The runs of all queries.

    The runs of a query share passages with the same number and text. A passage with another text than in an
    earlier run has an id of its own, and one warning names the first of them.
    """
    system = _system(source)
    generations = generations_of(read_cells(source.path, GENERATIONS, source.dropped.fields), source.path)
    repeats = _repeats([generation.run for generation in generations])
    texts: dict[tuple[str, str], str] = {}
    different: list[str] = []
    for generation in generations:
        query_id, repeat = generation.query_id, repeats[generation.run]
        docids: dict[str, str] = {}
        for number, text in generation.passages.items():
            docids[number] = _docid(system, query_id, number)
            if texts.setdefault((query_id, number), text) != text:
                docids[number] = _docid(str(System(system, repeat)), query_id, number)
                different.append(
                    f"{source.path}, line {generation.lines[number]}, passage: run {generation.run} of the "
                    f"query {query_id!r} has another text of [{number}] than an earlier run"
                )
        yield _Run(system, repeat, generation, docids)
    if different:
        more = f" ({counted(len(different) - 1, 'more passage')})" if len(different) > 1 else ""
        log.warning("%s%s; both are kept, with different ids.", different[0], more)


def _repeats(runs: Sequence[str]) -> dict[str, int | None]:
    """Run to repeat: None for a single run, otherwise its number, or its place if runs are not numbers."""
    names = list(dict.fromkeys(runs))
    if len(names) == 1:
        return {names[0]: None}
    # Longer numbers are no numbers of runs, and Python refuses those of more than 4,300 digits.
    numbers = [int(name) if name.isdecimal() and len(name) < 19 else 0 for name in names]
    if min(numbers) < 1 or len(set(numbers)) < len(names):
        numbers = list(range(1, len(names) + 1))
    return dict(zip(names, numbers, strict=True))


def _docid(system: str, query_id: str, number: str) -> str:
    """An id with system and query, since a passage number is only unique within an answer."""
    return f"{system}/{query_id}[{number}]"


def _read_answers(source: Source) -> Iterator[Answer]:
    for run in _runs(source):
        generation = run.generation
        parts, inside = cited_sentences(generation.answer)
        source.dropped.add("positions of citations inside sentences", inside)
        yield Answer(
            generation.query_id,
            run.system,
            tuple(AnswerPart(text, tuple(map(run.docid, numbers))) for text, numbers in parts),
            query_text=generation.query_text,
            references=tuple(map(run.docid, generation.passages)),
            repeat=run.repeat,
            texts=tuple((run.docid(number), text) for number, text in generation.passages.items()),
            line=generation.line,
        )


def _read_passages(source: Source) -> list[QueryPassages]:
    """The retrieved passages, ranked in the order of the rows."""
    queries: dict[str, dict[str, Passage]] = {}
    for run in _runs(source):
        generation = run.generation
        source.dropped.add("answers", bool(generation.answer))
        source.dropped.add("query texts", bool(generation.query_text))
        passages = queries.setdefault(generation.query_id, {})
        for rank, (number, text) in enumerate(generation.passages.items(), 1):
            docid = run.docid(number)
            entry = RankingEntry(
                method=run.system,
                passage_id=docid,
                query_id=generation.query_id,
                rank=rank,
                score=float(len(generation.passages) - rank + 1),
            )
            if run.repeat is not None:
                entry = replace(entry, repeat=run.repeat)
            data = PassageData(judgments=[], rankings=[])
            passages.setdefault(docid, Passage(passage_id=docid, text=text, data=data)).rankings.append(entry)
    return [QueryPassages(query_id, list(ps.values())) for query_id, ps in queries.items() if ps]


def _write_answers(answers: Iterable[Answer], target: Target) -> None:
    """Write each system, or each repeat of a single system, as a run, with its references as passages.

    The contexts of the target give texts that the answers lack. Raises
    :class:`~exam_pp.errors.SelectionError` for an answer without a query text, which the prompts of Open RAG
    Eval need.
    """
    answers = list(answers)
    runs: dict[tuple[str, int | None], str] = {}
    several = len({answer.system for answer in answers}) > 1

    def generations() -> Iterator[Generation]:
        for answer in answers:
            if not answer.query_text.strip():
                raise SelectionError(
                    f"The answer of {answer.system!r} has no text of the query {answer.query_id!r}, which "
                    "Open RAG Eval needs; name a file of query texts with --queries."
                )
            keeps = {
                "query texts", "citations", "uncited references", "boundaries of answer parts",
                "passage texts", "repeats",
            }  # fmt: skip
            count_dropped_answer_fields(answer, keeps, target.dropped)
            number_of_run = len(runs) + 1 if several or answer.repeat is None else answer.repeat
            run = runs.setdefault((answer.system, answer.repeat), str(number_of_run))
            references = references_of(answer)
            numbers = {docid: str(number) for number, docid in enumerate(references, 1)}
            parts = [(part.text, tuple(numbers[docid] for docid in part.citations)) for part in answer.parts]
            text = " ".join(sentence + _marks(cited) for sentence, cited in parts)
            if answer.by_sentence:
                target.dropped.add("boundaries of answer parts", cited_sentences(text.strip()) != (parts, 0))
            texts = dict(target.contexts.get(answer.query_id, {})) | dict(answer.texts)
            target.dropped.add("document ids", len(references))
            missing = sum(docid not in texts for docid in references)
            target.dropped.add("document texts missing from --passages", missing)
            passages = {numbers[docid]: trimmed(texts.get(docid, ""), target.dropped) for docid in references}
            query_text = trimmed(answer.query_text, target.dropped)
            yield Generation(answer.query_id, query_text, run, passages, text)

    written = list(generations())
    target.dropped.add("system names", len({system for system, _ in runs}))
    rows = [
        (
            generation.query_id,
            generation.query_text,
            generation.run,
            f"[{number}]" if number else "",
            text,
            generation.answer if position == 0 else "",
        )
        for generation in written
        for position, (number, text) in enumerate((generation.passages or {"": ""}).items())
    ]
    write_cells(COLUMNS, rows, target.path, ids=("query_id",), inputs=target.inputs)


def _marks(numbers: Sequence[str]) -> str:
    """The citation marks at the end of a sentence."""
    return f" {''.join(f'[{number}]' for number in numbers)}" if numbers else ""


def _read_scores(source: Source) -> list[Score]:
    scores, not_numbers = read_results(source.path, _system(source))
    source.dropped.fields(not_numbers)
    return scores


register(
    Format(
        "open-rag-eval", "answers", "answers with passages of Open RAG Eval, CSV",
        with_columns("query_id", "passage_id", "generated_answer"), csv_records(generations_of, GENERATIONS),
        "answer", _read_answers, _write_answers,
    ),
    Format(
        "open-rag-eval-passages", "passages", "passages of Open RAG Eval, CSV",
        read=_read_passages, written_by="--to open-rag-eval --passages",
    ),
    Format(
        "open-rag-eval-scores", "scores", "results of Open RAG Eval, CSV",
        fits(lambda of: "query_id" in of.columns and any(map(MEASURE.match, of.columns)), Fit.FAIR),
        lambda path: read_results(path, _stem(path))[0], "score", _read_scores,
        written_by="exam-pp evaluate rag",
    ),
)  # fmt: skip
