"""The log on standard error."""

from __future__ import annotations

import io
import logging
import sys

import click
import pytest

from exam_pp.cli.logs import start_log
from exam_pp.errors import StoppedError


class _Stopping(io.StringIO):
    """A stream that SIGTERM reaches while its first message is written."""

    stopped = False

    def write(self, text: str, /) -> int:
        if not self.stopped:
            self.stopped = True
            raise StoppedError("stopped by SIGTERM.")
        return super().write(text)


def test_sigterm_in_the_middle_of_a_message_stops_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    monkeypatch.setattr(sys, "stderr", _Stopping())
    try:
        with click.Context(click.Command("x")) as context:
            root.handlers = []
            start_log(context)
            with pytest.raises(StoppedError):
                logging.getLogger("exam_pp.test").warning("a message")
    finally:
        root.handlers, root.level = before, level


def test_a_message_about_a_file_is_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    try:
        with click.Context(click.Command("x")) as context:
            root.handlers = []
            start_log(context)
            for name in ("exam_pp.phases.some", "exam_pp.store.other", "exam_pp.llm.some"):
                for message in ("a note", "another note"):
                    logging.getLogger(name).info(message)
                logging.getLogger(name).warning("a warning")
    finally:
        root.handlers, root.level = before, level
    lines = [line.split(" ", 2)[2] for line in stream.getvalue().splitlines()]
    assert lines == ["a note", "another note", "a warning"] * 2
