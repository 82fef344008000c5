"""SVG elements, axes, labels and colours of the pictures in HTML reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TypeGuard

from exam_pp.rendering.cells import one_line
from exam_pp.rendering.document import Picture
from exam_pp.rendering.page_parts import COMMON_STYLE, asset
from exam_pp.rendering.wrapping import cell_width
from exam_pp.text.wording import for_xml

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""The palette of Okabe and Ito, "Color universal design" (2008)."""
FG = "var(--fg,currentColor)"
MUTED = "var(--muted,GrayText)"
CARD = "var(--card,Canvas)"
LINE = "var(--line,#8885)"
SERIES = tuple(f"var(--c{number},{colour})" for number, colour in enumerate(_COLOURS, 1))
HEAT = tuple(
    f"var(--heat-{level},#0072b2{alpha})" for level, alpha in enumerate(("14", "33", "59", "80", "a6", "cc"))
)
"""Fills from low to high; without a style sheet, the background shines through in both themes."""
ON_HEAT = tuple(f"var(--on-heat-{level},currentColor)" for level in range(len(HEAT)))
"""Colours of text on the fills."""
WIDTH = 440.0
"""Width of a picture, in units of about one pixel."""
WIDE = 860.0
"""Width of pictures with many columns."""
LINE_HEIGHT = 12.0
"""Least distance of the base lines of two labels."""
_FONT = 12
_CHARACTER = 7.6
"""Width of a digit in a wide font, so that names fit in every font."""
_WIDE_CHARACTERS = frozenset("MWmw+@%=<>~…")
_LARGEST = 1.25
"""Size of a unit in a wide window, in pixels."""


def svg(picture: Picture, name: str) -> str:
    """Return the ``svg`` element of a picture; ``name`` is an id that no other picture of the page has."""
    texts = element("title", escaped(picture.title), id=f"{name}-title")
    texts += element("desc", escaped(picture.description), id=f"{name}-desc")
    # The policy of the pages forbids style attributes, so the style sheet has the limits of the size.
    size = "picture wide" if picture.width > WIDTH else "picture"
    return element(
        "svg",
        texts + picture.shapes,
        **{"class": size},
        viewBox=f"0 0 {_shown(picture.width)} {_shown(picture.height)}",
        width=picture.width * _LARGEST,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        font_size=_FONT,
        font_family="system-ui, sans-serif",
        fill=FG,
    )


def svg_file(pictures: Sequence[Picture]) -> str:
    """Return an SVG file with the pictures below each other, in the light colours of the pages.

    The colours are written as numbers, because converters to other formats do not know style sheets.
    """
    drawn, y = [], 0.0
    for picture in pictures:
        texts = element("title", escaped(picture.title))
        texts += element("desc", escaped(f"{picture.description} {picture.caption}"))
        if len(pictures) > 1:
            y += 24
            texts += label(4, -6, picture.title, picture.width - 4, font_weight="bold")
        drawn.append(element("g", texts + picture.shapes, transform=f"translate(0 {y:.1f})"))
        y += picture.height
    width = max(picture.width for picture in pictures)
    text = element(
        "svg",
        element("rect", width="100%", height="100%", fill=CARD) + "".join(drawn),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_shown(width)} {_shown(y)}",
        width=width * _LARGEST,
        height=y * _LARGEST,
        font_size=_FONT,
        font_family="system-ui, sans-serif",
        fill=FG,
    )
    return re.sub(r'"var\((--[\w-]+),[^"]*\)"', lambda found: f'"{_light_colours()[found[1]]}"', text) + "\n"


@cache
def _light_colours() -> dict[str, str]:
    return dict(re.findall(r"(--[\w-]+): light-dark\((#\w+),", asset(COMMON_STYLE)))


def element(name: str, content: str = "", /, **attributes: str | float) -> str:
    """Make an element; ``content`` is SVG, and underscores in names of attributes are hyphens."""
    shown = "".join(
        f' {key.replace("_", "-")}="{escape(_shown(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{shown}>{content}</{name}>" if content else f"<{name}{shown}/>"


def escaped(text: str) -> str:
    """Escape a text for XML, without line ends."""
    return escape(for_xml(one_line(text)))


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:z.1f}".removesuffix(".0")


def label(x: float, y: float, text: str, room: float = math.inf, **attributes: str | float) -> str:
    """A text of at most ``room`` units; a longer one is cut and has the full text as its title."""
    short = cut(text, room)
    title = element("title", escaped(text)) if short != text else ""
    return element("text", title + escaped(short), x=x, y=y, **attributes)


def path(lines: str, colour: str, /, **attributes: str | float) -> str:
    """A path without a fill, unless ``attributes`` have one."""
    return element("path", d=lines, **{"fill": "none", "stroke": colour} | attributes)


def dot(x: float, y: float, radius: float, title: str) -> str:
    """A dot that shows ``title`` under the mouse."""
    return element("circle", element("title", escaped(title)), cx=x, cy=y, r=radius)


def text_width(text: str) -> float:
    """Estimated width of a text, in units of the picture."""
    wide = sum(3 if character in _WIDE_CHARACTERS else character.isupper() for character in text)
    return _CHARACTER * cell_width(text) + wide


def cut(text: str, room: float) -> str:
    """Shorten a text in its middle, because names of runs often differ at their ends only."""
    room += 0.01  # for rounding errors of sums
    if text_width(text) <= room:
        return text
    for kept in range(min(len(text) - 1, int(room / _CHARACTER)), 1, -1):
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
        if text_width(short) <= room:
            return short
    return "…"


def margin(texts: Iterable[str], most: float = 150.0) -> float:
    """Width of the widest text, at most ``most``."""
    return min(most, max(map(text_width, texts), default=0.0))


def thinned(count: int, pitch: float) -> range:
    """Positions of ``count`` labels that do not overlap if they are ``pitch`` apart."""
    return range(0, count, max(1, math.ceil(LINE_HEIGHT / pitch)))


def row_height(count: int) -> float:
    """Height of a row; that of many rows is smaller, so that a picture stays below two screens."""
    return 16.0 if count <= 60 else max(3.0, 960 / count)


def some(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = len(names) - 8
    return ", ".join(names[:8]) + (f" and {more} more" if more > 0 else "")


def defined(value: float | None) -> TypeGuard[float]:
    """Whether a value is a number, and so far from the largest float that sums are finite."""
    return value is not None and abs(value) < 1e290


@dataclass(frozen=True)
class Axis:
    """A linear scale from values to positions; ``start`` is the position of ``low``."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """The axis that has all values, with a small margin on both sides."""
        low, high = min(values, default=0.0), max(values, default=1.0)
        largest = max(abs(low), abs(high))
        # Values that differ by rounding errors only have no round values between them.
        pad = (high - low) * 0.04 if high - low > max(1e-9 * largest, 1e-290) else largest * 0.1
        pad = pad if pad > 1e-292 else 0.5
        return cls(low - pad, high + pad, start, end)

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Two to seven round values on the axis."""
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= rough * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)]

    def bottom(self, y: float, top: float, name: str) -> str:
        """Draw a horizontal axis at ``y``, with vertical lines up to ``top``."""
        lines = "".join(f"M{_shown(self(tick))} {_shown(top)}V{_shown(y)}" for tick in self.ticks)
        ticks = "".join(label(self(tick), y + 15, f"{tick:g}", text_anchor="middle") for tick in self.ticks)
        middle = (self.start + self.end) / 2
        room = 2 * min(middle, abs(self.end - self.start))
        return (
            path(lines, LINE)
            + element("g", ticks, fill=MUTED, font_size=11)
            + label(middle, y + 32, name, room, text_anchor="middle")
        )

    def left(self, x: float, right: float, name: str) -> str:
        """Draw a vertical axis at ``x``, with horizontal lines up to ``right``; its name is on top."""
        lines = "".join(f"M{_shown(x)} {_shown(self(tick))}H{_shown(right)}" for tick in self.ticks)
        ticks = "".join(label(x - 5, self(tick) + 4, f"{tick:g}", text_anchor="end") for tick in self.ticks)
        return (
            path(lines, LINE)
            + element("g", ticks, fill=MUTED, font_size=11)
            + label(4, min(self.start, self.end) - 10, name, right)
        )
