"""Requests of a grading as batch files of OpenAI, and the replies that come back.

The format is that of OpenAI's Batch API (https://platform.openai.com/docs/api-reference/batch, 2026), which
``vllm run-batch`` and Ray Data take, too: a request is a line with ``custom_id``, ``method``, ``url`` and
``body``; a reply is a line with ``custom_id``, ``response`` and ``error``, in any order.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

from exam_pp.errors import DataError, SelectionError, WaitingError
from exam_pp.llm.endpoint import EndpointLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.scheduler import Answerer, Job
from exam_pp.store.files import folder_output
from exam_pp.store.parsing import parse_json
from exam_pp.store.passages.raw_passages import RawQuery
from exam_pp.text.wording import counted

T = TypeVar("T")

log = logging.getLogger(__name__)

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
"""The largest batch file that OpenAI accepts."""

OWN_FILES = "requests-*.jsonl"


def take_replies(folder: Path, answer: Answerer, jobs: Iterable[tuple[RawQuery, Sequence[Job]]]) -> None:
    """Add the replies in the folder to the journal, and write the requests that have none.

    Replies are in all files ``*.jsonl`` of the folder but ``requests-1.jsonl``, ..., which are replaced.
    Raises :class:`WaitingError` if requests are written, :class:`SelectionError` for a model that is not
    behind an endpoint, and :class:`DataError` for a line that is no reply.
    """
    if not isinstance(answer.llm, EndpointLLM):
        raise SelectionError(
            "--to-batch writes requests for a server: add --model-pipeline openai, or openai-completions."
        )
    replies = _Replies(folder, answer.llm)
    with folder_output(folder, name="requests") as work:
        count = _write(_unanswered(jobs, answer, replies), answer.llm, work)
        written = sorted(path.name for path in work.iterdir())
    for path in folder.glob(OWN_FILES):
        if path.name not in written:
            path.unlink()
    replies.log_problems()
    if count:
        raise WaitingError(
            f"{counted(count, 'request waits', 'requests wait')} in {folder}/{OWN_FILES}: let the server "
            f"answer them, put the files with its replies into {folder}, and repeat the command."
        )


def _unanswered(
    jobs: Iterable[tuple[RawQuery, Sequence[Job]]], answer: Answerer, replies: _Replies
) -> Iterator[tuple[str, Request]]:
    """Each request without a reply, once, with its key; a job goes on as far as replies are known."""
    seen: set[bytes] = set()  # only the keys of all requests stay in memory
    for _, of_query in jobs:
        pending = [(job.grading, next(job.grading, [])) for job in of_query]
        while pending:
            requests = {request.key(): request for _, asked in pending for request in asked}
            answer.add(dict(replies.to(requests)))
            known = answer.known(list(requests.values()))
            for key, request in requests.items():
                if key not in known and bytes.fromhex(key) not in seen:
                    seen.add(bytes.fromhex(key))
                    yield key, request
            answered = [
                (grading, [known[request.key()] for request in asked])
                for grading, asked in pending
                if all(request.key() in known for request in asked)
            ]
            pending = []
            for grading, found in answered:
                with suppress(StopIteration):
                    pending.append((grading, grading.send(found)))


def _write(requests: Iterable[tuple[str, Request]], llm: EndpointLLM, folder: Path) -> int:
    """Write ``requests-1.jsonl``, ...; returns the number of requests."""
    count = files = lines = size = 0
    with ExitStack() as stack:
        for key, request in requests:
            line = json.dumps({"custom_id": key, "method": "POST", **llm.call(request)}).encode() + b"\n"
            if not files or lines == MOST_REQUESTS or size + len(line) > MOST_BYTES:
                stack.close()
                files, lines, size = files + 1, 0, 0
                stream = stack.enter_context((folder / f"requests-{files}.jsonl").open("wb"))
            stream.write(line)
            count, lines, size = count + 1, lines + 1, size + len(line)
    return count


class _Replies:
    """The replies in the files of a folder; only their places are in memory."""

    def __init__(self, folder: Path, llm: EndpointLLM) -> None:
        self._llm = llm
        self._places: dict[str, list[tuple[Path, int, int]]] = {}
        self._asked_again: Counter[str] = Counter()
        for path in sorted({*folder.glob("*.jsonl")} - {*folder.glob(OWN_FILES)}):
            start = 0
            with path.open("rb") as stream:
                for number, line in enumerate(stream, 1):
                    if line.strip():
                        key = _field(parse_json(line, path, number), "custom_id", str, path, number)
                        self._places.setdefault(key, []).append((path, number, start))
                    start += len(line)

    def to(self, requests: Mapping[str, Request]) -> Iterator[tuple[str, Completion]]:
        """The usable replies to requests, by key."""
        for key in requests.keys() & self._places.keys():
            failures = []
            for path, number, start in self._places.pop(key):
                reply = self._read(path, number, start, requests[key])
                if isinstance(reply, Completion):
                    yield key, reply
                    break
                failures.append(reply)
            else:
                self._asked_again[failures[-1]] += 1

    def _read(self, path: Path, number: int, start: int, request: Request) -> Completion | str:
        """The reply at a place, or the reason why its request is asked again."""
        with path.open("rb") as stream:
            stream.seek(start)
            line = parse_json(stream.readline(), path, number)
        if line.get("response") is None:  # expired or cancelled
            return f"there is no response ({json.dumps(line.get('error'))[:300]})"
        response = _field(line, "response", dict, path, number)
        status = _field(response, "status_code", int, path, number)
        return self._llm.read_call(status, response.get("body"), request)

    def log_problems(self) -> None:
        """Say which replies are not used, and why."""
        for reason, count in self._asked_again.most_common(5):
            log.warning("%s asked again: %s.", counted(count, "request is", "requests are"), reason)
        if self._places:
            others = counted(len(self._places), "reply is", "replies are")
            log.info("%s to no request of this grading that waits.", others)


def _field(value: Any, name: str, kind: type[T], path: Path, number: int) -> T:
    """A field of a line; raises :class:`DataError`."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise DataError(
            "is no reply of a batch, or was not written to its end.", file=str(path), line=number, field=name
        )
    return found
