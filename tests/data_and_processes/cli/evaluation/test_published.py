"""The numbers of the published implementation (version 0.1.2 of its package), from the same files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from exam_pp.cli.main import main

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
GPT4, FLAN_T5 = "dl19-gpt4/dl19-graded.jsonl.gz", "llmjudge-dev/flan-t5-large-graded.jsonl.gz"
COVER = """\
method exam +/- exam-std n-exam +/- n-exam-std
BM25 0.358 +/- 0.040 0.603 +/- 0.049
BM25_RM3 0.374 +/- 0.043 0.617 +/- 0.052
D_BERT_KD_TASB 0.437 +/- 0.034 0.776 +/- 0.036
OPEN_AI_ADA2 0.447 +/- 0.038 0.753 +/- 0.045
REP_LLAMA 0.437 +/- 0.038 0.746 +/- 0.041
SPLADE_P_P_ENSEMBLE_DISTIL 0.437 +/- 0.034 0.775 +/- 0.038
_overall_ 0.570 +/- 0.039 1.000 +/- 0.000
spearman 0.577 0.600
kendall 0.447 0.467
"""
"""Written by `exam_post_pipeline --leaderboard-out --min-self-rating 4`, without the columns of ranks."""


def test_rubric_cover_and_its_correlation(shared_data: Path, tmp_path: Path) -> None:
    graded = shared_data / GPT4
    official, board = tmp_path / "official.json", tmp_path / "board.tsv"
    main(["-q", "evaluate", "judgments", str(graded), "--runs", str(graded.parent / "runs"),
          "--format", "official", "-o", str(official)])  # fmt: skip
    main(["-q", "evaluate", "cover", str(graded), "--min-grade", "4", "--missing-queries", "skip",
          "--grades", "choice=first", "--official", str(official), "--format", "published",
          "-o", str(board)])  # fmt: skip
    rows = [line.split("\t")[:7] for line in board.read_text().splitlines()]
    assert [" ".join(filter(None, row)) for row in rows] == COVER.splitlines()


@pytest.mark.parametrize(
    ("file", "prompt", "label", "digest"),
    [
        (GPT4, RATED, "max", "55d21ae79678c0528d493556fd63ba4e8c3f142325f52ee8e4aa006764a46002"),
        (FLAN_T5, RATED, "max", "8171f3cd9125739814b0a113576737448ea3c43b2cdb008a8abf9569f22987dc"),
        (FLAN_T5, RATED, "count", "14eccc549c7852db13b81fa5025aa444463fbd2cb24d4a4eaf72745f5d58e74b"),
        (FLAN_T5, "NuggetSelfRatedPrompt", "max",
         "859b0499e4cf11915bfac87f99c35b1354afbd1df4aba3baea0235c617a1d6d3"),
        (FLAN_T5, "NuggetSelfRatedPrompt", "count",
         "c46ed90a7e3c1686abb7b072a141039015026907fcbc55fe4228be9a00be0854"),
    ],
)  # fmt: skip
def test_qrels_are_the_same_file(
    file: str, prompt: str, label: str, digest: str, shared_data: Path, tmp_path: Path
) -> None:
    """Those of `exam_evaluation -q`, with `--use-ratings` (max) and without (count)."""
    qrels = tmp_path / "rubric.qrels"
    main(["-q", "evaluate", "qrels", str(shared_data / file), "--prompt", prompt, "--label", label,
          "--grades", "choice=first", "--min-grade", "1", "-o", str(qrels)])  # fmt: skip
    assert hashlib.sha256(qrels.read_bytes()).hexdigest() == digest
