"""Generation of test banks: prompts, ids, repairs, failures, and interrupted runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import BankLine
from exam_pp.cli.main import main
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.banks.generate import GenerateOptions, GenerateSummary, generate
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.store.passages.journal import Journal
from exam_pp.store.trec.queries import Query

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "prompts"
WriteLines = Callable[[str, list[Any]], Path]

PLAIN = Query(query_id="q1", query_text="when did rock n roll begin?")
FACETED = Query.model_validate(
    {
        "query_id": "q2",
        "query_text": "honey bees",
        "facets": [
            {"facet_id": "dance", "facet_text": "dance language"},
            {"facet_id": "threats", "facet_text": "threats"},
        ],
    }
)


def run(
    queries: Sequence[Query], llm: FakeLLM, **options: Any
) -> tuple[list[BankLine], GenerateSummary, FakeLLM]:
    summary = GenerateSummary()
    lines = generate(
        queries,
        Answerer(llm, Journal(None)),
        model=llm.name,
        provenance=llm.provenance(),
        options=GenerateOptions(**{"kind": "question", "top_ups": 0, **options}),
        summary=summary,
    )
    return lines, summary, llm


def asked(**options: Any) -> list[str]:
    """The prompts, in order; every reply is a list."""
    prompts: list[str] = []

    def reply(request: Request) -> str:
        prompts.append(request.text)
        return '{"questions": ["Why?", "How?"], "nuggets": ["a fact"]}'

    run([PLAIN, FACETED], FakeLLM(reply), **options)
    return prompts


@pytest.mark.parametrize(
    ("kind", "name"), [("question", "QuestionGeneration"), ("nugget", "NuggetGeneration")]
)
def test_prompts_are_those_of_the_paper(kind: str, name: str) -> None:
    """Table 1 of the workbench paper, by way of the golden files."""
    example = "Why is the {sky} blue?"
    dl = (GOLDEN / f"{name}DL.txt").read_text(encoding="utf-8").rstrip("\n")
    car = (GOLDEN / f"{name}CAR.txt").read_text(encoding="utf-8").rstrip("\n")
    car = car.replace(example, "honey bees")
    assert asked(kind=kind) == [
        dl.replace(example, PLAIN.query_text),
        car.replace("colour at {dusk}", "dance language"),
        car.replace("colour at {dusk}", "threats"),
    ]


def test_ids_and_records_are_as_published() -> None:
    """The example of the data format: the MD5 of the text alone, after the query id."""
    question = "Which musicians or bands are considered pioneers of rock n roll?"
    (line,), _, _ = run(
        [Query(query_id="940547", query_text="when did rock n roll begin?")],
        FakeLLM(lambda request: json.dumps({"questions": [question]})),
        test_collection="dl20",
    )
    assert line.items[0].entry_id == "940547/a4c82219840e6d197d185ed1eda27c61"
    published = {
        "gpt_model", "format_instruction", "prompt_style", "prompt_target", "test_collection", "hash",
        "description",
    }  # fmt: skip
    assert published <= line.info.keys()
    assert (line.info["gpt_model"], line.info["prompt_target"]) == ("fake", "questions")
    assert line.info["prompt_info"]["prompt_class"] == "QuestionGenerationDL"
    assert line.test_collection == "dl20"


def test_facets_are_in_lines_and_ids() -> None:
    lines, summary, _ = run(
        [FACETED], FakeLLM(lambda r: json.dumps([f"What of {r.slot('subtopic')}?", "Why?"]))
    )
    assert [(line.facet_id, line.facet_text) for line in lines] == [
        ("dance", "dance language"),
        ("threats", "threats"),
    ]
    digest = hashlib.md5(b"What of dance language?", usedforsecurity=False).hexdigest()
    assert lines[0].items[0].entry_id == f"q2/dance/{digest}"
    assert [item.text for item in lines[1].items] == ["What of threats?"], "Why? repeats another facet's"
    assert summary.duplicates == 1


def test_duplicates_surplus_and_long_nuggets() -> None:
    texts = [
        "Rooted in delta blues",
        "rooted in  Delta blues.",
        "Evolved from rhythm and blues",
        "Bill Haley",
    ]
    texts.append("Elvis")
    (line,), summary, _ = run(
        [PLAIN], FakeLLM(lambda request: json.dumps({"nuggets": texts})), kind="nugget", count=3
    )
    assert [item.text for item in line.items] == [
        "Rooted in delta blues",
        "Evolved from rhythm and blues",
        "Bill Haley",
    ]
    assert [item.info for item in line.items] == [None, {"flag": "5 words, asked for at most 4"}, None]
    assert (summary.duplicates, summary.surplus, summary.long_nuggets) == (1, 1, 1)


def test_a_reply_without_a_list_is_repaired() -> None:
    def reply(request: Request) -> str:
        roles = [part.role for part in request.parts]
        if "assistant" not in roles:
            return "I would rather talk about blues."
        assert request.slot("reply") == "I would rather talk about blues."
        assert request.parts[-1].role == "user"
        return "1. What?\n2. Why?"

    (line,), summary, llm = run([PLAIN], FakeLLM(reply))
    assert [item.text for item in line.items] == ["What?", "Why?"]
    assert (summary.repaired, llm.calls, line.info["calls"]) == (1, 2, 2)


def test_a_short_list_is_topped_up() -> None:
    """The model sees the list so far as JSON, and the number of missing questions."""
    replies = iter(["Q1. Why?\nQ2. What is {it}?\nQ3. why?", '["why?", "How?"]', '["Who?", "Where?"]'])
    requests: list[Request] = []

    def reply(request: Request) -> str:
        requests.append(request)
        return next(replies)

    (line,), summary, llm = run([PLAIN], FakeLLM(reply), count=4, top_ups=5)
    assert [item.text for item in line.items] == ["Why?", "What is {it}?", "How?", "Who?"]
    assert requests[1].slot("reply") == '{"questions": ["Why?", "What is {it}?"]}'
    last = [request.text.rpartition("\n\n")[2] for request in requests[1:]]
    assert [text.split(" more ")[0] for text in last] == ["Generate 2", "Generate 1"]
    assert all(f"for '{PLAIN.query_text}'" in text for text in last)
    assert (llm.calls, line.info["calls"], summary.topped_up, summary.repaired) == (3, 3, 1, 0)
    assert line.info["reply"] == "Q1. Why?\nQ2. What is {it}?\nQ3. why?"
    assert line.info["top_ups"]["prompt_class"] == "QuestionGenerationTopUp"
    assert line.info["top_ups"]["replies"] == ['["why?", "How?"]', '["Who?", "Where?"]']
    assert (summary.duplicates, summary.surplus, summary.short) == (1, 1, {})


@pytest.mark.parametrize(
    ("more", "top_ups", "calls"),
    [
        ('["Why?", "what?"]', 3, 2),  # nothing new
        ("I have no more.", 3, 2),
        (Completion(error="timed out"), 3, 2),
        ('["How?"]', 1, 2),
        ('["How?"]', 0, 1),
    ],
)
def test_top_ups_are_limited(more: str | Completion, top_ups: int, calls: int) -> None:
    def reply(request: Request) -> str | Completion:
        return more if request.slot("reply") else '["Why?", "What?"]'

    (line,), summary, llm = run([PLAIN], FakeLLM(reply), count=5, top_ups=top_ups)
    assert llm.calls == calls
    number = len(line.items)
    assert number == (3 if top_ups == 1 else 2)
    assert summary.short == {"q1": (number, 5)}
    assert f"1 query has fewer questions than requested: 'q1' ({number} of 5)." in [*summary.lines()]


def test_failures_are_listed_and_the_rest_is_kept() -> None:
    def reply(request: Request) -> Completion | str:
        if request.slot("subtopic") == "dance language":
            return Completion(error="timed out")
        return '["Why?"]' if request.slot("subtopic") else "no."

    lines, summary, llm = run([PLAIN, FACETED], FakeLLM(reply), repairs=2)
    assert [(line.query_id, line.facet_id) for line in lines] == [("q2", "threats")]
    assert summary.failed.keys() == {"q1", "q2/dance"}
    assert summary.failed["q2/dance"] == "timed out"
    assert llm.calls == 5, "failed calls are not repaired, lists are asked for three times"
    assert next(summary.lines()).startswith("1 question for 1 query (")
    assert f"No questions for 'q1': {summary.failed['q1']}." in [*summary.lines()]


def command(queries: Path, bank: Path, *more: str) -> None:
    options = [*more, "--model", "fake", *([] if more else ["-S", "top-ups=0"])]
    main(["-q", "generate", "questions", str(queries), "-o", str(bank), *options])


def test_a_model_without_any_list_is_an_error(
    demo_data: Path, tmp_path: Path, backend: Callable[[FakeLLM], None], capsys: pytest.CaptureFixture[str]
) -> None:
    backend(FakeLLM(lambda request: "No."))
    with pytest.raises(SystemExit, match="1"):
        command(demo_data / "queries.jsonl", tmp_path / "bank.jsonl")
    assert "(22 times)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [".bank.jsonl.journal"], "replies are kept"
