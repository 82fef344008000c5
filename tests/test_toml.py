"""The reader of TOML: keys that would take long are refused before they are parsed, and prose is no key."""

from __future__ import annotations

import pytest

from exam_pp.errors import DataError
from exam_pp.text.toml import MOST_PARTS, parse_toml

LONG = MOST_PARTS + 1


@pytest.mark.parametrize(
    "key",
    [
        ".".join("a" * 20_000),
        " . ".join(["a-b_9"] * LONG),
        "\t.".join(['"a.\\" b"'] * LONG),
        ".".join(["'a b'", "c"] * LONG),
    ],
)
@pytest.mark.parametrize(
    "line", ["{} = 1", "  {} = 1", "[{}]", "[[ {} ]]", "x = {{{} = 1}}", "x = {{y = 1, {}=1}}"]
)
def test_a_key_of_many_parts_is_refused(key: str, line: str) -> None:
    with pytest.raises(DataError, match=rf"f.toml, line 2: has a key of more than {MOST_PARTS} parts\."):
        parse_toml("name = 'x'\n" + line.format(key), "f.toml")


@pytest.mark.parametrize(
    "text",
    [
        "a" * 500_000,
        "a." * 250_000 + "!",
        '"' * 300_000,
        "- " * 250_000,
        "[" * 100_000,
        "x = " + "{a=" * 50_000,
    ],
)
def test_hostile_texts_are_refused(text: str) -> None:
    with pytest.raises(DataError):
        parse_toml(text, "f.toml")


def test_other_texts_are_read() -> None:
    key = ".".join("a" * MOST_PARTS)
    prose = "One. Two. " * 90 + "\n..." * 300 + "\n" + "1.5 " * 500
    values = parse_toml(f'{key} = 1\n"b.c" = 2\nprose = """\n{prose}"""\n', "f.toml")
    assert (values["b.c"], values["prose"]) == (2, prose)
