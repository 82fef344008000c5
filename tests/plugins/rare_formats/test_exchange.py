"""Import and export of nugget assignments and of segments of other tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.formats.base import format_of
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.plugins.rare_formats.candidates import import_candidates
from exam_pp.plugins.rare_formats.nugget_assignments import import_assignments
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import written
from tests.phases.interchange.test_nugget_exchange import read_json
from tests.phases.nugget_material import answer, bank_line

WriteJsonl = Callable[[str, list[Any]], Path]
Lines = list[dict[str, Any]]


def write_assignments(
    graded: Path, bank: Path, out: Path, grades: GradeFilter | None = None
) -> dict[str, int]:
    """Write the assignments, and return the counts of dropped fields."""
    conversion = Conversion(
        graded, out, "nuggetizer-assignments", "graded", bank=bank, grades=grades or GradeFilter()
    )
    return convert(conversion).counts


def assignment(run: str, query_id: str, labels: str | list[str], **keys: Any) -> dict[str, Any]:
    """A line of AutoNuggetizer; labels S, P, N or anything else, importance vital then okay."""
    names = {"S": "support", "P": "partial_support", "N": "not_support"}
    return {
        "query": f"text of {query_id}",
        "qid": query_id,
        "answer_text": f"What {run} says.",
        "response_length": 3,
        "run_id": run,
        "nuggets": [
            {"text": f"nugget {n}", "importance": "okay" if n else "vital", "assignment": names.get(x, x)}
            for n, x in enumerate(labels)
        ],
        **keys,
    }


def test_assignments_become_graded_answers(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    source = write_jsonl(
        "a.jsonl",
        [
            assignment("r", "007", ["Support", "Partial Support", "?", "not-support"]),
            assignment("s", "007", "NNNN"),
        ],
    )
    output = tmp_path / "g.jsonl.gz"
    imported = import_assignments(
        [source], output, bank_output=tmp_path / "b.jsonl", queries_output=tmp_path / "q.json"
    )
    summary = " ".join(imported)
    (query,) = read_passages(output)
    first = query.passages[0]
    (grades,) = first.rubric_grades or []

    assert [p.passage_id for p in query.passages] == ["r/007", "s/007"]
    assert (first.text, first.rankings[0].method, first.rankings[0].rank) == ("What r says.", "r", 1)
    assert (grades.model, grades.prompt_class) == ("nuggetizer", "NuggetAssignment")
    assert [label for _, label in grades.nugget_labels() or ()] == [
        "support",
        "partial_support",
        "not_support",
    ]
    assert list(grades.entry_ratings().values()) == [2, 1, 0]
    ids = list(grades.entry_ratings())
    assert (grades.correct, grades.wrong, grades.relevance_label) == (ids[:2], ids[2:], 2)
    (unread,) = (grades.errors or {}).values()  # type: ignore[union-attr]
    assert unread["response"] == "?"
    assert (
        "1 nugget is ungraded, as its label is not one of not_support, partial_support, support: '?'"
    ) in summary
    bank = read_bank(tmp_path / "b.jsonl")
    assert [entry.importance for entry in bank.entries("007").values()] == ["vital", "okay", "okay", "okay"]
    assert json.loads((tmp_path / "q.json").read_text()) == {"007": "text of 007"}


def test_a_repeated_nugget_keeps_every_label(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    """The label of the second occurrence does not replace the unknown label of the first."""
    line = assignment("r", "1", ["?", "S", "N"])
    for nugget in line["nuggets"][:2]:
        nugget |= {"text": "the same", "importance": "vital"}
    output = tmp_path / "g.jsonl"
    import_assignments([write_jsonl("a.jsonl", [line])], output, bank_output=tmp_path / "b.jsonl")
    (scores,) = nugget_scores(output, tmp_path / "b.jsonl").values()
    assert {row.metric: row.value for row in scores.scores}["V_strict"] == 0.5
    assert {row.metric: row.value for row in scores.best_case}["V_strict"] == 1.0
    write_assignments(output, tmp_path / "b.jsonl", tmp_path / "o.jsonl")
    assert read_json(tmp_path / "o.jsonl") == [line]


def test_assignments_of_a_judge_are_added_to_those_of_a_model(
    write_jsonl: WriteJsonl, tmp_path: Path
) -> None:
    """ManualAssign: manual labels for answers that were imported before, with those of a model."""
    automatic = write_jsonl("auto.jsonl", [assignment("r", "q", "SN")])
    manual = write_jsonl("manual.jsonl", [assignment("r", "q", "NS"), assignment("new", "q", "SS")])
    first, both = tmp_path / "auto.jsonl.gz", tmp_path / "both.jsonl.gz"
    import_assignments([automatic], first)
    import_assignments([manual], both, grader_name="human:alice", passages=first)
    (query,) = read_passages(both)

    assert [p.passage_id for p in query.passages] == ["r/q", "new/q"]
    graders = [
        (g.model, [r.source for r in g.self_ratings or ()]) for g in query.passages[0].rubric_grades or []
    ]
    assert graders == [("nuggetizer", [None, None]), ("human:alice", ["human", "human"])]


def test_nuggets_have_the_ids_of_a_bank(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    """Joined by query and text: a bank may have any ids, and the same text in two facets."""
    items = [
        {"query_id": "q", "facet_id": facet, "nugget_id": f"q/{facet}/{n}", "nugget_text": f" nugget {n} "}
        for facet, n in (("f", 0), ("g", 1), ("h", 0))
    ]
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "items": items}])
    line = assignment("r", "q", "SPNN")
    line["nuggets"][2]["text"] = "nugget 0"
    output = tmp_path / "g.jsonl"
    summary = " ".join(import_assignments([write_jsonl("a.jsonl", [line])], output, bank=bank))
    (query,) = read_passages(output)
    (grades,) = query.passages[0].rubric_grades or []

    assert [(key.rpartition("/")[0], label) for key, label in grades.nugget_labels() or ()] == [
        ("q/f", "support"), ("q/g", "partial_support"), ("q/h", "not_support"), ("q", "not_support"),
    ]  # fmt: skip
    assert "1 nugget has no match in the bank" in summary
    write_assignments(output, bank, tmp_path / "again.jsonl")
    again = read_json(tmp_path / "again.jsonl")[0]["nuggets"]
    assert [nugget["assignment"] for nugget in again] == ["support", "partial_support", "not_support"]


def test_answers_in_pieces_are_no_line(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    parts = [answer("r", "q1", "NS", "Two.", part=2), answer("r", "q1", "P-", "One.", part=1)]
    graded, bank = write_jsonl("g.jsonl", [["q1", parts]]), write_jsonl("b.jsonl", [bank_line("q1", "vo")])
    with pytest.raises(SelectionError, match=r"'r' to the query 'q1' in .* has several passages"):
        write_assignments(graded, bank, tmp_path / "a.jsonl")


def test_passages_that_an_answer_cites_are_no_part_of_it(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    whole, cited = answer("r", "q1", "S", "One."), answer("r", "q1", "N", "Two.", part=2)
    for each, role in ((whole, "answer"), (cited, "retrieved")):
        each["paragraph_data"]["rankings"][0]["role"] = role
    graded, bank = (
        write_jsonl("g.jsonl", [["q1", [cited, whole]]]),
        write_jsonl("b.jsonl", [bank_line("q1", "v")]),
    )
    write_assignments(graded, bank, tmp_path / "a.jsonl")
    (line,) = read_json(tmp_path / "a.jsonl")
    assert (line["answer_text"], line["nuggets"][0]["assignment"]) == ("One.", "support")


def test_export_of_one_grader(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    graded = write_jsonl("g.jsonl", [["q1", [answer("r", "q1", "S", human_ann="N")]]])
    bank = write_jsonl("b.jsonl", [bank_line("q1", "v")])
    main(
        ["convert", str(graded), "--to", "nuggetizer-assignments", "--bank", str(bank),
         "--grader", "human:ann", "-o", str(tmp_path / "a.jsonl")]
    )  # fmt: skip
    assert read_json(tmp_path / "a.jsonl")[0]["nuggets"][0]["assignment"] == "not_support"


CANDIDATES: dict[str, Any] = {
    "query": {"text": "a query", "qid": "007"},
    "candidates": [
        {"docid": "d#2", "score": 9.5, "judgment": 2, "doc": {"title": "T", "segment": "Two."}},
        {"docid": "d#1", "score": 9.0, "doc": {"segment": None, "contents": "One."}},
    ],
}


def test_candidates_become_ranked_passages(write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    source = write_jsonl("retrieve.jsonl", [CANDIDATES])
    summary = import_candidates([source], tmp_path / "p.jsonl", queries_output=tmp_path / "q.json")
    (query,) = read_passages(tmp_path / "p.jsonl")

    assert [(p.passage_id, p.text) for p in query.passages] == [("d#2", "Two."), ("d#1", "One.")]
    assert [[(e.method, e.rank, e.score) for e in p.rankings] for p in query.passages] == [
        [("retrieve", 1, 9.5)],
        [("retrieve", 2, 9.0)],
    ]
    assert [[j.relevance for j in p.judgments] for p in query.passages] == [[2], []]
    assert "field 'title' (1)" in " ".join(summary)
    back = Conversion(
        tmp_path / "p.jsonl", tmp_path / "again.jsonl", "candidates", queries=tmp_path / "q.json"
    )
    convert(back)
    (again,) = read_json(tmp_path / "again.jsonl")
    assert again["query"] == {"qid": "007", "text": "a query"}
    assert again["candidates"][0] == {
        "docid": "d#2", "score": 9.5, "judgment": 2, "doc": {"segment": "Two."},
    }  # fmt: skip


def test_results_of_rank_llm_are_an_array(tmp_path: Path) -> None:
    path = written(tmp_path / "zephyr.json", json.dumps([CANDIDATES]))
    assert format_of(path).name == "candidates"
    summary = import_candidates([path], tmp_path / "p.jsonl", queries_output=tmp_path / "q.json")
    assert summary[0] == f"Imported 1 query, {len(CANDIDATES['candidates'])} passages."


LABELS = st.sampled_from(["support", "partial_support", "not_support", "historical", ""])


TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["1", "02"])),
        st.tuples(TEXTS, st.lists(LABELS, min_size=1, max_size=4)),
        min_size=1,
    ),
)
def test_any_assignments_survive_both_ways(
    tmp_path_factory: pytest.TempPathFactory, answers: dict[tuple[str, str], tuple[str, list[str]]]
) -> None:
    """A nugget that only another answer to the query has is written without a label."""
    folder = tmp_path_factory.mktemp("both")
    lines: Lines = [
        {
            "query": "text",
            "qid": query_id,
            "answer_text": text,
            "response_length": len(text.split()),
            "run_id": run,
            "nuggets": [
                {"text": f"nugget {n}", "importance": "vital", "assignment": label}
                for n, label in enumerate(labels)
            ],
        }
        for (run, query_id), (text, labels) in answers.items()
    ]
    source = folder / "a.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    import_assignments([source], folder / "g.jsonl", bank_output=folder / "b.jsonl")
    write_assignments(folder / "g.jsonl", folder / "b.jsonl", folder / "o.jsonl")
    after = {(line["run_id"], line["qid"]): line for line in read_json(folder / "o.jsonl")}

    assert after.keys() == answers.keys()
    for line in lines:
        exported = after[line["run_id"], line["qid"]]
        exported_nuggets = exported.pop("nuggets")
        nuggets = line.pop("nuggets")
        assert exported == line
        assert exported_nuggets[: len(nuggets)] == nuggets
        assert all(nugget["assignment"] == "" for nugget in exported_nuggets[len(nuggets) :])
