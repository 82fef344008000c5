"""Measures of judgments from a passages file: those of trec_eval, whatever the depth of the pool."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

from exam_pp.cli.main import main
from exam_pp.phases.evaluation.inputs import loaded
from exam_pp.phases.evaluation.judgments import judgments, pool_notes
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs

MEASURES = {
    "nDCG@10": "ndcg_cut_10", "nDCG": "ndcg", "AP(rel=2)": "map", "R(rel=2)@20": "recall_20",
    "RR(rel=2)": "recip_rank", "P(rel=2)@5": "P_5", "Bpref(rel=2)": "bpref", "infAP(rel=2)": "infAP",
    "Rprec(rel=2)": "Rprec",
}  # fmt: skip
JUDGED = "Judged@10"
Run = dict[str, dict[str, float]]


@pytest.fixture
def collection(tmp_path: Path) -> tuple[dict[str, Run], dict[str, dict[str, int]]]:
    """Four runs of three queries with tied scores, and judgments also of passages that no run has."""
    draw = random.Random(5)
    queries = ["q1", "q2", "q3"]
    ids = [f"d{number}" for number in range(60)]
    qrels = {q: {d: draw.choice([-1, 0, 0, 1, 2, 3]) for d in draw.sample(ids, 25)} for q in queries}
    runs: dict[str, Run] = {}
    for system in "abcd":
        run = runs[system] = {}
        lines = []
        for query_id in queries:
            scores = sorted((draw.randrange(12) / 4 for _ in range(draw.randrange(15, 30))), reverse=True)
            passages = draw.sample(ids, len(scores))
            run[query_id] = dict(zip(passages, scores, strict=True))
            lines += [f"{query_id} Q0 {d} {r} {s} t\n" for r, (d, s) in enumerate(run[query_id].items(), 1)]
        (tmp_path / f"{system}.run").write_text("".join(lines))
    Path("texts.tsv").write_text("".join(f"{d}\ttext of {d}\n" for d in ids))
    Path("qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, of in qrels.items() for d, g in of.items()))
    return runs, qrels


def expected(run: Run, qrels: dict[str, dict[str, int]]) -> dict[str, float]:
    """The means of pytrec_eval; the share of judged passages in the order of trec_eval, by hand."""
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values()), relevance_level=2)
    of_query = evaluator.evaluate(run)
    means = {m: sum(of_query[q][key] for q in qrels) / len(qrels) for m, key in MEASURES.items()}
    tops = {q: sorted(of, key=lambda d: (of[d], d), reverse=True)[:10] for q, of in run.items()}
    means[JUDGED] = sum(sum(d in qrels[q] for d in tops[q]) / 10 for q in qrels) / len(qrels)
    return means


def x(*words: str) -> None:
    main(["-q", *words])


def imported(name: str, *systems: str, top: int = 3, qrels: bool = True) -> None:
    runs = [word for system in systems for word in ("--runs", f"{system}.run")]
    judged = ["--qrels", "qrels"] if qrels else []
    x("import", *runs, "--texts", "texts.tsv", *judged, "--top", str(top), "-o", name)


def pooled(*_: Any) -> None:
    imported("p.jsonl", *"abcd")


def later(*_: Any) -> None:
    """A system that is added later, without judgments."""
    imported("one.jsonl", *"abc")
    imported("two.jsonl", "d", top=2, qrels=False)
    x("merge", "one.jsonl", "two.jsonl", "-o", "p.jsonl")


def two_pools(*_: Any) -> None:
    imported("one.jsonl", "a", "d", top=1)
    imported("two.jsonl", *"bc", top=40)
    x("merge", "two.jsonl", "one.jsonl", "-o", "p.jsonl")


def filtered(*_: Any) -> None:
    """The pool without passages that are not judged, such as the first of a query."""
    imported("all.jsonl", *"abcd")
    x("filter", "all.jsonl", "--only", "judged", "-o", "p.jsonl")
    firsts = [[query.passages[0].passage_id for query in loaded(n)] for n in ("all.jsonl", "p.jsonl")]
    assert firsts[0] != firsts[1]


def split(*_: Any) -> None:
    imported("all.jsonl", *"abcd")
    x("split", "all.jsonl", "--count", "2", "-o", "shards")
    x("merge", *map(str, Path("shards").iterdir()), "-o", "p.jsonl")


def renamed(*_: Any) -> None:
    imported("all.jsonl", *"abcd")
    x("filter", "all.jsonl", "--rename", "system=a=b2", "-o", "b2.jsonl")
    x("filter", "b2.jsonl", "--rename", "system=b2=a", "-o", "p.jsonl")


@pytest.mark.parametrize("make", [pooled, later, two_pools, filtered, split, renamed])
def test_equals_trec_eval(collection: tuple[dict[str, Run], dict[str, dict[str, int]]], make: Any) -> None:
    runs, qrels = collection
    make()
    passages = loaded("p.jsonl")
    labels = judgments(passages)
    measures = [*MEASURES, JUDGED]
    by_ranks = score_rankings(labels, passages, measures)
    by_runs = score_runs(labels, [f"{system}.run" for system in runs], measures)
    assert not pool_notes(passages)
    for evaluation in (by_ranks, by_runs):
        for system, run in runs.items():
            for measure, mean in expected(run, qrels).items():
                values = [s.value for s in evaluation.scores if (s.system, s.metric) == (system, measure)]
                assert sum(values) / 3 == pytest.approx(mean, abs=1e-9), (system, measure)
        assert not any("pool" in note for note in evaluation.notes)


def test_report_and_official_ranks(collection: tuple[dict[str, Run], dict[str, dict[str, int]]]) -> None:
    runs, qrels = collection
    Path("bank.csv").write_text("query_id,question\n" + "".join(f"{q},what is text of d1?\n" for q in qrels))
    imported("p.jsonl", *"abcd", top=2)
    x("bank", "import", "bank.csv", "-o", "bank.jsonl")
    x("grade", "p.jsonl", "--bank", "bank.jsonl", "--model", "lexical", "-o", "graded.jsonl")
    x("evaluate", "report", "graded.jsonl", "-o", "report", "--no-review")
    header, *rows = Path("report/judgments.tsv").read_text().splitlines()
    column = header.split("\t").index("nDCG@10")
    for row in rows:
        cells = row.split("\t")
        assert float(cells[column]) == pytest.approx(expected(runs[cells[0]], qrels)["nDCG@10"], abs=1e-6)
    best = max(runs, key=lambda system: expected(runs[system], qrels)["nDCG@10"])
    assert f'"{best}": 1' in Path("report/official.json").read_text()


@pytest.mark.usefixtures("collection")
def test_parts_are_removed_and_converted() -> None:
    imported("p.jsonl", *"abcd")
    x("filter", "p.jsonl", "--system", "a", "-o", "a.jsonl")
    assert '"b"' not in Path("a.jsonl").read_text()
    x("filter", "p.jsonl", "--remove", "rankings", "--remove", "judgments", "-o", "none.jsonl")
    assert '{"method"' not in (text := Path("none.jsonl").read_text())
    assert '"relevance"' not in text
    x("convert", "p.jsonl", "--to", "qrels", "-o", "again")
    assert sorted(Path("again").read_text().splitlines()) == sorted(Path("qrels").read_text().splitlines())


@pytest.mark.usefixtures("collection")
def test_files_without_the_rest_say_so_beside_the_number(capsys: pytest.CaptureFixture[str]) -> None:
    imported("p.jsonl", *"abcd")
    lines = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    for _, passages in lines[:2]:
        del passages[0]["paragraph_data"]["beyond_pool"]
    Path("old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    main(["evaluate", "judgments", "old.jsonl", "--runs", "a.run"])
    assert "2 of 3 judged queries in old.jsonl have judgments of pooled passages only" in (
        " ".join(capsys.readouterr().out.split())
    )
    ranked = score_rankings(judgments("qrels"), "old.jsonl", ["nDCG@10"])
    assert any("outside the pool and scored as not retrieved" in note for note in ranked.notes)
