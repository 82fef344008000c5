"""Make screenshots of the HTML pages, and the output that README.md quotes, from one run of the demo.

Usage: python scripts/make_screenshots.py      (needs playwright and Chromium)

The pictures that README.md or a page of docs/ shows are written to docs/images. The report is
that of scripts/demo. Pictures have 256 colours to keep them small.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from exam_pp.cli.main import main as exam_pp
from scripts.browser import chromium
from scripts.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "data" / "demo"
RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"
CUTOFF = 5
"""Ranks that are imported and that count, so that no report notes missing ranks."""
REPORTS = ("clinic", "grid", "disagreements")
FIGURES = {
    "elo-ratings": ("elo.html", 0),
    "trust-corrected": ("corrected.html", 0),
}
"""Name of a picture of a single chart to its page, and the number of the chart there."""
DEVICES = {
    "": ((1240, 800), "light"),
    "-live": ((1400, 900), "light"),
    "-phone": ((390, 844), "light"),
    "-dark": ((1400, 900), "dark"),
}
"""Suffix of a picture to the size of its window and the colour scheme."""
DRAFT = "How much heat does a heat pump deliver for a unit of electricity?"


def run(*arguments: object) -> None:
    exam_pp(["-q", *map(str, arguments)])


def demo_output(folder: Path) -> str:
    """What scripts/demo prints, with its folder for results."""
    # As in a checkout, the inputs are below the working folder.
    shutil.copytree(DEMO, folder.parent / "data" / "demo")
    command = [sys.executable, "-m", "exam_pp", "-q", "run", "data/demo/study.toml", "-o", str(folder)]
    done = subprocess.run(command, cwd=folder.parent, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return done.stdout.replace(str(folder), "out/demo")


def quoted(output: str) -> str:
    """The lines of the demo's output that README.md shows: the verdict, the first systems, the next steps."""
    lines = output[output.index("Rubric-Cover\n") :].splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("---"))
    shown = [*lines[: rule + 6], "...", "", *lines[lines.index("Next:") :]]
    return "\n".join(line.rstrip() for line in shown)


def quote(output: str) -> None:
    """Write the lines into README.md."""
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    block = re.compile(r"(?<=```text\n)Rubric-Cover\n.*?(?=\n```)", re.DOTALL)
    readme.write_text(block.sub(lambda _: quoted(output), text), "utf-8")


def make_pages(folder: Path) -> None:
    """Write the review page, the blind review page, and the reports."""
    bank = DEMO / "questions.jsonl"
    quote(demo_output(folder / "demo"))
    graded = folder / "graded.jsonl.gz"
    run(
        "grade", folder / "demo" / "graded.jsonl.gz", "-o", graded, "--bank", bank, "--model", "lexical",
        "--prompt", RATED, "--prompt", EXTRACTED,
    )  # fmt: skip
    for name, more in (("review", ()), ("blind", ("--blind",))):
        run(
            "review", graded, "--bank", bank, "--prompt", RATED,
            "--cutoff", CUTOFF, "--reviewer", "ana", "-o", folder / f"{name}.html", *more,
        )  # fmt: skip
    make_games_page(folder)
    make_trust_pages(folder, graded)
    grades = (graded, "--prompt", RATED, "--bank", bank, "--grader")
    for name, command in {
        "clinic": ("bank", "clinic", *grades, "e5"),
        "grid": ("verify", "grid", *grades, "lexical"),
        "disagreements": ("verify", "disagreements", *grades, "lexical"),
    }.items():
        run(*command, "--format", "html", "-o", folder / f"{name}.html")


def make_trust_pages(folder: Path, graded: Path) -> None:
    """Write pages about graders: corrected scores, games and a gate."""
    bank, rated = ("--bank", DEMO / "questions.jsonl"), ("--prompt", RATED)
    by_e5, page = (*rated, "--grader", "e5"), ("--format", "html", "-o")
    run(
        "sample-pairs", graded, *bank, *rated, "--grader", "lexical", "--count", 1000, "--by", "entry",
        "--cutoff", CUTOFF, "-o", folder / "pairs.json",
    )  # fmt: skip
    run(
        "evaluate", "corrected", graded, *bank, "--pairs", folder / "pairs.json", "--reviewer", "e5",
        *page, folder / "corrected.html",
    )  # fmt: skip
    scores = folder / "scores.tsv"
    run(
        "evaluate", "cover", graded, *bank, *by_e5, "--cutoff", CUTOFF, "--per-query",
        "--format", "tsv", "-o", scores,
    )  # fmt: skip
    run("evaluate", "elo", scores, "--by", "Cover", *page, folder / "elo.html")
    with suppress(SystemExit):  # the exit code says that the gate failed
        run(
            "gate", scores, scores, "--system", "dense-large", "--system", "bm25",
            "-m", f"Cover(min_grade=4)@{CUTOFF}", "--max-drop", 0.02, "--undecided", "fail",
            *page, folder / "gate.html",
        )  # fmt: skip


def make_games_page(folder: Path) -> None:
    """Write the page to compare answers."""
    answers = [DEMO / "answers" / f"gen-{name}.jsonl" for name in ("long", "short")]
    run(
        "import", "--runs", DEMO / "runs", "--texts", DEMO / "passages.tsv", "--top", CUTOFF,
        *(option for path in answers for option in ("--answers", path)), "--unit", "sentence",
        "-o", folder / "rag.jsonl.gz",
    )  # fmt: skip
    run(
        "review-games", folder / "rag.jsonl.gz", "--queries", DEMO / "queries.jsonl", "--reviewer", "ana",
        "-o", folder / "games.html",
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
    """Take the pictures."""
    with chromium() as browser:

        def shot(
            name: str, path: str, address: str, *keys: str, device: str = "", click: str = "", more: int = 0
        ) -> None:
            (width, height), scheme = DEVICES[device]
            height += more
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            show(page, folder / path, address, *keys)
            if click:
                page.locator(click).first.click()
                page.evaluate("document.activeElement.closest('.table').scrollIntoView()")
                page.wait_for_timeout(300)
            page.screenshot(path=images / f"{name}.png")
            page.close()
            reduce_colours(images / f"{name}.png")

        shot("review-overview", "review.html", "#/")
        shot("review-query", "review.html", "#/q/1", "a", "j", "l", "2")
        shot("review-passage", "review.html", "#/q/1", "j", "l", "Enter", "2")
        shot("review-blind", "blind.html", "#/q/1", "4", "l", "2", "j")
        shot("review-games", "games.html", "#/g/0", "a", "t", "b", "ArrowLeft")
        shot("report", "demo/report/index.html", "")
        shot("gate", "gate.html", "", more=-270)
        for name, (path, number) in FIGURES.items():
            figure(folder / path, number, images / f"{name}.png", browser)
        for name in REPORTS:
            click = "#t2 td.shade-5" if name == "grid" else ""
            address = "#s2" if name == "disagreements" else ""  # graded high: with marked answers
            shot(f"report-{name}", f"{name}.html", address, click=click)


def photograph_live(study: Path, images: Path) -> None:
    """Take the pictures of the served page: a film from a draft to its leaderboard, and a disagreement."""
    served = Served(study)
    with chromium() as browser:

        def reviewer(name: str, device: str, address: str) -> Page:
            (width, height), scheme = DEVICES[device]
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(f"{served.address}{address}")
            page.fill("#dialog input", name)
            page.click("#dialog .primary")
            page.wait_for_selector("html[data-ready]")
            return page

        def picture(page: Page, name: str) -> None:
            page.wait_for_timeout(500)
            page.screenshot(path=images / f"{name}.png")
            reduce_colours(images / f"{name}.png")

        ben = reviewer("ben", "-dark", "#/q/0/p/0/e/1")
        ben.keyboard.press("1")
        ann = reviewer("ann", "-live", "#/q/0/p/0/e/1")
        ann.keyboard.press("5")
        text = str(ann.inner_text(".text p"))
        start = text.index("one unit of electricity")
        ann.evaluate(
            """([start, end]) => {
                const text = document.querySelector(".text p").firstChild;
                getSelection().setBaseAndExtent(text, start, text, end);
            }""",
            [start, text.index(".", start)],
        )
        ann.wait_for_selector("#selection button")
        ann.keyboard.press("n")
        ann.keyboard.type(DRAFT)
        ann.keyboard.press("Enter")
        ann.wait_for_selector("#impact h3")
        picture(ann, "live")
        ann.keyboard.press("Enter")
        ann.wait_for_selector(".verdict:has-text('1 × add')")
        picture(ben, "live-dark")
        ann.evaluate("window.location.hash = '#/work'")
        ann.wait_for_selector("#disputes")
        picture(ann, "live-work")
        phone = reviewer("cid", "-phone", "#/q/0/p/0/e/0")
        phone.wait_for_selector("#line:has-text('rerank')")
        picture(phone, "live-phone")
    served.stop()


def figure(path: Path, number: int, image: Path, browser: Browser) -> None:
    """Take a picture of a chart, with twice as many pixels, so that its text is sharp."""
    page = browser.new_page(viewport={"width": 760, "height": 800}, device_scale_factor=2)
    show(page, path, "")
    page.locator("figure").nth(number).screenshot(path=image)
    page.close()
    reduce_colours(image)


def reduce_colours(path: Path) -> None:
    from PIL import Image  # comes with matplotlib

    with Image.open(path) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    with TemporaryDirectory() as folder:
        make_pages(Path(folder))
        photograph(Path(folder), ROOT / "docs" / "images")
        photograph_live(Path(folder) / "demo", ROOT / "docs" / "images")


if __name__ == "__main__":
    main()
