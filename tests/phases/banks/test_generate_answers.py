"""Generated answers: styles, contexts and citations, formats, failures, and interrupted runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.banks.generate_answers import AnswerOptions, AnswersSummary, generate_answers_file
from exam_pp.phases.banks.relevant_passages import ranked_passages
from exam_pp.prompts.answers import ANSWER_PROMPTS, STYLES
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import journal_path
from exam_pp.store.trec.answers import Answer, read_answers

WriteLines = Callable[[str, list[Any]], Path]
Backend = Callable[[FakeLLM], None]
FAKE = ModelOptions("fake")


@pytest.fixture
def queries(write_jsonl: WriteLines) -> Path:
    texts = {"q1": "why is the sky blue", "q2": "ocean tides"}
    return write_jsonl("queries.jsonl", [{"query_id": q, "query_text": text} for q, text in texts.items()])


def ranked(passage_id: str, text: str, **ranks: int) -> dict[str, Any]:
    rankings = [
        {"method": system, "paragraphId": passage_id, "queryId": "q1", "rank": rank, "score": 1 / rank}
        for system, rank in ranks.items()
    ]
    return {
        "paragraph_id": passage_id,
        "text": text,
        "paragraph_data": {"judgments": [], "rankings": rankings},
    }


@pytest.fixture
def contexts(write_jsonl: WriteLines) -> Path:
    """Passages of q1 only: a has the order p2, p1, p4; b ranks p3 alone, and p5 has no rank."""
    passages = [
        ranked("p1", "Air scatters\nlight.", a=2),
        ranked("p2", "Blue light is scattered most.", a=1),
        ranked("p3", "The sky is above.", b=1),
        ranked("p4", "The sun is a star.", a=3),
        ranked("p5", "Nobody found this."),
    ]
    return write_jsonl("contexts.jsonl", [["q1", passages]])


def generate(
    queries: Path, output: Path, model: ModelOptions = FAKE, **options: Any
) -> tuple[dict[tuple[str, str], Answer], AnswersSummary]:
    options.setdefault("styles", ("direct",))
    summary = generate_answers_file(queries, output, model, AnswerOptions(**options))
    return {(answer.system, answer.query_id): answer for answer in read_answers(output)}, summary


def texts(answers: dict[tuple[str, str], Answer]) -> dict[tuple[str, str], str]:
    return {key: " ".join(part.text for part in answer.parts) for key, answer in answers.items()}


def test_every_style_is_a_system(queries: Path, tmp_path: Path, backend: Backend) -> None:
    """The three systems of section 6 of the workbench paper."""
    backend(FakeLLM(lambda request: f"  Reply to: {request.text}\n"))
    answers, summary = generate(queries, tmp_path / "out.jsonl", styles=STYLES)

    assert list(answers) == [(f"fake-{style}", query) for style in STYLES for query in ("q1", "q2")]
    asked = ANSWER_PROMPTS["wikipedia", False].render({"query": "ocean tides"})
    assert texts(answers)["fake-wikipedia", "q2"] == f"Reply to: {Request(asked).text}"
    assert next(summary.lines()) == "6 answers of 3 systems to 2 queries (6 model calls)."
    assert not journal_path(tmp_path / "out.jsonl").exists()
    line = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert line.keys() == {"query_id", "system", "text"}


@pytest.mark.parametrize(
    ("model", "name", "styles", "systems"),
    [
        ("org/small model/", None, ("web",), ["small-model-web"]),
        ("m", "mine", ("web",), ["mine"]),
        ("m", "mine", ("web", "direct"), ["mine-web", "mine-direct"]),
    ],
)
def test_names_of_systems(model: str, name: str | None, styles: Any, systems: list[str]) -> None:
    assert list(AnswerOptions(styles, system_name=name).systems(model)) == systems


def test_contexts_are_the_top_passages_and_references_become_citations(
    queries: Path, contexts: Path, tmp_path: Path, backend: Backend
) -> None:
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return "It scatters most [1]. Air does it [2][1], says nobody [7]. So it is."

    backend(FakeLLM(reply))
    answers, summary = generate(
        queries, tmp_path / "out.jsonl", contexts=contexts, ranking="a", max_passages=2
    )

    (request,) = seen
    assert request.slot("context") == "[1] Blue light is scattered most.\n[2] Air scatters light."
    assert [part.slot for part in request.parts if part.may_be_cut] == ["context"]
    (answer,) = answers.values()
    assert answer.system == "fake-direct-cited"
    assert [(part.text, part.citations) for part in answer.parts] == [
        ("It scatters most.", ("p2",)),
        ("Air does it, says nobody.", ("p1", "p2")),
        ("So it is.", ()),
    ]
    assert answer.references == ("p2", "p1")
    assert answer.query_text == "why is the sky blue"
    assert [*summary.lines()] == [
        "1 answer with 3 citations of 1 system to 2 queries (1 model call).",
        "Dropped: 1 citation of passages that the prompt does not have.",
        "No answer of 'fake-direct-cited' to 'q2': the file of contexts has no passages of this query.",
        f"Written: {tmp_path / 'out.jsonl'}",
    ]


def test_the_order_of_contexts(contexts: Path) -> None:
    def ids(**options: Any) -> list[str]:
        found = ranked_passages(read_passages(contexts), "contexts", **{"limit": 9, **options})
        return [passage_id for passage_id, _ in found["q1"]]

    assert ids(ranking="a") == ["p2", "p1", "p4"]
    assert ids(ranking="b") == ["p3"]
    assert ids() == ["p2", "p3", "p1", "p4"], "fused; passages without a rank are left out"
    assert ids(limit=2) == ["p2", "p3"]
    with pytest.raises(SelectionError, match="Its systems: a, b"):
        ids(ranking="zzz")


def test_passages_without_any_ranking_are_in_file_order(write_jsonl: WriteLines) -> None:
    file = write_jsonl("plain.jsonl", [["q1", [ranked("x", "One."), ranked("y", " "), ranked("z", "Two.")]]])
    assert ranked_passages(read_passages(file), "f", limit=5) == {"q1": [("x", "One."), ("z", "Two.")]}


def test_citations_that_a_format_cannot_hold_are_counted(
    queries: Path, contexts: Path, tmp_path: Path, backend: Backend
) -> None:
    backend(FakeLLM(lambda request: "It is blue [1][2]."))
    _, summary = generate(queries, tmp_path / "out.jsonl", contexts=contexts, form="plain")
    assert "Dropped: 2 citations, which the format plain cannot hold." in [*summary.lines()]
    assert summary.citations == 0


def test_empty_answers_are_written_and_failures_listed(
    queries: Path, write_jsonl: WriteLines, tmp_path: Path, backend: Backend
) -> None:
    """A system without an answer scores 0; a call that failed says nothing about the system."""
    queries = write_jsonl("four.jsonl", [{"query_id": f"q{i}", "query_text": f"text {i}"} for i in range(4)])
    replies: dict[str, Completion | str] = {
        "text 0": "An answer.", "text 1": " \n", "text 2": Completion(error="the call failed"),
        "text 3": "<think>I am still",
    }  # fmt: skip
    backend(FakeLLM(lambda request: replies[request.slot("query") or ""]))
    answers, summary = generate(queries, tmp_path / "out.jsonl")

    assert texts(answers) == {
        ("fake-direct", "q0"): "An answer.", ("fake-direct", "q1"): "", ("fake-direct", "q3"): "",
    }  # fmt: skip
    assert [*summary.lines()][:-1] == [
        "1 answer of 1 system to 4 queries (4 model calls).",
        "Empty answer of 'fake-direct' to 'q1': the reply is empty.",
        "Empty answer of 'fake-direct' to 'q3': the reply ended before the model finished thinking.",
        "No answer of 'fake-direct' to 'q2': the call failed.",
    ]


def test_a_prompt_with_the_name_of_a_style() -> None:
    """Otherwise one of the two systems would be missing in the output."""
    prompt = replace(ANSWER_PROMPTS["direct", False], name="direct")
    with pytest.raises(SelectionError, match="'direct' has the name of a selected style"):
        AnswerOptions(styles=["direct"], prompts=[prompt]).systems("m")


def test_no_answer_at_all_is_an_error(queries: Path, tmp_path: Path, backend: Backend) -> None:
    backend(FakeLLM(lambda request: ""))
    with pytest.raises(SelectionError, match=r"no answers to 2 queries.* \(2 times\): the reply is empty"):
        generate(queries, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.glob("*out*")] == [".out.jsonl.journal"], "replies are kept"


PROMPT = 'name = "Poem"\nkind = "answer"\nreading = "text"\ntemplate = "TEMPLATE"\n'


@pytest.mark.parametrize(
    ("template", "more", "systems", "citations"),
    [
        ("Write a poem about {query}.", [], {"fake-Poem"}, ()),
        ("Write a poem about {query}.", ["--style", "web"], {"fake-web", "fake-Poem"}, ()),
        ("Write of {query} from {context}", ["--passages", "contexts.jsonl"], {"fake-Poem"}, ("p2",)),
    ],
)
def test_a_prompt_of_your_own(
    template: str, more: list[str], systems: set[str], citations: tuple[str, ...],
    queries: Path, contexts: Path, tmp_path: Path, backend: Backend,
) -> None:  # fmt: skip
    backend(FakeLLM(lambda request: "Roses are red [1]."))
    (tmp_path / "poem.toml").write_text(PROMPT.replace("TEMPLATE", template))
    own = ["--model", "fake", "--prompt-file", "poem.toml", *more]
    main(["-q", "generate", "answers", str(queries), "-o", "out.jsonl", *own])
    answers = list(read_answers(Path("out.jsonl")))
    assert {answer.system for answer in answers} == systems
    assert answers[-1].parts[0].citations == citations


@pytest.mark.parametrize(
    ("prompt", "more", "message"),
    [
        ("poem.toml", ["--passages", "contexts.jsonl"], "'Poem' has no placeholder {context}"),
        ("reads.toml", [], "name a passages file with --passages"),
        ("other.toml", [], "it needs kind = 'answer'"),
    ],
)
def test_prompts_that_do_not_fit(
    prompt: str, more: list[str], message: str, queries: Path, contexts: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    Path("poem.toml").write_text(PROMPT.replace("TEMPLATE", "A poem about {query}"))
    Path("reads.toml").write_text(PROMPT.replace("TEMPLATE", "Of {query} from {context}"))
    main(["-q", "show", "prompt", "QuestionGenerationDL", "--format", "toml", "-o", "other.toml"])
    with pytest.raises(SystemExit):
        main(["-q", "generate", "answers", str(queries), "-o", "o", "--model", "fake", "--prompt-file",
              prompt, *more])  # fmt: skip
    assert message in " ".join(capsys.readouterr().err.split())
