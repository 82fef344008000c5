"""Answers of systems in passages files: their parts, and the passages that they retrieved or cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exam_pp.data_model import Passage, QueryPassages, RankingEntry


@dataclass(frozen=True)
class PartOfAnswer:
    """A part of an answer: the position of its passage in the query, and the ids that it cites."""

    position: int
    passage: Passage
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class SystemAnswer:
    """The answer of a system to a query.

    Attributes:
        system: Name of the system.
        parts: Parts of the answer, in order.
        retrieved: Passages that the system ranked, best first, without the parts.
        cited: Passages of the file that parts cite, by id.
    """

    system: str
    parts: Sequence[PartOfAnswer]
    retrieved: Sequence[Passage]
    cited: dict[str, Passage]

    @property
    def text(self) -> str:
        """The parts, joined with spaces."""
        return " ".join(part.passage.text for part in self.parts).strip()

    @property
    def sources(self) -> list[Passage]:
        """The passages that the system retrieved, then other passages that the answer cites."""
        by_id = {passage.passage_id: passage for passage in self.retrieved}
        return list((by_id | self.cited).values())

    def cited_by(self, part: PartOfAnswer) -> list[Passage]:
        """The passages of the file that a part cites, each once."""
        return [self.cited[key] for key in dict.fromkeys(part.citations) if key in self.cited]

    def missing(self, parts: Sequence[PartOfAnswer]) -> list[str]:
        """The ids that these parts cite, but the file lacks."""
        cited = dict.fromkeys(key for part in parts for key in part.citations)
        return [key for key in cited if key not in self.cited]


def system_answers(query: QueryPassages) -> list[SystemAnswer]:
    """Return the answers in a line of a passages file.

    Args:
        query: The query with its passages. A passage with the id ``system/query`` or ``system/query#n`` is a
            part of the system's answer.

    Returns:
        An answer for each system with parts, in order of their first parts. A passage that its system ranks
        twice has the better rank.
    """
    by_id = {passage.passage_id: passage for passage in query.passages}
    parts: dict[str, list[tuple[int, PartOfAnswer]]] = {}
    retrieved: dict[str, list[tuple[int, Passage]]] = {}
    for position, passage in enumerate(query.passages):
        best: dict[str, RankingEntry] = {}
        for entry in sorted(passage.rankings, key=lambda entry: entry.rank):
            best.setdefault(entry.method, entry)
        for system, entry in best.items():
            if is_part_of_answer(passage.passage_id, system, query.query_id):
                part = PartOfAnswer(position, passage, tuple(entry.citations or ()))
                parts.setdefault(system, []).append((entry.rank, part))
            else:
                retrieved.setdefault(system, []).append((entry.rank, passage))
    answers = []
    for system, ranked in parts.items():
        in_order = [part for _, part in sorted(ranked, key=lambda item: item[0])]
        cited = {key: by_id[key] for part in in_order for key in part.citations if key in by_id}
        passages = [passage for _, passage in sorted(retrieved.get(system, ()), key=lambda item: item[0])]
        answers.append(SystemAnswer(system, in_order, passages, cited))
    return answers


def is_part_of_answer(passage_id: str, system: str, query_id: str) -> bool:
    """Whether a passage is a part of the system's answer, by its id."""
    whole = f"{system}/{query_id}"
    return passage_id == whole or passage_id.startswith(f"{whole}#")
