"""Mutations that damage files: bits, bytes, lines, JSON values, encodings and gzips."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from random import Random
from typing import Any

Mutation = Callable[[Random, bytes], bytes]

_VALUES = (
    "null", "true", "-1", "0", "1e999", "-1E-999", "NaN", "Infinity", "1" * 400, "1" * 5000, "3.0", "2.5",
    '""', '" "', '"\\ud800"', '"\\u0000"', '"é\\n\\t"', '"../../x"', '"=1+1"', "[]", "{}", "[[]]", '{"a": 1}',
    '"7"', "[" * 3000 + "]" * 3000, '{"a":' * 500 + "1" + "}" * 500, '"' + "x" * 5000 + '"', "0.1e1", "01",
    "'a'", "tru", "0.1000000000000000055511151231257827", "1e400", '{"k": 1, "k": 1.0}',
)  # fmt: skip


def flip_bits(rng: Random, data: bytes) -> bytes:
    """Flip one to three bits."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def replace_bytes(rng: Random, data: bytes) -> bytes:
    """Replace up to eight bytes by random bytes."""
    start = rng.randrange(len(data))
    length = rng.randint(1, 8)
    return data[:start] + rng.randbytes(rng.randint(0, length)) + data[start + length :]


def truncate(rng: Random, data: bytes) -> bytes:
    """Cut the file at a random position."""
    return data[: rng.randrange(len(data))]


def repeat(rng: Random, data: bytes) -> bytes:
    """Repeat up to 200 bytes."""
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.randint(1, 200))
    return data[:end] + data[start:end] + data[end:]


def change_lines(rng: Random, data: bytes) -> bytes:
    """Swap, repeat, drop, join or insert lines, or change their ends."""
    lines = data.splitlines(keepends=True)
    index, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            lines[index], lines[second] = lines[second], lines[index]
        case 1:
            lines.insert(second, lines[index])
        case 2:
            del lines[index]
        case 3:
            lines[index] = lines[index].rstrip(b"\n")
        case 4:
            lines[index] = lines[index].rstrip(b"\n") + rng.choice(
                [b"\r\n", b"\r", b"\x0b", b"\n\n \n", "\u2028".encode()]
            )
        case _:
            lines.insert(
                index,
                rng.choice([b"# a comment\n", b"\n", b"\x00\n", b"{}\n", b"[]\n", b"null\n", b"\t\t\n"]),
            )
    return b"".join(lines)


def encode(rng: Random, data: bytes) -> bytes:
    """Write the text in another encoding."""
    text = data.decode("utf-8", "replace")
    encoding = rng.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1252", "shift-jis"])
    return text.replace("t", "é").encode(encoding, "replace")


def change_word(rng: Random, data: bytes) -> bytes:
    """Replace a word or number between separators by an unusual value."""
    places = [i for i, byte in enumerate(data) if byte in b" \t\n,:"]
    if not places:
        return data + b"?"
    start = rng.choice(places) + 1
    end = start
    while end < len(data) and data[end] not in b" \t\n,:]}":
        end += 1
    return data[:start] + rng.choice(_VALUES).encode() + data[end:]


def change_json(rng: Random, data: bytes) -> bytes:
    """Replace, drop, repeat or rename a value of a JSON line; change a word if the line is not JSON."""
    lines = data.split(b"\n")
    index = rng.randrange(len(lines))
    try:
        value = json.loads(lines[index])
    except ValueError:
        return change_word(rng, data)
    places = _places(value)
    if not places:
        lines[index] = rng.choice(_VALUES).encode()
        return b"\n".join(lines)
    container, key = rng.choice(places)
    marker = "@@@"
    match rng.randrange(4):
        case 0 if isinstance(container, dict):
            del container[key]
        case 1 if isinstance(container, dict):
            container[rng.choice(["", "x", "text", "paragraph_id", "query_id", "items", "llm"])] = (
                container.pop(key)
            )
        case 2 if isinstance(container, dict):  # repeat the key
            container[marker] = container[key]
            old = container[key]
            container[key] = rng.choice([old, None, 1])
            lines[index] = json.dumps(value).replace(f'"{marker}"', json.dumps(key)).encode()
            return b"\n".join(lines)
        case _:
            container[key] = marker
    lines[index] = json.dumps(value).replace(f'"{marker}"', rng.choice(_VALUES)).encode()
    return b"\n".join(lines)


def _places(value: Any) -> list[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(value, key), *_places(inner)]]


def zip_and_damage(rng: Random, data: bytes) -> bytes:
    """Compress the file, then flip bits, cut, append, repeat, or change the length field."""
    packed = gzip.compress(data, mtime=0)
    match rng.randrange(6):
        case 0 | 1:
            return flip_bits(rng, packed)
        case 2:
            return truncate(rng, packed)
        case 3:
            return packed + rng.choice([b"\x00" * 8, b"garbage", packed[:20], b"\x1f\x8b"])
        case 4:
            return packed + packed
        case _:
            return packed[:-4] + rng.randbytes(4)


MUTATIONS: dict[str, Mutation] = {
    "flipped bits": flip_bits,
    "replaced bytes": replace_bytes,
    "truncated": truncate,
    "duplicated parts": repeat,
    "changed lines": change_lines,
    "other encodings": encode,
    "changed words and numbers": change_word,
    "changed JSON values and keys": change_json,
    "damaged gzips": zip_and_damage,
}


def mutate(rng: Random, data: bytes) -> tuple[str, bytes]:
    """The name of a random mutation, and the damaged data."""
    name = rng.choice(list(MUTATIONS))
    return name, MUTATIONS[name](rng, data) if data else b"?"
