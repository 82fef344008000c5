"""Audits of graders: numbers by hand on small files, verdicts, missing inputs, the command."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import rankdata

from exam_pp.banks import BankLine, TestBank, writers, written_by
from exam_pp.cli.main import main
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.audit import audit
from exam_pp.rendering.document import Heading, Paragraph, Report, Table
from exam_pp.store.families import Families, Family
from tests.conftest import passage, rubric, written
from tests.tables import notes_of, tables_of

WriteLines = Callable[[str, list[Any]], Path]
FAMILIES = Families({"gpt": Family(models=["gpt-*"], systems=["gpt-*"])})
QUICK = Statistics(samples=200)


def graded(
    query_id: str,
    passage_id: str,
    *grades: dict[str, Any],
    words: int = 3,
    judgment: int | None = None,
    ranks: Mapping[str, int] | None = None,
    **keys: Any,
) -> dict[str, Any]:
    """A graded passage with so many words."""
    judged = {"paragraphId": passage_id, "query": query_id, "titleQuery": query_id, "relevance": judgment}
    return passage(
        passage_id,
        text="word " * words,
        exam_grades=list(grades),
        paragraph_data={
            "judgments": [] if judgment is None else [judged],
            "rankings": [
                {
                    "method": system,
                    "paragraphId": passage_id,
                    "queryId": query_id,
                    "rank": rank,
                    "score": -rank,
                }
                for system, rank in (ranks or {}).items()
            ],
        },
        **keys,
    )


def bank_line(query_id: str, *keys: str, **more: Any) -> dict[str, Any]:
    items = [
        {"query_id": query_id, "question_id": f"{query_id}/{key}", "question_text": f"What is {key}?"}
        for key in keys
    ]
    return {"query_id": query_id, "test_collection": "", "query_text": query_id, "items": items, **more}


TEN = [f"q{n}" for n in range(1, 11)]
# Ten queries with (words, best rating, judgment) of each passage.
LENGTHS = {
    query: (
        [(10, 0, 0), (20, 3, 1), (30, 2, 0), (50, 5, 2), (15, 1, 1)]
        if n % 2
        else [(12, 1, 1), (9, 0, 2), (40, 4, 0), (44, 4 if n else 1, 1), (25, 2, 2)]
    )
    for n, query in enumerate(TEN)
}


@pytest.fixture
def lengths(write_jsonl: WriteLines) -> Path:
    return write_jsonl(
        "graded.jsonl",
        [
            [q, [graded(q, f"p{n}", rubric({f"{q}/a": y, f"{q}/b": 0}, llm="gpt-4"), words=x, judgment=z)
                 for n, (x, y, z) in enumerate(rows)]]
            for q, rows in LENGTHS.items()
        ],
    )  # fmt: skip


def rows_of_length(report: Report) -> dict[tuple[str, str, str], Any]:
    """Units, what is correlated with their length, and what is held constant, to Spearman's correlation."""
    rows = tables_of(report)["Correlation with length in words"].rows
    return {(str(row[1]), str(row[0]), str(row[2])): row[5] for row in rows}


def paragraphs(report: Report, title: str) -> list[str]:
    """The texts of a section; the last ones are its verdicts."""
    titles = [block.text if isinstance(block, Heading) else None for block in report.blocks]
    start = titles.index(title)
    end = next((n for n in range(start + 1, len(titles)) if titles[n] is not None), len(titles))
    return [block.text for block in report.blocks[start:end] if isinstance(block, Paragraph)]


def verdict_of(report: Report, title: str) -> str:
    return paragraphs(report, title)[-1]


def row_of(table: Table, name: str) -> dict[str, Any]:
    """The row whose first cell has this name, by column."""
    return next(dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == name)


def test_length_by_hand(lengths: Path) -> None:
    """Ranks within the passages of a query, and within those with the same judgment."""
    rows = rows_of_length(audit(lengths, statistics=QUICK))

    def pearson(groups: list[list[tuple[int, int]]]) -> float:
        """Of the ranks, divided by the size of the group, as deviations from their mean."""
        pairs = [
            [(rank - (len(group) + 1) / 2) / len(group) for rank in rankdata(column)]
            for group in groups
            for column in zip(*group, strict=True)
        ]
        x, y = ([value for column in pairs[n::2] for value in column] for n in (0, 1))
        square = sum(v * v for v in x) * sum(v * v for v in y)
        return sum(map(float.__mul__, x, y)) / math.sqrt(square)

    queries = list(LENGTHS.values())
    whole = [[(x, y) for x, y, _ in query] for query in queries]
    same = [[(x, y) for x, y, z in query if z == label] for query in queries for label in (0, 1, 2)]
    assert rows["passages", "grade", "query"] == pytest.approx(pearson(whole))
    judged = [[(x, z) for x, _, z in query] for query in queries]
    assert rows["passages", "judgment", "query"] == pytest.approx(pearson(judged))
    within = pearson([group for group in same if len(group) > 1])
    assert rows["passages", "grade", "query, same judgment"] == pytest.approx(within)


def test_evidence_of_length_has_its_number(lengths: Path) -> None:
    result = audit(lengths, statistics=QUICK)
    value, low = tables_of(result)["Correlation with length in words"].rows[-1][5:7]
    assert isinstance(low, float)
    assert low > 0
    assert verdict_of(result, "Length").startswith(
        "Evidence: at the same judgment, longer passages of a query get higher grades: Spearman "
        f"correlation {value:.3f} (95 % interval {low:.3f} to "
    )


def test_without_people_length_is_not_separated(write_jsonl: WriteLines) -> None:
    lines = [[q, [graded(q, f"p{n}", rubric({f"{q}/a": n}), words=n + 1) for n in range(4)]] for q in "xy"]
    result = audit(write_jsonl("graded.jsonl", lines), statistics=QUICK)
    assert rows_of_length(result) == {("passages", "grade", "query"): pytest.approx(1)}
    verdict = verdict_of(result, "Length")
    assert verdict.startswith("Undecided: ")
    assert "within queries is 1.000, but without labels of people" in verdict


# Three systems with a passage each per query; the grader prefers gpt-rag, people do not.
SYSTEMS = {"gpt-rag": (5, 1), "bm25": (1, 2), "splade": (4, 2)}


@pytest.fixture
def systems(write_jsonl: WriteLines) -> Path:
    lines = []
    for query_id in TEN:
        keys = [f"{query_id}/{key}" for key in "ab"]
        lines.append([
            query_id,
            [
                graded(
                    query_id, f"{query_id}-{name}",
                    rubric({keys[0]: rating, keys[1]: 5 if (name, query_id) == ("gpt-rag", "q1") else 0},
                           llm="gpt-4"),
                    judgment=judgment, ranks={name: 1}, words=len(name),
                )
                for name, (rating, judgment) in SYSTEMS.items()
            ],
        ])  # fmt: skip
    return write_jsonl("graded.jsonl", lines)


def test_preference_for_the_own_family(systems: Path, write_jsonl: WriteLines) -> None:
    """Cover: gpt-rag 1, 9 × 1/2; bm25 0; splade 1/2. Judgments / cutoff 2: 1/2, 1, 1."""
    lines = [bank_line(q, "a", "b", info={"gpt_model": "gpt-4"}) for q in TEN]
    bank = write_jsonl("bank.jsonl", lines)
    found = audit(systems, bank=bank, families=FAMILIES, cutoff=2, statistics=QUICK)
    table = tables_of(found)["Advantage of the systems of the family gpt"]
    assert [row[0] for row in table.rows] == ["gpt-4", "judgments"]
    grader, people = row_of(table, "gpt-4"), row_of(table, "judgments")
    names = ("own family", "others", "mean rank of own")
    assert [grader[name] for name in names] == pytest.approx([0.55, 1 / 4, 1])
    assert [people[name] for name in names] == pytest.approx([1 / 2, 1, 3])
    deviation = (((0.55 - 0.35) ** 2 + 0.35**2 + (0.5 - 0.35) ** 2) / 3) ** 0.5
    expected = (0.55 - 0.25) / deviation + (1 / 2) / (1 / 18) ** 0.5
    assert people["grader's minus this"] == pytest.approx(expected)
    warning, _, verdict = paragraphs(found, "Circularity")
    parts = "grader gpt-4, bank writer gpt-4, system gpt-rag"
    assert warning == f"Warning: Of one model or family (gpt): {parts}."
    assert verdict.startswith(
        "Evidence: the advantage of the family gpt by this grader is larger than by judgments, by "
        f"{expected:.3f} standard deviations (95 % interval "
    )


@pytest.mark.parametrize(
    ("families", "reason"),
    [
        (None, "families of systems are unknown; use --families FILE"),
        (Families({"x": Family(models=["llama"])}), "the grader 'gpt-4' has no family in the families file"),
        (Families({"x": Family(models=["gpt-4"])}), "no system is of the grader's family (x)"),
        (
            Families({"x": Family(models=["gpt-4"], systems=["*"])}),
            "all systems are of the grader's family (x)",
        ),
    ],
)
def test_missing_families(systems: Path, families: Families | None, reason: str) -> None:
    report = audit(systems, families=families, statistics=QUICK)
    assert verdict_of(report, "Circularity") == f"Undecided: {reason}."


def test_without_judgments_a_better_score_can_be_quality(systems: Path, write_jsonl: WriteLines) -> None:
    """Labels of another source, such as another grader, come as qrels: here 1/2, 1 and 1 by the cutoff."""
    lines = [json.loads(line) for line in systems.read_text().splitlines()]
    for _, passages in lines:
        for of_passage in passages:
            of_passage["paragraph_data"]["judgments"] = []
    path = write_jsonl("unjudged.jsonl", lines)
    found = audit(path, families=FAMILIES, cutoff=2, statistics=QUICK)
    table = tables_of(found)["Advantage of the systems of the family gpt"]
    assert [row[0] for row in table.rows] == ["gpt-4"]
    assert "the file has no judgments" in verdict_of(found, "Circularity")
    qrels = written(
        systems.with_name("other.qrels"),
        "".join(f"{q} 0 {q}-{name} {judgment}\n" for q in TEN for name, (_, judgment) in SYSTEMS.items()),
    )
    by_others = audit(path, qrels=qrels, families=FAMILIES, cutoff=2, statistics=QUICK)
    judged = audit(systems, families=FAMILIES, cutoff=2, statistics=QUICK)
    assert verdict_of(by_others, "Circularity") == verdict_of(judged, "Circularity")


def test_writers_of_a_bank() -> None:
    def line(info: Any) -> BankLine:
        return BankLine.model_validate(bank_line("q", "a", info=info))

    bank = TestBank.from_lines([
        line({"gpt_model": "gpt-4"}), line({"gpt_model": "gpt-4", "importance_model": "t5"}), line("text"),
    ])  # fmt: skip
    assert writers(bank) == [("bank writer", "gpt-4"), ("labeller of importance", "t5")]
    assert written_by(bank) == ("gpt-4",)
    assert writers(None) == []


def test_a_bank_without_writer(systems: Path, write_jsonl: WriteLines) -> None:
    bank = write_jsonl("bank.jsonl", [bank_line(q, "a", "b") for q in TEN])
    result = audit(systems, bank=bank, families=FAMILIES, statistics=QUICK)
    assert "Warning: The bank does not record who wrote it; use --bank-writer NAME." in notes_of(result)
    named = audit(systems, bank=bank, families=FAMILIES, bank_writer="gpt-4o", statistics=QUICK)
    assert "(gpt): grader gpt-4, bank writer gpt-4o, system gpt-rag." in notes_of(named)


def test_few_queries_give_no_verdict(systems: Path, write_jsonl: WriteLines) -> None:
    """Nine queries, whose intervals have a width of 0."""
    lines = [json.loads(line) for line in systems.read_text().splitlines()][1:]
    found = audit(write_jsonl("few.jsonl", lines), families=FAMILIES, statistics=QUICK)
    for title in ("Length", "Circularity"):
        expected = "Undecided: a verdict needs at least 10 queries, here 9; "
        assert verdict_of(found, title).startswith(expected)


def test_every_section_ends_with_a_verdict(systems: Path) -> None:
    report = audit(systems, families=FAMILIES, statistics=QUICK)
    outcomes = {row[0]: row[1] for row in tables_of(report)["Verdicts"].rows}
    assert outcomes == {"Length": "undecided", "Circularity": "evidence"}


def test_a_threshold_above_all_grades_has_a_note(systems: Path) -> None:
    assert (
        "No grade reaches --min-grade 9; the highest grade is 5."
        in audit(systems, min_grade=9, statistics=QUICK).warnings
    )


def test_the_command(systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    families = written(tmp_path / "families.toml", '[gpt]\nmodels = ["gpt-*"]\nsystems = ["gpt-*"]\n')
    arguments = [str(systems), "--families", str(families), "-S", "samples=100", "--format", "json"]
    main(["-q", "analyze", "audit", *arguments, "--cutoff", "2"])
    assert json.loads(capsys.readouterr().out)["title"] == "Audit of gpt-4"
