"""The reading of replies in files that others published."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

from exam_pp.prompts import PROMPTS
from exam_pp.prompts.reading import read_rating
from exam_pp.prompts.reasoner import RELEVANCE_LABELS, find_relevance_label
from exam_pp.store.passages.graded_file import read_passages
from tests.prompts.test_chat_replies import NUGGET, RELEVANCE, check_cut


def test_real_reasons(shared_data: Path) -> None:
    path = shared_data / "ragelo" / "reasonings.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        replies = [row["raw_answer"] for row in csv.DictReader(stream)]
    assert replies
    for reply in replies:
        expected = next(
            level for level, label in enumerate(RELEVANCE_LABELS) if reply.lower().startswith(label.lower())
        )
        assert find_relevance_label(reply) == expected
        before, _, after = reply.partition(":")
        assert find_relevance_label(f"{after.strip()} So it is {before.lower()}.") == expected


def test_more_real_replies(shared_data: Path) -> None:
    """Replies that state a number are read; repeated instructions and quotes of the scale are not."""
    rows = [json.loads(line) for line in (shared_data / "real-replies.jsonl").read_text("utf-8").splitlines()]
    names = {"Umbrela": RELEVANCE}
    counts: Counter[str] = Counter()
    for row in rows:
        prompt = PROMPTS.get(names.get(row["prompt_class"], row["prompt_class"]))
        if not prompt.is_rated:
            continue
        check_cut(prompt, row["reply"])
        verdict = prompt.parse(row["reply"], None, "chat")
        if prompt.name == NUGGET and "is 5: " in row["reply"]:
            counts["five"] += row["times"]
            assert verdict.rating == 5
        if prompt.name == RELEVANCE and verdict.rating is None:
            counts["ungraded relevance"] += row["times"]
        if row["source"] is None and row["read_as"] is not None:
            assert verdict.rating == row["read_as"]
    assert counts["five"] >= 19
    assert counts["ungraded relevance"] >= 100


def test_replies_of_flan_t5_large(shared_data: Path) -> None:
    """612 of the 72,630 question ratings are not a digit from 0 to 5, and 39 of these begin with a digit.

    The published rule gives all ratings of the published implementation.
    """
    total = others = texts = 0
    for query in read_passages(shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"):
        for passage in query.passages:
            for grades in passage.rubric_grades or []:
                if grades.prompt_class != "QuestionSelfRatedUnanswerablePromptWithChoices":
                    continue
                stored = grades.entry_ratings()
                for entry_id, answer in grades.answers:
                    total += 1
                    others += answer not in {"0", "1", "2", "3", "4", "5"}
                    texts += read_rating(answer, 5).source != "number"
                    assert read_rating(answer, 5, "published").rating == stored[entry_id], answer
    assert (total, others, texts) == (72_630, 612, 612 - 39)
