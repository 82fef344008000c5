"""The lexical grader against the published grades of GPT-4 and the judgments of people."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from scipy.stats import spearmanr

from exam_pp.metrics.agreement import area_under_curve
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from tests.llm.test_lexical import rate


def test_agreement_with_gpt4_and_judges_on_every_fourth_query(shared_data: Path) -> None:
    """TREC DL 2019: pair-level Spearman at least .33 with GPT-4, AUC at least .75 with judgments."""
    folder = shared_data / "dl19-gpt4"
    bank = read_bank(folder / "dl19-gpt4-questions.jsonl.gz")
    queries = list(read_passages(folder / "dl19-graded.jsonl.gz"))
    lexical: list[int] = []
    gpt4: list[int] = []
    areas: list[float] = []
    for query in queries[::4]:
        means, relevant = [], []
        for passage in query.passages:
            published = next(passage.grade_sets()).entry_ratings()
            entries = bank.entries(query.query_id)
            ratings = {key: rate(entries[key].text, passage.text) for key in published}
            lexical += ratings.values()
            gpt4 += published.values()
            means.append(fmean(ratings.values()))
            relevant.append(max(judgment.relevance for judgment in passage.judgments) >= 2)
        area = area_under_curve(means, relevant)
        if area is not None:
            areas.append(area)
    assert spearmanr(lexical, gpt4).statistic >= 0.33
    assert fmean(areas) >= 0.75
    assert len(set(lexical)) == 6
