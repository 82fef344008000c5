"""Grading through `transformers serve` with a real chat model."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.endpoint import EndpointLLM
from exam_pp.llm_requests import Part, Request
from exam_pp.store.passages.graded_file import read_passages
from tests.long.real.conftest import RealServer
from tests.long.real.test_real_model import PASSAGE, RATING, rating_requests, texts


def endpoint(server: RealServer, pipeline: str = "openai", **more: Any) -> Any:
    return load_llm(
        ModelOptions(**{"model": server.model, "base_url": server.url, **more}, pipeline=pipeline)
    )


def test_chat_replies_are_those_of_the_local_model(smollm2: Any, real_server: RealServer) -> None:
    requests = rating_requests(3)
    assert texts(endpoint(real_server), requests) == texts(smollm2, requests)


def test_completions_continue_the_text(smollm2: Any, real_server: RealServer) -> None:
    prompt = "The capital of France is"
    ids = smollm2._tokenizer(prompt, return_tensors="pt")
    output = smollm2._model.generate(**ids, max_new_tokens=8, do_sample=False, pad_token_id=2)
    expected = smollm2._tokenizer.decode(output[0, ids["input_ids"].shape[1] :]).strip()
    llm = endpoint(real_server, "openai-completions")
    assert texts(llm, [Request((Part(prompt),), max_new_tokens=8)]) == [expected]
    assert "Paris" in expected


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
def test_a_wrong_name_of_the_model_stops_the_run(real_server: RealServer, pipeline: str) -> None:
    """The server refuses it with status 400."""
    llm = endpoint(real_server, pipeline, model="another-model")
    with pytest.raises(ModelError, match=r"refuses every request .*another-model") as caught:
        list(llm.generate(rating_requests(3)))
    assert "\n" not in str(caught.value)


def test_a_server_that_is_killed_and_started_again(
    real_server: RealServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The run stops with one sentence, and the same command continues with the replies in the journal."""
    pairs, saved, killed_at = 7, 4, 6
    monkeypatch.setattr("exam_pp.llm.endpoint.BATCH_SIZE", saved)
    monkeypatch.setattr("exam_pp.llm.retries.monotonic", count(0, 600).__next__)  # at each failure
    passages, bank = tmp_path / "passages.jsonl", tmp_path / "bank.jsonl"
    passages.write_text(
        json.dumps(["q", [{"paragraph_id": f"p{n}", "text": f"{PASSAGE} {n}"} for n in range(pairs)]])
    )
    items = [{"query_id": "q", "question_id": "q/1", "question_text": "What causes tides?"}]
    bank.write_text(
        json.dumps({"query_id": "q", "test_collection": "t", "query_text": "tides", "items": items})
    )
    output = tmp_path / "graded.jsonl"
    command = ["-q", "grade", str(passages), "-o", str(output), "--bank", str(bank), "--prompt", RATING,
               "--model", real_server.model, "--model-pipeline", "openai", "--base-url", real_server.url,
               "-M", "concurrency=1", "-M", "max_tokens=4", "-M", "timeout=600"]  # fmt: skip
    sent: list[str] = []
    create = EndpointLLM._create

    def mortal(self: EndpointLLM, client: Any, arguments: dict[str, Any]) -> Any:
        sent.append(arguments["messages"][-1]["content"])
        if len(set(sent)) == killed_at:
            real_server.kill()
        return create(self, client, arguments)

    monkeypatch.setattr(EndpointLLM, "_create", mortal)
    try:
        with pytest.raises(SystemExit, match="1"):
            main(command)
    finally:
        real_server.start()
    message = capsys.readouterr().err
    assert "has not been reachable for 600 s (-M timeout" in message
    assert not output.exists()

    killed_at = pairs + 1
    sent.clear()
    main(command)
    assert len(set(sent)) == pairs - saved
    (query,) = read_passages(output)
    ungraded = [
        grades.error_of("q/1") for passage in query.passages for grades in passage.rubric_grades or ()
    ]
    assert len(ungraded) == pairs
    assert not any("endpoint" in str(reason) for reason in ungraded)
