"""Export of answers in a passages file to the formats of TREC tracks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from exam_pp.data_model import Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.formats.dropped_fields import DroppedFields, count_dropped_passage_fields
from exam_pp.roles import outputs_of
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answer_lines import AnswerFormat, write_answers
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.wording import counted


def export_answers(
    passages: Path,
    output: Path,
    *,
    form: AnswerFormat,
    systems: Sequence[str] = (),
    queries: Path | None = None,
) -> list[str]:
    """Write the answers of systems (empty: of all systems), and return the lines of the summary.

    Passages with the role ``answer`` (without roles: with the id ``system/query`` or ``system/query#n``) are
    the parts of an answer; each is written with its citations. Passages with the role ``retrieved`` are its
    references. Raises :class:`~exam_pp.errors.SelectionError` for a system without answers.
    """
    inputs = [passages, *([queries] if queries else [])]
    check_output(output, inputs)
    texts = read_query_texts(queries) if queries else {}
    dropped = DroppedFields()
    answers = answers_of(read_passages(passages), systems, dropped)
    answering = {answer.system for answer in answers}
    if missing := [system for system in systems if system not in answering]:
        raise SelectionError(f"{passages} has no answers of the system {missing[0]!r}.")
    if not answers:
        raise SelectionError(f"{passages} has no answers; import answers with exam-pp import --answers.")
    lines = [replace(answer, query_text=texts.get(answer.query_id, "")) for answer in answers]
    dropped.add("passage texts", sum(len(line.texts) for line in lines))
    if form == "plain":
        dropped.add("boundaries of answer parts", sum(max(0, len(line.parts) - 1) for line in lines))
    write_answers(lines, output, form, inputs=inputs)
    unknown = {"rag25": "team_id and type are", "ragtime": "team_id is"}
    notes = [f"{unknown[form]} empty, as a passages file does not record them."] if form in unknown else []
    if form in ("rag24", "rag25") and (without := {answer.query_id for answer in answers} - texts.keys()):
        have = counted(len(without), "query has", "queries have")
        hint = f"{queries} has no text for them" if queries else "name a file of query texts with --queries"
        notes.append(f"{have} an empty text; {hint}.")
    wrote = f"Wrote {counted(len(answers), 'answer')} (systems: {len(answering)})."
    return [wrote, *notes, *dropped.lines()]


def answers_of(
    passages: Iterable[QueryPassages],
    systems: Sequence[str],
    dropped: DroppedFields,
    *,
    count_others: bool = False,
) -> list[Answer]:
    """The answers in passages, with the texts of their references; empty ``systems`` selects all.

    A part that its system ranks twice has the better rank. Counts the fields that answers cannot hold, with
    ``count_others`` also all other passages.
    """
    answers: list[Answer] = []
    for query in passages:
        used: Counter[str] = Counter()
        for output in outputs_of(query).values():
            if not output.answered or (systems and output.system not in systems):
                continue
            references = [passage for passage in output.retrieved if _is_reference(passage, output.system)]
            answers.append(
                Answer(
                    query.query_id,
                    output.system,
                    tuple(AnswerPart(part.text, cited) for part, cited in output.parts if part.text.strip()),
                    references=tuple(passage.passage_id for passage in references),
                    repeat=output.repeat,
                    texts=tuple((passage.passage_id, passage.text) for passage in references),
                )
            )
            used.update(passage.passage_id for passage, _ in output.parts)
            used.update(passage.passage_id for passage in references)
        for passage in query.passages:
            if passage.passage_id not in used:
                dropped.add("passages that are not parts of answers", count_others)
                continue
            kept = frozenset({"passage texts", "ranking entries", "citations"})
            count_dropped_passage_fields(QueryPassages(query.query_id, [passage]), kept, dropped)
            dropped.add("other ranking entries", max(0, len(passage.rankings) - used[passage.passage_id]))
    return answers


def _is_reference(passage: Passage, system: str) -> bool:
    """Whether the system retrieved the passage for an answer; in files without roles that is not known."""
    return any(entry.method == system and entry.role == "retrieved" for entry in passage.rankings)
