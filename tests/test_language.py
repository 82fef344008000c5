"""Docstrings, comments and messages use the terms of docs/concepts/glossary.md.

The patterns are the unambiguous part of CONTRIBUTING.md's rules of language and its "Terms to avoid". Rewrite
a sentence that matches; do not only swap the word.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from scripts.messages import messages

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "exam_pp"

NOT_USED = {
    r"\b[Tt](?:ells?|old)\b": "log, report, detect, give",
    r"\b[Nn]obody\b": "no judge, no reviewer, no system ...",
    r"\b[Ww]ish(?:es|ed)?\b": "selection, option",
    r"\bdear\b": "expensive",
    r"\bby heart\b": "closed book",
    r"\b(?:is|are) none\b": "is not a ..., None, missing, empty",
    r"\bgone through\b": "iterated",
    r"\b[Ww]hat (?:is|are) (?:not|no)\b": "the name of the thing",
    r"^(?:What|Who|Which)\b(?!.*\?)": "a noun phrase, or an imperative",
}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings, documented attributes and comments of a file, with their line numbers."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def _without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "", text).strip()


def test_words_that_are_not_used() -> None:
    texts = [
        (path.relative_to(ROOT).as_posix(), line, text)
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in prose(path)
    ]
    texts += [(f"exam_pp/{m.file}", m.line, m.text) for m in messages()]
    matches = [
        f"write {term}: {file}:{line}: {text.strip()[:100]}"
        for file, line, text in texts
        for pattern, term in NOT_USED.items()
        if re.search(pattern, _without_code(text))
    ]
    assert not matches, "\n".join(matches)
