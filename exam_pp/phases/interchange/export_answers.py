"""Export the answers that a passages file holds in the formats of TREC tracks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import Passage, QueryPassages, RankingEntry
from exam_pp.errors import SelectionError
from exam_pp.formats.dropped_fields import DroppedFields, dropped_passage_fields
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answer_lines import AnswerFormat, write_answers
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.wording import counted


@dataclass
class AnswerInPassages:
    """The parts of an answer with their ranks."""

    parts: list[tuple[int, Passage, tuple[str, ...]]] = field(default_factory=list)

    def in_order(self) -> Iterator[AnswerPart]:
        """Every part that has words."""
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
    """Write the answers of some systems, by default of all that answer; returns what people have to know.

    An answer is what was imported as one: passages whose ids are ``system/query``, with ``#n`` for its
    parts. A part is an element of the answer with its citations. Raises
    :class:`~exam_pp.errors.SelectionError` for a system without answers.
    """
    inputs = [passages, *([queries] if queries else [])]
    check_output(output, inputs)
    texts = read_query_texts(queries) if queries else {}
    dropped = DroppedFields()
    answers = answers_of(read_passages(passages), systems, dropped)
    found = {system for system, _ in answers}
    if missing := [system for system in systems if system not in found]:
        raise SelectionError(f"{passages} holds no answer of {missing[0]!r}.")
    if not answers:
        raise SelectionError(f"{passages} holds no answers; import them with --answers.")
    lines = [
        Answer(query_id, system, tuple(answer.in_order()), query_text=texts.get(query_id, ""))
        for (system, query_id), answer in answers.items()
    ]
    if form == "plain":
        dropped.add("cited documents", sum(len(part.citations) for line in lines for part in line.parts))
    write_answers(lines, output, form, inputs=inputs)
    unknown = {"rag25": "team_id and type are", "ragtime": "team_id is"}
    notes = [f"{unknown[form]} not in the passages, and left empty."] if form in unknown else []
    if form in ("rag24", "rag25") and (untold := {query_id for _, query_id in answers} - texts.keys()):
        without = counted(len(untold), "query")
        notes.append(f"No text of {without}, left empty: name a file that has it with --queries.")
    wrote = f"Wrote {counted(len(answers), 'answer')} (systems: {len(found)})."
    return [wrote, *notes, *dropped.lines()]


def answers_of(
    passages: Iterable[QueryPassages], systems: Sequence[str], dropped: DroppedFields
) -> dict[tuple[str, str], AnswerInPassages]:
    """System and query to the answer that was imported as passages; ``systems`` empty: of all.

    A part that its system ranks twice has the better place. Notes what of the parts an answer does not say.
    """
    answers: dict[tuple[str, str], AnswerInPassages] = {}
    for query in passages:
        for passage in query.passages:
            places: dict[str, RankingEntry] = {}
            for entry in sorted(passage.rankings, key=lambda entry: entry.rank):
                whole = f"{entry.method}/{query.query_id}"
                is_part = passage.passage_id == whole or passage.passage_id.startswith(f"{whole}#")
                if is_part and (not systems or entry.method in systems):
                    places.setdefault(entry.method, entry)
            for system, entry in places.items():
                answer = answers.setdefault((system, query.query_id), AnswerInPassages())
                answer.parts.append((entry.rank, passage, tuple(entry.citations or ())))
            if places:
                kept = frozenset({"texts of passages", "places in rankings", "cited documents"})
                dropped_passage_fields(QueryPassages(query.query_id, [passage]), kept, dropped)
                dropped.add("further places in rankings", len(passage.rankings) - len(places))
    return answers
