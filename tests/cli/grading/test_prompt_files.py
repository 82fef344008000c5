"""Commands with ``--prompt-file``: every prompt can be replaced, and built-in prompts printed as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.phases.grading.prompt_files import read_prompt
from exam_pp.prompts import PROMPTS
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages

WriteLines = Callable[[str, list[Any]], Path]


@pytest.fixture
def folder(write_jsonl: WriteLines, tmp_path: Path) -> Path:
    """Queries with and without facets, passages with judgments, and banks of both kinds."""
    facets = [{"facet_id": "moon", "facet_text": "the moon"}]
    write_jsonl("queries.jsonl", [{"query_id": "q", "query_text": "ocean tides"}])
    write_jsonl("faceted.jsonl", [{"query_id": "q", "query_text": "ocean tides", "facets": facets}])
    ranking = {"method": "s", "paragraphId": "p", "queryId": "q", "rank": 1, "score": 1.0}
    data = {
        "judgments": [{"paragraphId": "p", "query": "q", "titleQuery": "q", "relevance": 1}],
        "rankings": [ranking],
    }
    passage = {"paragraph_id": "p", "text": "The ocean has tides.", "paragraph_data": data}
    write_jsonl("passages.jsonl", [["q", [passage]]])
    question = {"query_id": "q", "question_id": "q/1", "question_text": "What has the ocean?"}
    items = [question | {"gold_answers": ["tides of the ocean"]}]
    write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "ocean tides", "items": items}])
    nugget = {"query_id": "q", "nugget_id": "q/n", "nugget_text": "ocean tides"}
    write_jsonl("nuggets.jsonl", [{"query_id": "q", "query_text": "ocean tides", "items": [nugget]}])
    return tmp_path


def own(built_in: str, file: str = "own.toml") -> str:
    """Write a copy of a built-in prompt with another system message, and return its name."""
    main(["-q", "show", "prompt", built_in, "--format", "toml", "-o", file])
    path = Path(file)
    text = path.read_text(encoding="utf-8")
    system = 'system = """\n'
    text = text.replace(system, system + "Be kind. ") if system in text else f'{text}system = "Be kind."\n'
    path.write_text(text, encoding="utf-8")
    return f"My{built_in}"


def run(line: str) -> None:
    main(["-q", *line.split()])


ASK = "--model fake -o out.jsonl"


ASSIGN = f"grade passages.jsonl --bank nuggets.jsonl {ASK}"


@pytest.mark.parametrize(
    ("built_in", "command"),
    [
        ("QuestionSelfRatedPrompt", f"grade passages.jsonl --bank bank.jsonl {ASK}"),
        (
            "QuestionCompleteConciseUnanswerablePromptWithChoices",
            f"grade passages.jsonl --bank bank.jsonl {ASK}",
        ),
        ("QuestionCompleteConcisePromptWithAnswerKey2", f"grade passages.jsonl --bank bank.jsonl {ASK}"),
        ("NuggetSelfRatedPrompt", ASSIGN),
        ("NuggetExtractionPrompt", ASSIGN),
        ("NuggetAssignment", ASSIGN),
        ("NuggetAssignmentPointwise", ASSIGN),
        ("GradedRelevance", f"grade passages.jsonl --queries queries.jsonl {ASK}"),
        ("FagB_few", f"grade passages.jsonl --queries queries.jsonl {ASK}"),
        ("QuestionSelfRatedUnanswerablePromptWithChoices", f"grade --closed-book --bank bank.jsonl {ASK}"),
    ],
)
def test_grading_prompts(built_in: str, command: str, folder: Path) -> None:
    name = own(built_in)
    run(f"{command} --prompt-file own.toml")
    (query,) = read_passages(folder / "out.jsonl")
    (grades,) = query.passages[0].grade_sets()
    assert (grades.prompt_class, grades.prompt_hash) == (name, read_prompt(Path("own.toml")).hash)
    assert grades.prompt_hash != PROMPTS.get(built_in).hash, "the system message counts"
    assert grades.entry_ratings()


@pytest.mark.parametrize(
    ("built_in", "queries"),
    [
        ("QuestionGenerationDL", "questions queries.jsonl"),
        ("QuestionGenerationCAR", "questions faceted.jsonl"),
        ("NuggetGenerationDL", "nuggets faceted.jsonl --facets title"),
        ("NuggetGenerationCAR", "nuggets faceted.jsonl"),
    ],
)
def test_generation(built_in: str, queries: str, folder: Path) -> None:
    name = own(built_in)
    run(f"generate {queries} {ASK} --prompt-file own.toml")
    (line,) = read_bank(folder / "out.jsonl").lines
    assert line.info["prompt_info"]["prompt_class"] == name
    assert line.info["hash"] == read_prompt(Path("own.toml")).hash
    assert line.items


def test_creation_and_importance_of_nuggets(folder: Path) -> None:
    creation, importance = own("NuggetCreation", "list.toml"), own("NuggetImportance", "importance.toml")
    nuggetize = f"nuggetize passages.jsonl --queries queries.jsonl {ASK}"
    run(f"{nuggetize} --prompt-file importance.toml --prompt-file list.toml")
    (line,) = read_bank(folder / "out.jsonl").lines
    assert line.info["prompt_info"]["prompt_class"] == creation
    assert line.info["importance_prompt_info"]["prompt_class"] == importance
    assert [item.importance for item in line.items] == ["vital"]


def test_a_prompt_file_records_its_scale(folder: Path) -> None:
    """The top of the scale is the threshold, although exam_pp does not know the prompt."""
    own("GradedRelevance")
    run(f"grade passages.jsonl --queries queries.jsonl {ASK} --prompt-file own.toml")
    assert json.loads(Path("out.jsonl").read_text())[1][0]["grades"][0]["prompt_info"]["max_rating"] == 3
    Path("r.run").write_text("q Q0 p 1 1.0 r\n")
    run("evaluate qrels out.jsonl --runs r.run -m RR --format tsv -o board.tsv")
    assert "RR(rel=3)" in Path("board.tsv").read_text()
