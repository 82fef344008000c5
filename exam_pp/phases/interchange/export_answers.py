"""Export of answers in a passages file to the formats of TREC tracks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import Passage, QueryPassages, RankingEntry
from exam_pp.errors import SelectionError
from exam_pp.formats.dropped_fields import DroppedFields, count_dropped_passage_fields
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answer_lines import AnswerFormat, write_answers
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.wording import counted


@dataclass
class AnswerInPassages:
    """The parts of an answer in a passages file: rank, passage and citations."""

    parts: list[tuple[int, Passage, tuple[str, ...]]] = field(default_factory=list)

    def in_order(self) -> Iterator[AnswerPart]:
        """The parts by rank, without empty parts."""
        for _, passage, citations in sorted(self.parts, key=lambda part: part[0]):
            if passage.text.strip():
                yield AnswerPart(passage.text, citations)


def export_answers(
    passages: Path,
    output: Path,
    *,
    form: AnswerFormat,
    systems: Sequence[str] = (),
    queries: Path | None = None,
) -> list[str]:
    """Write the answers of systems (empty: of all systems), and return the lines of the summary.

    Passages with the id ``system/query`` or ``system/query#n`` are the parts of an answer; each is written
    with its citations. Raises :class:`~exam_pp.errors.SelectionError` for a system without answers.
    """
    inputs = [passages, *([queries] if queries else [])]
    check_output(output, inputs)
    texts = read_query_texts(queries) if queries else {}
    dropped = DroppedFields()
    answers = answers_of(read_passages(passages), systems, dropped)
    answering = {system for system, _ in answers}
    if missing := [system for system in systems if system not in answering]:
        raise SelectionError(f"{passages} has no answers of the system {missing[0]!r}.")
    if not answers:
        raise SelectionError(f"{passages} has no answers; import answers with exam-pp import --answers.")
    lines = [
        Answer(query_id, system, tuple(answer.in_order()), query_text=texts.get(query_id, ""))
        for (system, query_id), answer in answers.items()
    ]
    if form == "plain":
        dropped.add("citations", sum(len(part.citations) for line in lines for part in line.parts))
    write_answers(lines, output, form, inputs=inputs)
    unknown = {"rag25": "team_id and type are", "ragtime": "team_id is"}
    notes = [f"{unknown[form]} empty, as a passages file does not record them."] if form in unknown else []
    if form in ("rag24", "rag25") and (without := {query_id for _, query_id in answers} - texts.keys()):
        have = counted(len(without), "query has", "queries have")
        hint = f"{queries} has no text for them" if queries else "name a file of query texts with --queries"
        notes.append(f"{have} an empty text; {hint}.")
    wrote = f"Wrote {counted(len(answers), 'answer')} (systems: {len(answering)})."
    return [wrote, *notes, *dropped.lines()]


def answers_of(
    passages: Iterable[QueryPassages], systems: Sequence[str], dropped: DroppedFields
) -> dict[tuple[str, str], AnswerInPassages]:
    """(System, query id) to the answer that was imported as passages; empty ``systems`` selects all.

    A part that its system ranks twice has the better rank. Counts the fields that answers cannot hold.
    """
    answers: dict[tuple[str, str], AnswerInPassages] = {}
    for query in passages:
        for passage in query.passages:
            best_entries: dict[str, RankingEntry] = {}
            for entry in sorted(passage.rankings, key=lambda entry: entry.rank):
                whole = f"{entry.method}/{query.query_id}"
                is_part = passage.passage_id == whole or passage.passage_id.startswith(f"{whole}#")
                if is_part and (not systems or entry.method in systems):
                    best_entries.setdefault(entry.method, entry)
            for system, entry in best_entries.items():
                answer = answers.setdefault((system, query.query_id), AnswerInPassages())
                answer.parts.append((entry.rank, passage, tuple(entry.citations or ())))
            if best_entries:
                kept = frozenset({"passage texts", "ranking entries", "citations"})
                count_dropped_passage_fields(QueryPassages(query.query_id, [passage]), kept, dropped)
                dropped.add("other ranking entries", len(passage.rankings) - len(best_entries))
    return answers
