"""What pages print and write besides the shown outputs."""

from __future__ import annotations

import re

EXPECTED = {
    "docs/how-to/answers.md": [r"gen-long"],
    "docs/how-to/nuggets.md": [r"^V_strict +2 +1\.000 +40 +1\.000 +20 +1\.000"],
    "docs/how-to/querying.md": [r"^\[\('question', 8578\)\]$"],
    "docs/how-to/verification.md": [r"2 ratings added as human:ana", r"human:ana +\S"],
    "docs/reference/python.md": [r"^20 queries, 179 questions$", r"passages.jsonl.gz has no grades"],
    "docs/start/quickstart.md": [
        r"^0 errors, 0 warnings\.", r"^good +100\.0 .*\nbad +50\.0 "
    ],
}  # fmt: skip
"""Patterns of lines that a page prints without showing them."""


def check(page: str, printed: str) -> None:
    """Fail if the outputs of a page or the files in the working directory are not the expected ones."""
    for pattern in EXPECTED.get(page, ()):
        assert re.search(pattern, printed, re.MULTILINE), pattern
