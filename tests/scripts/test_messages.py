"""The collection of messages: a listing of docs/reference/messages.md."""

from __future__ import annotations

from pathlib import Path

from scripts.messages import messages

SOURCE = '''
"""A module docstring is not a message."""
import re
LINE = re.compile(r"Neither is a pattern.")

def check(path, names, findings, log):
    """Nor is a docstring."""
    if not names:
        raise DataError("is empty.", file=str(path))
    if len(names) > 1:
        raise SelectionError(f"{path} has {counted(len(names), 'long name')}: " + ", ".join(names))
    log.warning("%s is old", path)
    findings.add("check", "has no lines")
    yield f"Wrote {len(names)} [names] to {'a file' if path else 'standard output'}."
    return {"key": "no sentence"}

OPTION = option("--x", help="An option's help is not a message.")
'''


def test_messages_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "module.py").write_text(SOURCE, encoding="utf-8")
    assert [(message.file, message.kind, message.text) for message in messages(tmp_path)] == [
        ("room/module.py", "DataError", "is empty."),
        (
            "room/module.py",
            "SelectionError",
            "{path} has {counted(len(names), 'long name')}: {', '.join(names)}",
        ),
        ("room/module.py", "warning", "%s is old"),
        ("room/module.py", "finding", "has no lines"),
        ("room/module.py", "text", "Wrote {len(names)} [names] to [a file | standard output]."),
    ]


def test_every_module_that_raises_errors_has_messages() -> None:
    files = {message.file for message in messages()}
    assert {"errors.py"} & files == set()
    assert {"store/files.py", "phases/grading/grading_run.py", "cli/interchange/convert.py"} <= files
    assert len(files) > 100
