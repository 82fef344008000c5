"""Consensus of the graders of a file, stored as a grader of its own name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_pp.banks import ASSIGNMENT_LABELS
from exam_pp.data_model import CONSENSUS, HUMAN, AnyGrades, is_consensus
from exam_pp.decided_grades import ConsensusRule, consensus_ratings, decided_grades
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.phases.passages.transform import rewrite
from exam_pp.plugins.trust.panel_members import MIN_GRADERS, PanelMembers, panel_members
from exam_pp.prompts import PROMPTS
from exam_pp.store.files import check_output
from exam_pp.store.inputs import reading
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery
from exam_pp.text.wording import counted, listed

PANEL = "panel:"
"""Prefix of the default names of a consensus: ``panel:median``."""


@dataclass
class ConsensusSummary:
    """Counts for the summary."""

    grader: str
    prompt_class: str
    rule: ConsensusRule
    members: list[GradeKey]
    min_graders: int
    rated: int = 0
    alone: int = 0
    replaced: int = 0
    output: str = ""

    def lines(self) -> Iterator[str]:
        """The summary, a sentence per line."""
        mixed = len({key.prompt_class for key in self.members}) > 1
        names = [f"{key.model} {key.prompt_class}" if mixed else key.model for key in self.members]
        yield (
            f"{counted(self.rated, 'rating')} added as {self.grader} with the prompt "
            f"{self.prompt_class}: the {self.rule} of {counted(len(names), 'grader')} ({listed(names)})."
        )
        if self.alone:
            have = counted(self.alone, "pair has", "pairs have")
            yield f"{have} no consensus: fewer than {self.min_graders} graders rated them (-S min-graders)."
        if self.replaced:
            passages = counted(self.replaced, "passage")
            yield f"The earlier consensus {self.grader} of {passages} was replaced."
        if self.output != "-":
            yield f"Written: {self.output}"


@reading()
def consensus(
    graded: Path,
    output: Path,
    *,
    rule: ConsensusRule = "median",
    name: str | None = None,
    min_graders: int = MIN_GRADERS,
    grade_filter: GradeFilter | None = None,
    graders: Collection[str] = (),
    prompt_classes: Collection[str] = (),
) -> ConsensusSummary:
    """Copy a graded file and add the consensus of its graders, as a grader of its own name.

    The grades of the members stay as they are. An earlier consensus of the same name and prompt class is
    replaced. Ungraded pairs of a member are no vote.

    Args:
        graded: The graded file.
        output: The graded file to write.
        rule: ``mean``: the arithmetic mean, halves rounded down. ``median``: the lower of the two in the
            middle, if their number is even. ``majority``: the most frequent rating, else the lowest of the
            most frequent ones.
        name: Name of the consensus. Default: ``panel:`` and the rule.
        min_graders: Number of graders that must have rated a pair.
        grade_filter: Further criteria for the grades of the members.
        graders: Only these models and reviewers (``human:NAME``). Default: all but other consensuses.
        prompt_classes: Only these prompt classes. Default: all; they must have the same scale.

    Returns:
        Counts of ratings.

    Raises:
        SelectionError: The name is that of another grader, there are fewer graders than ``min_graders``, or
            their prompt classes have different scales.
        DataError: The file is not a graded file.
    """
    name = f"{PANEL}{rule}" if name is None else name
    check_output(output, [graded])
    if not name.strip() or name.startswith(HUMAN):
        raise SelectionError(
            f"{name!r} cannot be the name of a consensus: names with {HUMAN} are those of reviewers."
        )
    if name in graders:
        raise SelectionError(f"{name!r} cannot be a member of the consensus {name!r}: choose another name.")
    members = panel_members(
        read_passages(graded),
        grade_filter or GradeFilter(),
        graded,
        graders=graders,
        prompt_classes=prompt_classes,
        without=name,
    )
    if len(members.keys) < min_graders:
        raise SelectionError(
            f"A consensus needs ratings of {min_graders} graders (-S min-graders), but {graded} has those of "
            f"{counted(len(members.keys), 'grader')}: {listed([str(key) for key in members.keys], '; ')}."
        )
    key = GradeKey(name, members.prompt_class)
    summary = ConsensusSummary(*key, rule, members.keys, min_graders, output=str(output))

    def added(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            summary.replaced += _remove_earlier(passage, key)
            ratings = [of_grader.ratings(passage) for of_grader in members.selectors.values()]
            rated = consensus_ratings(ratings, rule, min_graders)
            summary.rated += len(rated)
            summary.alone += len(set().union(*ratings)) - len(rated)
            if rated:
                passage.add_grades([_grades(rated, key, members, rule, min_graders)])
        return query

    rewrite(graded, output, added)
    return summary


def _remove_earlier(passage: RawPassage, key: GradeKey) -> bool:
    """Remove an earlier consensus of this name and prompt class; returns whether there was one."""
    if all(grades.model != key.model for grades in passage.grade_sets()):
        return False

    def kept(grades: AnyGrades) -> AnyGrades | None:
        if grades.model != key.model:
            return grades
        if not is_consensus(grades):
            raise SelectionError(
                f"The file has grades by {key.model!r}, which are no consensus: choose another --name."
            )
        return None if GradeKey.of(grades) == key else grades

    passage.edit_grades(kept)
    return all(GradeKey.of(grades) != key for grades in passage.grade_sets())


def _grades(
    ratings: Mapping[str, int], key: GradeKey, members: PanelMembers, rule: ConsensusRule, min_graders: int
) -> AnyGrades:
    """The consensus of a passage, with its members."""
    info: dict[str, Any] = {"prompt_class": key.prompt_class, "is_self_rated": members.is_rated}
    if members.is_rated and members.highest is not None and PROMPTS.find(key.prompt_class) is None:
        info["max_rating"] = members.highest
    shared = {
        "model": key.model,
        "model_options": {
            CONSENSUS: rule,
            "min_graders": min_graders,
            "members": [
                {"llm": member.model, "prompt_class": member.prompt_class} for member in members.keys
            ],
        },
        "prompt_info": info,
    }
    kind = "direct" if members.kind == "direct" else members.entry_kind or "question"
    prompt = PROMPTS.find(members.prompt_class)
    labels = () if not members.assigns else prompt.labels if prompt is not None else ASSIGNMENT_LABELS
    return decided_grades(ratings, kind, shared, is_rated=members.is_rated, labels=labels)
