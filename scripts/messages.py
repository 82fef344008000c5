"""Error messages, warnings, findings and summary lines of exam_pp, collected from its syntax trees.

They are a listing of docs/reference/messages.md. A message is the text of an exception,
of a call to a logger or of a usage error, or any other sentence outside docstrings and ``help=``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "exam_pp"
LOG_LEVELS = {"info": "log", "warning": "warning", "error": "warning"}
LONGEST_EXPRESSION = 40
_SENTENCE = re.compile(r"\w.* .*\w[^\w\s]*[.:!?)]$", re.DOTALL)
_PARTS_OR_HELP = re.compile(r"re\.|counted$|some$|required_output$|group_of_files$|\w+_option$")
"""Calls whose texts are patterns, nouns of a message, or help of options."""
_NO_MESSAGES = (
    "cli/main.py", "cli/grading/doctor.py", "phases/sql/query_examples.py", "store/sql", "llm", "prompts",
)  # fmt: skip
"""Files whose sentences may be prompts, SQL or help: here only raised or logged texts are messages."""


class Message(NamedTuple):
    """A text that a user may see; ``{...}`` stands for a value.

    ``kind`` is the exception class, ``warning``, ``log``, ``finding``, or ``text`` for sentences of
    summaries, reports and messages that are raised elsewhere.
    """

    file: str
    line: int
    kind: str
    text: str


def messages(package: Path = PACKAGE) -> Iterator[Message]:
    """All messages, by file and line."""
    for path in sorted(package.rglob("*.py")):
        yield from _of_file(path, path.relative_to(package).as_posix())


def _of_file(path: Path, name: str) -> Iterator[Message]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = _kinds(tree)
    skipped = _not_messages(tree)
    collected: list[Message] = []
    _walk(tree, "text", kinds, skipped, name, collected)
    yield from sorted(collected, key=lambda message: message.line)


def _walk(
    node: ast.AST, kind: str, kinds: dict[int, str], skipped: set[int], name: str, collected: list[Message]
) -> None:
    kind = kinds.get(id(node), kind)
    if id(node) in skipped:
        return
    text = text_of(node) if isinstance(node, ast.expr) else None
    if text is not None:
        if (kind != "text" and " " in text) or (_SENTENCE.match(text) and not name.startswith(_NO_MESSAGES)):
            collected.append(Message(name, node.lineno, kind, text))  # type: ignore[attr-defined]
        return
    for child in ast.iter_child_nodes(node):
        _walk(child, kind, kinds, skipped, name, collected)


def _kinds(tree: ast.AST) -> dict[int, str]:
    """Node id to the kind of all texts below the node."""
    kinds: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            kind = ast.unparse(node.exc.func).rpartition(".")[2]
            for argument in node.exc.args:
                kinds[id(argument)] = kind if kind.endswith(("Error", "Parameter")) else "error"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            attribute, owner = node.func.attr, ast.unparse(node.func.value)
            if owner in {"log", "logging"} and attribute in LOG_LEVELS:
                kinds[id(node)] = LOG_LEVELS[attribute]
            elif owner.endswith("findings"):
                kinds[id(node)] = "finding"
    return kinds


def _not_messages(tree: ast.AST) -> set[int]:
    """Ids of nodes that are not messages: docstrings, option help and regular expressions."""
    skipped = set()
    for node in ast.walk(tree):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_help = isinstance(node, ast.keyword) and node.arg in {"help", "metavar", "short_help"}
        if isinstance(node, ast.Expr | ast.keyword) and (is_docstring or is_help):
            skipped.add(id(node.value))
        elif isinstance(node, ast.Call) and _PARTS_OR_HELP.match(ast.unparse(node.func)):
            skipped.update(id(argument) for argument in node.args)
    return skipped


def text_of(node: ast.expr) -> str | None:
    """The text of a string expression with values as ``{expression}``; None for other expressions."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_piece, values))
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            texts = [text_of(left), text_of(right)]
            if texts == [None, None]:
                return None
            return "".join(
                _value(part) if text is None else text
                for part, text in zip((left, right), texts, strict=True)
            )
    return None


def _piece(node: ast.expr) -> str:
    return _value(node.value) if isinstance(node, ast.FormattedValue) else (text_of(node) or "")


def _value(node: ast.expr) -> str:
    code = ast.unparse(node)
    if isinstance(node, ast.IfExp):
        texts = [text_of(node.body), text_of(node.orelse)]
        if None not in texts:
            return "[" + " | ".join(text or "" for text in texts) + "]"
    return f"{{{code if len(code) <= LONGEST_EXPRESSION else '...'}}}"


def listing() -> str:
    """All messages, with a table per folder."""
    folders: dict[str, list[Message]] = {}
    for message in messages():
        folders.setdefault(message.file.rpartition("/")[0] or "exam_pp", []).append(message)
    parts: list[str] = []
    for folder, rows in folders.items():
        parts += [f"## {folder}", "", "| file | kind | message |", "|---|---|---|"]
        parts += [f"| {row.file.rpartition('/')[2]} | {row.kind} | {_cell(row.text)} |" for row in rows]
        parts.append("")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
