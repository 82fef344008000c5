"""``--to-batch``: batch files of requests, and replies that come back as those of calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.plugins.batches import exchange
from tests.llm.endpoint_server import Script, completion, failure, rating, serve

pytest.importorskip("openai")
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
Outcome = tuple[int, str]


@pytest.fixture
def many(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    texts = [{"paragraph_id": f"p{i}", "text": f"This text number {i % 35} was written."} for i in range(40)]
    return write_jsonl("many.jsonl", [["q1", texts[:25]], ["007", texts[25:]]])


@pytest.fixture
def grade(many: Path, tiny_bank: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run ``exam-pp grade``; returns the exit code and the messages."""

    def run(output: Path, url: str, *more: str, pipeline: str = "openai") -> Outcome:
        arguments = [
            "grade", str(many), "-o", str(output), "--bank", str(tiny_bank), "--model", "m",
            "--prompt", RATING, "--model-pipeline", pipeline, "--base-url", url, *more,
        ]  # fmt: skip
        try:
            main(arguments)
        except SystemExit as stop:
            return int(stop.code or 0), capsys.readouterr().err
        return 0, capsys.readouterr().err

    return run


def requests_in(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("requests-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def reply(request: dict[str, Any], script: Script = rating) -> dict[str, Any]:
    status, body, _ = script(request["body"], 1)
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": request["custom_id"], "response": response, "error": None}


def write(folder: Path, name: str, lines: Iterable[dict[str, Any]]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.mark.parametrize("pipeline", ["openai", "openai-completions"])
def test_shuffled_replies_of_which_some_are_lost_give_the_bytes_of_calls(
    grade: Callable[..., Outcome], tmp_path: Path, pipeline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve() as server:
        assert grade(tmp_path / "called.jsonl.gz", server.url, pipeline=pipeline)[0] == 0
        calls = [
            (path, json.dumps(body, sort_keys=True))
            for path, body in zip(server.paths, server.bodies, strict=True)
        ]
    monkeypatch.setattr(exchange, "MOST_REQUESTS", 30)
    output, folder = tmp_path / "batch.jsonl.gz", tmp_path / "batch"
    batch = ["--to-batch", str(folder)]
    code, said = grade(output, server.url, *batch, pipeline=pipeline)
    requests = requests_in(folder)
    assert code == 3
    assert f"{len(requests)} requests wait in {folder}/requests-*.jsonl" in said
    assert not output.exists()
    assert len(list(folder.iterdir())) == -(-len(requests) // 30)
    written = [(each["url"], json.dumps(each["body"], sort_keys=True)) for each in requests]
    assert sorted(written) == sorted(set(calls))

    replies = [reply(request) for request in requests]
    Random(1).shuffle(replies)
    lost = len(replies) // 20
    write(folder, "replies-1.jsonl", replies[lost:50])
    write(folder, "replies-2.jsonl", replies[50:])
    code, said = grade(output, server.url, *batch, pipeline=pipeline)
    assert code == 3
    assert {each["custom_id"] for each in requests_in(folder)} == {
        each["custom_id"] for each in replies[:lost]
    }
    assert [path.name for path in folder.glob("requests-*")] == ["requests-1.jsonl"]

    write(folder, "replies-1.jsonl", replies[:lost])  # the earlier replies are in the journal
    assert grade(output, server.url, *batch, pipeline=pipeline)[0] == 0
    assert output.read_bytes() == (tmp_path / "called.jsonl.gz").read_bytes()
    assert not requests_in(folder)


def test_refused_requests_are_failures_and_all_other_failures_are_asked_again(
    grade: Callable[..., Outcome], tmp_path: Path
) -> None:
    output, folder = tmp_path / "graded.jsonl", tmp_path / "batch"
    batch = ["--to-batch", str(folder)]
    grade(output, "http://localhost:1/v1", *batch)
    refused, limited, expired, empty, *others = requests_in(folder)
    no_reply = {"code": "batch_expired", "message": "This request could not be executed."}
    write(folder, "a.jsonl", [reply(limited), reply(refused, lambda *_: failure(400, "Too long."))])
    write(
        folder, "b.jsonl",
        [
            reply(limited, lambda *_: failure(429, "Slow down.")),
            {"custom_id": expired["custom_id"], "response": None, "error": no_reply},
            reply(empty, lambda *_: (200, {"choices": "none"}, {})),
            *map(reply, others),
        ],
    )  # fmt: skip
    code, said = grade(output, "http://localhost:1/v1", *batch)
    assert code == 3
    assert "batch_expired" in said
    assert "the reply is not a chat completion" in said
    left = requests_in(folder)
    assert [each["custom_id"] for each in left] == [expired["custom_id"], empty["custom_id"]]
    write(folder, "c.jsonl", map(reply, left))
    code, said = grade(output, "http://localhost:1/v1", *batch)
    assert code == 0
    assert "ungraded: the endpoint refused the request with status 400 (Too long)" in said


def test_a_reply_that_is_asked_again_waits_for_a_second_batch(
    write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    texts = [{"nugget_id": f"n{i}", "query_id": "q1", "nugget_text": f"fact {i}"} for i in range(2)]
    bank = write_jsonl("nuggets.jsonl", [{"query_id": "q1", "query_text": "Who?", "items": texts}])
    passages = write_jsonl("p.jsonl", [["q1", [{"paragraph_id": "p", "text": "fact 1"}]]])
    folder, output = tmp_path / "batch", tmp_path / "assigned.jsonl"
    arguments = ["grade", str(passages), "-o", str(output), "--bank", str(bank), "--model", "m", "--prompt",
                 "nugget-assignment", "--model-pipeline", "openai", "--base-url", "http://localhost:1/v1",
                 "--to-batch", str(folder)]  # fmt: skip
    said = []
    for text in ("It depends.", '["support", "not_support"]'):
        with pytest.raises(SystemExit, match="3"):
            main(arguments)
        (request,) = requests_in(folder)
        said.append(json.dumps(request["body"]["messages"]))
        write(folder, f"{len(said)}.jsonl", [reply(request, lambda *_, text=text: completion(text))])
    main(arguments)
    assert "It depends." in said[1]
    assert "not_support" in output.read_text("utf-8")


@pytest.mark.parametrize("line", ['{"custom_id": "a", "resp', '{"id": 1}', "[]"])
def test_a_line_that_is_no_reply_is_named(grade: Callable[..., Outcome], tmp_path: Path, line: str) -> None:
    folder = tmp_path / "batch"
    folder.mkdir()
    (folder / "replies.jsonl").write_text("\n" + line)
    code, said = grade(tmp_path / "graded.jsonl", "http://localhost:1/v1", "--to-batch", str(folder))
    assert code == 1
    assert "replies.jsonl, line 2" in said


def test_replies_of_another_grading_are_left_alone(grade: Callable[..., Outcome], tmp_path: Path) -> None:
    folder = tmp_path / "batch"
    folder.mkdir()
    other = {"custom_id": "0" * 32, "method": "POST", "url": "/v1/chat/completions", "body": {"prompt": "?"}}
    write(folder, "replies.jsonl", [reply(other)])
    code, said = grade(tmp_path / "graded.jsonl", "http://localhost:1/v1", "--to-batch", str(folder))
    assert code == 3
    assert "1 reply is to no request" in said


def test_only_models_behind_an_endpoint_have_batches(
    many: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        main(
            ["grade", str(many), "-o", str(tmp_path / "g.jsonl"), "--bank", str(tiny_bank), "--model", "fake",
             "--to-batch", str(tmp_path / "batch")]
        )  # fmt: skip
    assert "add --model-pipeline openai" in capsys.readouterr().err


def test_requests_are_what_the_client_of_openai_would_send(
    grade: Callable[..., Outcome], tmp_path: Path
) -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from pydantic import TypeAdapter

    grade(tmp_path / "graded.jsonl", "http://localhost:1/v1", "--to-batch", str(tmp_path / "batch"))
    adapter = TypeAdapter(CompletionCreateParamsNonStreaming)
    for request in requests_in(tmp_path / "batch"):
        assert request["method"] == "POST"
        assert request["url"] == "/v1/chat/completions"
        assert len(request["custom_id"]) <= 64
        assert adapter.validate_python(request["body"]).keys() == request["body"].keys()


def test_run_takes_the_replies_of_a_batch(
    many: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, study = tmp_path / "batch", tmp_path / "study"
    arguments = ["run", "--passages", str(many), "--bank", str(tiny_bank), "--model", "m", "--model-pipeline",
                 "openai", "--base-url", "http://localhost:1/v1", "-o", str(study), "--to-batch",
                 str(folder)]  # fmt: skip
    with pytest.raises(SystemExit, match="3"):
        main(arguments)
    write(folder, "replies.jsonl", map(reply, requests_in(folder)))
    main(arguments)
    assert (study / "report" / "index.html").exists()
