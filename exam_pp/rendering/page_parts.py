"""Style, script and content security policy of self-contained HTML pages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

COMMON_STYLE = "common.css"
"""The style sheet that all pages share."""
ELEMENTS_SCRIPT = "elements.js"
"""The functions to build elements, which all scripts use."""

_POLICY = MappingProxyType(
    {
        "default-src": "'none'",
        "connect-src": "'none'",
        "img-src": "'none'",
        "form-action": "'none'",
        "base-uri": "'none'",
        # The browser refuses innerHTML and similar, so text never becomes markup.
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
)


def asset(name: str, package: str = "exam_pp.rendering") -> str:
    """The text of a file in the folder ``assets`` of a package."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


def joined_script(parts: Iterable[str]) -> str:
    """The parts of a script inside one function in strict mode, so that no name is global."""
    body = "\n".join(parts)
    return f'(() => {{\n"use strict";\n{body}}})();\n'


def content_policy(script: str, style: str, directives: Mapping[str, str] = MappingProxyType({})) -> str:
    """The content security policy of a page: only this script and this style, and no connections."""
    allowed = {"script-src": _source_hash(script), "style-src": _source_hash(style)}
    return "; ".join(f"{name} {value}" for name, value in {**_POLICY, **allowed, **directives}.items())


def _source_hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
