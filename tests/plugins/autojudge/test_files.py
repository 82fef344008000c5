"""Files that exam_pp writes, checked by autojudge-base."""

from __future__ import annotations

from pathlib import Path

import pytest

import exam_pp
from exam_pp.cli.main import main
from tests.formats.test_bank_files import AUTOJUDGE


def run(*words: object) -> None:
    main([str(word) for word in words])


@pytest.mark.parametrize("name", ["questions.jsonl", "nuggets.jsonl"])
def test_written_banks_verify(name: str, demo_data: Path, tmp_path: Path) -> None:
    from autojudge_base.nugget_data import NuggetBanksVerification, load_nugget_banks_from_file

    run("convert", demo_data / name, "--to", "autojudge-bank", "-o", tmp_path / "bank.jsonl")
    banks = load_nugget_banks_from_file(tmp_path / "bank.jsonl")
    bank = exam_pp.read_bank(demo_data / name)
    NuggetBanksVerification(banks, list(bank.queries)).all()
    for query_id, of_query in bank.queries.items():
        texts = {
            getattr(item, "question", None) or item.claim: item.importance
            for item in banks.banks[query_id].nuggets_as_list()
        }
        assert texts == {entry.text: entry.importance for entry in of_query.entries.values()}


def test_a_claim_without_a_query_is_completed(tmp_path: Path) -> None:
    """autojudge-base requires ``query_id`` of claims and not of questions."""
    import json

    from autojudge_base.nugget_data import load_nugget_banks_from_file

    claim = {"claim": "Evergreens keep their needles", "references": []}
    (tmp_path / "in.json").write_text(
        json.dumps({**AUTOJUDGE, "claim_bank": {"c1": claim}}), encoding="utf-8"
    )
    run("convert", tmp_path / "in.json", "--to", "autojudge-bank", "-o", tmp_path / "out.jsonl")
    (bank,) = load_nugget_banks_from_file(tmp_path / "out.jsonl").banks.values()
    assert bank.claim_bank["c1"].query_id == "leaf"


def test_banks_of_ragtime_verify(demo_data: Path, tmp_path: Path) -> None:
    from autojudge_base.nugget_data import NuggetBanksVerification, load_ragtime26_nugget_banks_from_file

    questions, answers = demo_data / "questions.jsonl", tmp_path / "answers.jsonl"
    run("bank", "import", questions, "--kind", "nugget", "-o", answers)
    for name, source in (("questions", questions), ("answers", answers)):
        run("convert", source, "--to", "ragtime26", "-o", tmp_path / f"{name}.rt.jsonl")
        banks = load_ragtime26_nugget_banks_from_file(tmp_path / f"{name}.rt.jsonl")
        bank = exam_pp.read_bank(questions)
        NuggetBanksVerification(banks, list(bank.queries)).all()
        for query_id, of_query in bank.queries.items():
            with_golds = {e.text: e.gold_answers or [] for e in of_query.entries.values()}
            written = banks.banks[query_id].to_nugget_bank().nugget_bank
            found = {text: [a.answer for a in (q.answers or {}).values()] for text, q in written.items()}
            expected = with_golds if name == "questions" else {t: g for t, g in with_golds.items() if g}
            assert found == expected


def test_rubric_qrels_verify(graded: Path, demo_data: Path, tmp_path: Path) -> None:
    from autojudge_base.qrels import QrelsVerification
    from autojudge_base.qrels.qrels import read_qrel_file

    labels = exam_pp.rubric_qrels(graded, demo_data / "questions.jsonl")
    exam_pp.write_qrels(labels.qrels, tmp_path / "rubric.qrels")
    qrels = read_qrel_file(tmp_path / "rubric.qrels")
    QrelsVerification(qrels, list(exam_pp.read_bank(demo_data / "questions.jsonl").queries)).all()
    assert len(qrels.rows) == len(list(labels.qrels))


@pytest.mark.parametrize(("name", "order"), [("autojudge-eval", "ir_measures"), ("autojudge-tot", "tot")])
def test_leaderboards_verify(name: str, order: str, graded: Path, demo_data: Path, tmp_path: Path) -> None:
    from autojudge_base import Leaderboard, LeaderboardVerification

    board = tmp_path / "cover.tsv"
    run("evaluate", "cover", graded, "--bank", demo_data / "questions.jsonl", "--format", "tsv",
        "--per-query", "-o", board)  # fmt: skip
    run("convert", board, "--to", name, "-o", tmp_path / "cover.eval.txt")
    loaded = Leaderboard.load(tmp_path / "cover.eval.txt", format=order, has_header=True)
    topics = list(exam_pp.read_bank(demo_data / "questions.jsonl").queries)
    LeaderboardVerification(
        loaded, on_missing="error", expected_topic_ids=topics
    ).complete_topics().no_extra_topics()
    ours = exam_pp.leaderboard(exam_pp.cover(graded, demo_data / "questions.jsonl"), intervals=None)
    measure = ours.metrics[0]
    means = {
        entry.run_id: float(entry.values[measure]) for entry in loaded.entries if entry.topic_id == "all"
    }
    means.pop("_overall_", None)
    assert means == pytest.approx(ours.means(measure), abs=1e-6)


@pytest.fixture(scope="session")
def graded(demo_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers and the best passages of the demo, graded by the baseline."""
    folder = tmp_path_factory.mktemp("graded")
    run("import", "--runs", demo_data / "runs", "--texts", demo_data / "passages.tsv", "--top", 2,
        "-o", folder / "passages.jsonl.gz")  # fmt: skip
    exam_pp.grade_file(
        folder / "passages.jsonl.gz",
        folder / "graded.jsonl.gz",
        bank=demo_data / "questions.jsonl",
        prompts="QuestionSelfRatedUnanswerablePromptWithChoices",
        model="lexical",
    )
    return folder / "graded.jsonl.gz"
