"""trec_eval's own test files through `import`, `evaluate judgments` and `run`, with placeholder texts.

Expected are the numbers that trec_eval printed (tests/data/trec_eval/COMMANDS.txt).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main

DATA = Path(__file__).parents[2] / "data" / "trec_eval"
_RUN, _QRELS = str(DATA / "results.test"), str(DATA / "qrels.test")
INPUTS = ["--runs", _RUN, "--qrels", _QRELS, "--texts", "texts.tsv"]
OF_RETRIEVED = ["P_5", "P_10", "P_1000", "recip_rank", "num_rel_ret", "success_1", "success_10"]
OF_ALL_JUDGED = ["map", "Rprec", "bpref", "recall_100", "ndcg", "ndcg_cut_10"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The texts of all ranked passages, the queries and a bank, in the working folder."""
    ids = sorted({line.split()[2] for line in (DATA / "results.test").read_text().splitlines()})
    Path("texts.tsv").write_text("".join(f"{name}\tplaceholder\n" for name in ids))
    Path("queries.csv").write_text(
        "query_id,query_text\n" + "".join(f"{q},placeholder\n" for q in (301, 302, 303))
    )
    Path("bank.csv").write_text(
        "query_id,question\n" + "".join(f"{q},placeholder?\n" for q in (301, 302, 303))
    )
    return tmp_path


def expected(output: str) -> dict[tuple[str, str], str]:
    """(measure, query) to the number as trec_eval printed it."""
    rows = (line.split() for line in (DATA / output).read_text().splitlines())
    return {(row[0], row[1]): row[2] for row in rows}


def computed(judgments: object, run: str, measures: list[str]) -> dict[tuple[str, str], str]:
    """The same of `evaluate judgments`."""
    options = [option for name in measures for option in ("-m", name)]
    out = Path("scores.txt")
    words = ["evaluate", "judgments", str(judgments), "--runs", str(DATA / run), *options, "--per-query"]
    main([*words, "--format", "trec_eval", "-o", str(out)])
    rows = (line.split() for line in out.read_text().splitlines())
    return {(row[0], row[1]): row[2] for row in rows if row[0] in measures}


@pytest.mark.parametrize(
    ("run", "output"), [("results.test", "out.test.aq"), ("results.trunc", "out.test.aqc")]
)
def test_judgments_of_a_qrels_file(run: str, output: str, files: Path) -> None:
    measures = [*OF_RETRIEVED, *OF_ALL_JUDGED]
    golden = expected(output)
    actual = computed(DATA / "qrels.test", run, measures)
    assert len(actual) == 4 * len(measures)
    assert actual == {key: golden[key] for key in actual}


@pytest.mark.parametrize("measures", [OF_RETRIEVED, OF_ALL_JUDGED])
def test_judgments_of_a_passages_file(measures: list[str], files: Path) -> None:
    """The pool has every ranked passage, but not all judged ones."""
    main(["import", *INPUTS, "--top", "1000", "-o", "pool.jsonl.gz"])
    golden = expected("out.test.aq")
    actual = computed("pool.jsonl.gz", "results.test", measures)
    assert len(actual) == 4 * len(measures)
    assert actual == {key: golden[key] for key in actual}


def test_judgments_of_a_study(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`--top` limits what is graded, and no number of the judgments."""
    options = ["--queries", "queries.csv", "--bank", "bank.csv", "--top", "5", "--model", "lexical"]
    main(["run", *INPUTS, *options, "-o", "s"])
    header, row = ((line.split("\t")) for line in Path("s/report/judgments.tsv").read_text().splitlines())
    means = dict(zip(header, row, strict=True))
    golden = expected("out.test.a")
    assert f"{float(means['nDCG@10']):.4f}" == golden["ndcg_cut_10", "all"]
    assert f"{float(means['RR']):.4f}" == golden["recip_rank", "all"]
