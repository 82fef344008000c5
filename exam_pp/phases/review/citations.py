"""Citations of the parts of answers, with the labels of graders, for the review page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from exam_pp.data_model import QueryPassages, SupportGrades, SupportLabel
from exam_pp.roles import outputs_of


class Label(NamedTuple):
    """The label that a grader gave a citation.

    ``support`` is None for an ungraded citation, with the cause in ``reason``. ``reply`` is the model's raw
    reply, ``comment`` that of a reviewer.
    """

    grader: str
    support: SupportLabel | None
    reply: str | None
    reason: str | None
    comment: str | None


@dataclass
class Citation:
    """A passage that a part cites, with its labels by grader; ``text`` is None if the file lacks it."""

    citation: str
    text: str | None
    labels: dict[str, Label] = field(default_factory=dict)


def citations_of(query: QueryPassages, model: str | None = None) -> dict[str, dict[str, Citation]]:
    """Id of a part of an answer to its citations by id, in order.

    ``model``: Only labels of this model or reviewer; None for all. Returns the citations of parts with text;
    parts without citations have no key. Of several labels of a grader, the last one counts.
    """
    cited: dict[str, dict[str, Citation]] = {}
    if not any(entry.citations for passage in query.passages for entry in passage.rankings):
        return cited
    for output in outputs_of(query).values():
        for part in output.parts:
            if not part.citations or not part.passage.text.strip():
                continue
            of_part = cited.setdefault(part.passage.passage_id, {})
            for key in part.citations:
                text = output.cited[key].text if key in output.cited else ""
                of_part.setdefault(key, Citation(key, text if text.strip() else None))
            for grades in part.passage.support_grades or ():
                if model in (None, grades.model):
                    _add_labels(of_part, grades)
    return cited


def _add_labels(of_part: dict[str, Citation], grades: SupportGrades) -> None:
    prompt = f" ({grades.prompt_class})" if grades.prompt_class else ""
    grader = f"{grades.model or '(no model)'}{prompt}"
    for item in grades.supports:
        citation = of_part.get(item.citation)
        if citation is None or (item.support is None and grader in citation.labels):
            continue
        reason = None
        if item.support is None:
            reason = str((item.error or {}).get("failure_reason", "no reason recorded"))
        comment = (grades.comments or {}).get(item.citation)
        citation.labels[grader] = Label(grader, item.support, item.answer, reason, comment)
