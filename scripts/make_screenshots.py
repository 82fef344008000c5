"""Make the screenshots of docs/verification.md: grade data/demo, write review pages, take pictures.

Usage: python scripts/make_screenshots.py [FOLDER]      (default: docs/images; needs playwright and Chromium)

The collection is graded by the bundled model and by the lexical baseline. Pictures have 256 colours to keep
them small.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from exam_pp.cli.main import main as exam_pp
from scripts.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "data" / "demo"
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"


def run(*arguments: object) -> None:
    exam_pp(["-q", *map(str, arguments)])


def make_pages(folder: Path) -> None:
    """Write the review page and the blind review page."""
    bank = DEMO / "questions.jsonl"
    run(
        "import", "--runs", DEMO / "runs", "--texts", DEMO / "passages.tsv",
        "--queries", DEMO / "queries.jsonl", "--qrels", DEMO / "qrels.txt", "--top", 5,
        "-o", folder / "passages.jsonl.gz",
    )  # fmt: skip
    graded = folder / "passages.jsonl.gz"
    for model in ("bundled", "lexical"):
        run(
            "grade", graded, "-o", folder / f"{model}.jsonl.gz", "--bank", bank,
            "--prompt-class", RATED, "--prompt-class", EXTRACTED, "--model", model,
        )  # fmt: skip
        graded = folder / f"{model}.jsonl.gz"
    graded = graded.rename(folder / "graded.jsonl.gz")
    for name, more in (("review", ()), ("blind", ("--blind",))):
        run(
            "review", graded, "--bank", bank, "--prompt-class", RATED,
            "--reviewer", "ana", "-o", folder / f"{name}.html", *more,
        )  # fmt: skip


def show(page: Page, path: Path, address: str, *keys: str) -> None:
    """Open a page at an address and press keys."""
    page.goto(f"{path.as_uri()}{address}")
    page.wait_for_selector("html[data-ready]")
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(100)  # the view may change
    page.wait_for_timeout(300)


def photograph(folder: Path, images: Path) -> None:
    images.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:

        def shot(name: str, scheme: str, path: str, address: str, *keys: str) -> None:
            page = browser.new_page(viewport={"width": 1240, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
            show(page, folder / path, address, *keys)
            page.screenshot(path=images / f"{name}.png")
            page.close()
            reduce_colours(images / f"{name}.png")

        shot("review-overview", "light", "review.html", "#/")
        shot("review-query", "light", "review.html", "#/q/1", "a", "j", "l", "2")
        shot("review-passage", "light", "review.html", "#/q/1", "j", "l", "Enter", "2")
        shot("review-dark", "dark", "review.html", "#/q/1", "j")
        shot("review-blind", "light", "blind.html", "#/q/1", "4", "l", "2", "j")


def reduce_colours(path: Path) -> None:
    from PIL import Image  # comes with matplotlib

    with Image.open(path) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    images = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    with TemporaryDirectory() as folder:
        make_pages(Path(folder))
        photograph(Path(folder), images)


if __name__ == "__main__":
    main()
