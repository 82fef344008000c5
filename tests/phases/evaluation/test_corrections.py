"""On what claims rest after people corrected grades: all of them, a fair sample, or the judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from exam_pp.metrics.fair_sample import sample_order
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.leaderboards import Statistics, basis_of_claims, leaderboard
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings
from exam_pp.phases.evaluation.verdict import verdict
from exam_pp.reports.evaluation.leaderboards import PARTLY, marked
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import passage, rubric

Rated = Callable[[str, str, str, int], bool]
"""Whether people rated a system's passage at a rank, for a query and an entry."""
WriteLines = Callable[[str, list[Any]], Path]
ENTRIES = "uvwxyz"
QUERIES = [f"q{number}" for number in range(20)]
TRUTH = {"good": 5, "poor": 1}
"""System to the number of entries that its passages cover by people; the judge sees three of each."""


def file_of(
    write_jsonl: WriteLines,
    rated: Rated,
    systems: Collection[str] = ("good", "poor"),
) -> Path:
    """Twenty queries with two passages of each system; for the judge, the first ones are all the same."""
    lines = []
    for query in QUERIES:
        passages = []
        for system in systems:
            for rank in (1, 2):
                name = f"{system}-{query}-{rank}"
                ranking = {
                    "method": system,
                    "rank": rank,
                    "score": 1.0,
                    "queryId": query,
                    "paragraphId": name,
                }
                judged = {entry: 5 if place < 3 else 0 for place, entry in enumerate(ENTRIES)}
                # The second passage covers nothing.
                people = {
                    entry: 5 if place < TRUTH.get(system, 3) and rank == 1 else 0
                    for place, entry in enumerate(ENTRIES)
                    if rated(system, query, entry, rank)
                }
                grades = [rubric(judged if rank == 1 else dict.fromkeys(ENTRIES, 0))]
                grades += [rubric(people, llm="human:ann")] if people else []
                data = {"judgments": [], "rankings": [ranking]}
                passages.append(passage(name, paragraph_data=data, exam_grades=grades))
        lines.append([query, passages])
    return write_jsonl("graded.jsonl", lines)


def in_sample(entries: int) -> Rated:
    return lambda _system, query, entry, _rank: entry in sample_order(query, ENTRIES)[:entries]


def said(evaluation: Evaluation) -> str:
    found = verdict(leaderboard(evaluation, Statistics(places=True)))
    assert found is not None
    assert found.sentence.startswith(found.headline)
    return found.sentence


@pytest.mark.parametrize(
    ("rated", "kind", "min_grade"),
    [
        (lambda system, *_: system == "good", "judge", None),
        (lambda _system, query, *_: query < "q2", "judge", None),
        (lambda _system, _query, entry, _rank: entry in "uvw", "judge", None),
        (in_sample(1), "sample", 1),
        (in_sample(3), "sample", 5),
        (lambda *_: True, "people", None),
    ],
)
def test_basis(write_jsonl: WriteLines, rated: Rated, kind: str, min_grade: int | None) -> None:
    """Whoever chooses what is checked chooses the result, so only everything or the sample counts."""
    basis = basis_of_claims(cover(file_of(write_jsonl, rated), min_grade=min_grade), 0.05)
    assert basis
    assert basis.kind == kind


def test_no_basis_without_people(write_jsonl: WriteLines) -> None:
    assert basis_of_claims(cover(file_of(write_jsonl, lambda *_: False)), 0.05) is None


def test_a_stream_has_the_basis_of_its_file(write_jsonl: WriteLines) -> None:
    file = file_of(write_jsonl, in_sample(4))
    assert said(cover(iter(read_passages(file)))) == said(cover(file))


def test_correcting_one_system_makes_no_claim(write_jsonl: WriteLines) -> None:
    evaluation = cover(file_of(write_jsonl, lambda system, *_: system == "good"))
    board = leaderboard(evaluation, Statistics(intervals="queries", significance=True))
    metric = board.metrics[0]
    assert [board.rows[system, metric].mean for system in ("good", "poor")] == pytest.approx([5 / 6, 0.5])
    assert {board.uncertainty.systems[system, metric].first for system in ("good", "poor")} == {1}
    assert board.uncertainty.untested[metric] == "checked in part"
    words = said(evaluation)
    assert words.startswith("The judge alone: Both systems score 50 % with 20 queries.")
    assert (
        "Corrected scores make no claim: 240 of good's 240, 0 of poor's 240 graded pairs were checked; rate "
        "the fair sample."
    ) in words


def test_a_fair_sample_finds_out_the_judge(write_jsonl: WriteLines) -> None:
    evaluation = cover(file_of(write_jsonl, in_sample(3)))
    words = said(evaluation)
    assert words.startswith(
        "By estimates from a fair sample that 1 person rated (3 of 6 entries of each query): good ("
    )
    assert ") is better than poor (" in words
    assert "The judge alone: Both systems score 50 %." in words


def test_judge_has_no_part_when_people_decided_everything(write_jsonl: WriteLines) -> None:
    evaluation = cover(file_of(write_jsonl, lambda *_: True))
    assert said(evaluation) == (
        "good (83 %) is better than poor (17 %); 20 queries are enough to show it. 80 of 480 ratings "
        "changed by 1 person, who checked 480; the possible places of 2 systems changed."
    )


def test_a_covered_entry_needs_no_further_passage(write_jsonl: WriteLines) -> None:
    """Second passages are rated only for entries that a person did not find in the first one."""

    def rated(system: str, _query: str, entry: str, rank: int) -> bool:
        return rank == 1 or ENTRIES.index(entry) >= TRUTH[system]

    basis = basis_of_claims(cover(file_of(write_jsonl, rated)), 0.05)
    assert basis
    assert basis.kind == "people"
    assert basis.checked == {"good": (20 * 7, 20 * 12), "poor": (20 * 11, 20 * 12)}


def test_every_measure_needs_decisions_of_its_own(write_jsonl: WriteLines) -> None:
    """First passages that a person rates 5 decide Cover, but not nCover, which counts all passages."""

    def rated(system: str, _query: str, entry: str, rank: int) -> bool:
        return rank == 1 or ENTRIES.index(entry) >= TRUTH[system]

    evaluation = cover(file_of(write_jsonl, rated), min_grade=4)
    board = leaderboard(evaluation, Statistics(significance=True))
    assert set(board.uncertainty.untested.items()) == {
        (metric, "checked in part") for metric in board.metrics if metric != "Cover(min_grade=4)@2"
    }
    assert {score.metric for score in marked(evaluation).scores if score.metric.endswith(PARTLY)} == {
        f"{metric}{PARTLY}" for metric in board.uncertainty.untested
    }


def test_nobody_decides_empty_texts(write_jsonl: WriteLines) -> None:
    """Of a system that returned them beside others; in files without texts, somebody must."""
    lines = [
        json.loads(line)
        for line in file_of(write_jsonl, lambda _system, _query, _entry, rank: rank == 1)
        .read_text()
        .splitlines()
    ]
    for without, kind in (({2}, "people"), ({1, 2}, "judge")):
        for _, passages in lines:
            for each in passages:
                if int(each["paragraph_id"][-1]) in without:
                    each["text"] = ""
        basis = basis_of_claims(cover(write_jsonl("g.jsonl", lines)), 0.05)
        assert basis
        assert basis.kind == kind


def test_labels_of_passages_that_people_checked_in_part_are_not_tested(write_jsonl: WriteLines) -> None:
    """Measures of qrels have no sample, so only grades of which people checked all are tested."""
    graded = file_of(write_jsonl, lambda system, *_: system == "good")
    labels = rubric_qrels(graded, label="count")
    evaluation = score_rankings(labels.qrels, graded, ["nDCG@10"])
    evaluation.provenance = labels.provenance
    assert "people checked only some of the grades" in said(evaluation)
    everything = file_of(write_jsonl, lambda *_: True)
    assert not rubric_qrels(everything).provenance.partly_reviewed


def test_marking_scores_of_which_people_checked_all_changes_nothing(write_jsonl: WriteLines) -> None:
    everything = cover(file_of(write_jsonl, lambda *_: True))
    assert marked(everything) is everything


def assigned(labels: dict[str, str], llm: str) -> dict[str, Any]:
    ratings = {"support": 2, "partial_support": 1, "not_support": 0}
    grades = rubric({nugget: ratings[label] for nugget, label in labels.items()}, llm=llm)
    return grades | {
        "prompt_info": {"prompt_class": "NuggetAssignmentPrompt", "is_self_rated": True},
        "prompt_type": "nugget",
        "self_ratings": [{"nugget_id": n, "self_rating": ratings[label]} for n, label in labels.items()],
        "assignments": [{"nugget_id": n, "assignment": label} for n, label in labels.items()],
    }


def test_passages_that_a_system_ranks_twice_are_checked_once(write_jsonl: WriteLines) -> None:
    """People labelled only the first of two passages, which does not support the nugget."""
    ranks = {"first": (1, 3), "second": (2,)}
    passages = []
    for name, of_passage in ranks.items():
        rankings = [
            {"method": "s", "rank": rank, "score": 1.0, "queryId": "q", "paragraphId": name}
            for rank in of_passage
        ]
        grades = [assigned({"v1": "not_support"}, "judge")]
        grades += [assigned({"v1": "not_support"}, "human:ann")] if name == "first" else []
        data = {"judgments": [], "rankings": rankings}
        passages.append(passage(name, paragraph_data=data, exam_grades=grades))
    items = [{"query_id": "q", "nugget_id": "v1", "nugget_text": "v1", "importance": "vital"}]
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "q", "items": items}])
    (evaluation,) = nugget_scores(write_jsonl("g.jsonl", [["q", passages]]), bank, cutoff=5).values()
    basis = basis_of_claims(evaluation, 0.05)
    assert basis
    assert (basis.kind, basis.checked) == ("judge", {"s": (1, 2)})


@pytest.mark.parametrize("measure", ["V_strict", "V", "W_strict", "W", "A_strict", "A"])
def test_units_of_nuggets_add_up_to_the_scores(write_jsonl: WriteLines, measure: str) -> None:
    """With everything decided by people, the scores of the units are the scores of the measure."""
    labels = {"v1": "support", "v2": "partial_support", "o1": "support", "o2": "not_support"}
    ranking = {"method": "s", "rank": 1, "score": 1.0, "queryId": "q", "paragraphId": "s-q"}
    judged = assigned(dict.fromkeys(labels, "not_support"), "judge")
    answer = passage(
        "s-q", paragraph_data={"judgments": [], "rankings": [ranking]},
        exam_grades=[judged, assigned(labels, "human:ann")],
    )  # fmt: skip
    items = [
        {"query_id": "q", "nugget_id": n, "nugget_text": n, "importance": "vital" if n[0] == "v" else "okay"}
        for n in labels
    ]
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "q", "items": items}])
    (evaluation,) = nugget_scores(write_jsonl("g.jsonl", [["q", [answer]]]), bank).values()
    assert evaluation.corrections
    (query,) = evaluation.corrections.queries(measure)
    (score,) = (score.value for score in evaluation.scores if score.metric == measure)
    assert query.people @ query.weights == pytest.approx([score * query.weights.sum()])
    assert not query.judged.any()
    assert query.checked.tolist() == [[4, 4]]
