"""Pages of the documentation and their blocks: commands, code, shown outputs and shown files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    str(path.relative_to(ROOT))
    for path in sorted(
        [
            ROOT / "README.md",
            ROOT / "CONTRIBUTING.md",
            ROOT / "data/demo/README.md",
            *(ROOT / "docs").rglob("*.md"),
        ]
    )
]
_BLOCK = re.compile(
    r"^(?: *<!-- not run: (?P<reason>[^\n]*?) -->\n\n?)?"
    r"(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)[^\n`]*\n(?P<text>.*?)^ *(?P=fence)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_SHOWN_FILES = re.compile(
    r"^(?P<names>`[\w./-]+`(?: and `[\w./-]+`)*):[^\n]*\n(?:[^\n`][^\n]*\n)*\n"
    r"(?P<blocks>(?:```(?:text|json|toml|csv|yaml)\n.*?^```\n+)+)",
    re.DOTALL | re.MULTILINE,
)
DOTS = re.compile(r"^\s*(?:\.\.\.|…)[ \t]*$\n?", re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"$`\\]|\\.)*\"")
_COMMENT = re.compile(r"(^|\s)#.*")
_ASSIGNMENT = re.compile(r"(export\s+)?\w+=\S*")


@dataclass(frozen=True)
class Block:
    """A fenced block; ``not_run`` is the reason of the comment before it, ``output`` the shown output."""

    page: str
    line: int
    language: str
    text: str
    not_run: str | None = None
    output: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def is_run(block: Block) -> bool:
    """True for commands and code without a reason for not running them."""
    return block.language in ("sh", "python") and block.not_run is None


def has_dots(output: str) -> bool:
    """True if the output is shortened: a line of dots stands for any lines."""
    return bool(DOTS.search(output))


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, text: str) -> list[Block]:
    """The fenced blocks of a page; a block ``text`` directly after commands or code is their output."""
    matches = list(_BLOCK.finditer(text))
    found = [
        Block(
            page,
            text.count("\n", 0, match.start("fence")) + 1,
            match["language"],
            dedent(match["text"]),
            match["reason"],
        )
        for match in matches
    ]
    for at, (match, after) in enumerate(pairwise(matches)):
        adjacent = not text[match.end() : after.start()].strip()
        if adjacent and found[at].language in ("sh", "python") and found[at + 1].language == "text":
            found[at] = replace(found[at], output=found[at + 1].text)
    return found


def shown_files(text: str) -> Iterator[tuple[str, str]]:
    """Names and contents of files: lines such as "`a.tsv` and `b.tsv`: ..." before a block for each."""
    for match in _SHOWN_FILES.finditer(text):
        names = re.findall(r"`([\w./-]+)`", match["names"])
        contents = [block.text for block in blocks("", match["blocks"])]
        if len(names) == len(contents) and all("." in name for name in names):
            yield from zip(names, contents, strict=True)


def commands(code: str) -> list[str]:
    """The commands of a block: lines that continue are joined, and lines that only comment are left out."""
    found, pending = [], ""
    for line in code.replace("\\\n", " ").splitlines(keepends=True):
        pending += line
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # a quotation goes on in the next line
            continue
        if words:
            found.append(pending.strip())
        pending = ""
    return [*found, *([pending] if pending.strip() else [])]


def is_simple(command: str) -> bool:
    """True if the command is one call of exam-pp without anything that a shell expands."""
    bare = _COMMENT.sub("", _QUOTED.sub("''", command))
    return command.startswith("exam-pp ") and not re.search(r"[|&;<>()$`*?~{}\[\]!\n]", bare)


def is_assignment(command: str) -> bool:
    """True for variables of the shell that later blocks use."""
    return bool(_ASSIGNMENT.fullmatch(_COMMENT.sub("", _QUOTED.sub("''", command)).strip()))


def exit_code(command: str) -> int:
    """The exit code that a comment at the end of the command names, or 0."""
    named = re.search(r"# exit code (\d+)\b", command)
    return int(named[1]) if named else 0
