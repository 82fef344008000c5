"""Human labels of citations: grades like those of models, with ``human:NAME`` as the model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from exam_pp.data_model import CitationSupport, Passage, QueryPassages, SupportGrades, SupportLabel, is_human
from exam_pp.edits import HumanSupport
from exam_pp.prompts.claims import CITATION_SUPPORT
from exam_pp.roles import role_of


def cited_ids(query: QueryPassages) -> dict[str, set[str]]:
    """Id of a part of an answer to the ids that it cites."""
    cited: dict[str, set[str]] = {}
    for passage in query.passages:
        for entry in passage.rankings:
            if role_of(query.query_id, passage.passage_id, entry) == "answer":
                cited.setdefault(passage.passage_id, set()).update(entry.citations or ())
    return cited


def add_supports(passage: Passage, grader: str, new: Sequence[HumanSupport]) -> None:
    """Add a reviewer's labels to a part of an answer, merged with earlier labels by the same reviewer."""
    labels: dict[str, SupportLabel | None] = {}
    comments: dict[str, str] = {}
    others: list[SupportGrades] = []
    position = None
    for grades in passage.support_grades or ():
        if grades.model != grader or grades.prompt_class != CITATION_SUPPORT.name:
            others.append(grades)
            continue
        position = len(others) if position is None else position
        labels |= {item.citation: item.support for item in grades.supports}
        comments |= grades.comments or {}
    for item in new:
        labels[item.citation] = item.support
        comments.pop(item.citation, None)
        if item.comment is not None:
            comments[item.citation] = item.comment
    others.insert(len(others) if position is None else position, _grades(grader, labels, comments))
    passage.take(support_grades=others)


def _grades(grader: str, labels: dict[str, SupportLabel | None], comments: dict[str, str]) -> SupportGrades:
    values: dict[str, Any] = {"comments": comments} if comments else {}
    return SupportGrades(
        model=grader,
        model_options={},
        prompt_info={"prompt_class": CITATION_SUPPORT.name},
        prompt_type=CITATION_SUPPORT.kind,
        supports=[CitationSupport(citation=key, support=label) for key, label in labels.items()],
        **values,
    )


def labels_of_models(passage: Passage, citation: str) -> Collection[SupportLabel]:
    """The labels that models gave a citation of a part."""
    return {
        item.support
        for grades in passage.support_grades or ()
        if not is_human(grades.model)
        for item in grades.supports
        if item.citation == citation and item.support is not None
    }
