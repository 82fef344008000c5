"""``exam-pp run --edits``: ratings of people on texts, through changes of systems and banks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from html import unescape
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.metrics.fair_sample import sample_order
from tests.review_pages import edits_of

QUERIES = [f"q{number}" for number in range(3)]
ROUND = {query: f"Thing {query} is round." for query in QUERIES}
FLAT = {query: f"Thing {query} is not known." for query in QUERIES}
SAYS_NOTHING = dict.fromkeys(QUERIES, "I do not know anything at all today.")
CHANGED = "{} ratings are of texts or entries that changed: left out."
GONE = "{} ratings are of texts or entries that are gone: kept for their return."


@pytest.fixture(autouse=True)
def _files() -> None:
    Path("queries.tsv").write_text("".join(f"{query}\twhat is thing {query}\n" for query in QUERIES))
    write_answers("v1", ROUND)
    write_answers("v2", FLAT)


def write_answers(system: str, texts: dict[str, str], *, order: int = 1) -> None:
    lines = [json.dumps({"query_id": query, "system": system, "text": text}) for query, text in texts.items()]
    Path(f"{system}.jsonl").write_text("".join(f"{line}\n" for line in lines[::order]))


def write_bank(kind: str, texts: tuple[str, ...] = ("is round", "is blue"), name: str = "bank") -> None:
    rows = [f"{query},{kind},vital,{query} {text}\n" for query in QUERIES for text in texts]
    Path(f"{name}.csv").write_text(f"query_id,kind,importance,text\n{''.join(rows)}")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) if code else nullcontext() as stopped:
            main(list(words))
        assert stopped is None or stopped.value.code == code
        out, err = capsys.readouterr()
        return out if code == 0 else err

    return run


START = ["run", "--answers", "v1.jsonl", "v2.jsonl", "--queries", "queries.tsv", "--bank", "bank.csv",
         "--model", "lexical", "-o", "st"]  # fmt: skip


def save(graded: str, rating: Callable[[str], int], bank: str = "bank", words: tuple[str, ...] = ()) -> None:
    """Rate all pairs on the review page of a graded file, by the name of the passage."""
    main(["review", f"st/{graded}.jsonl.gz", "--bank", f"st/{bank}.jsonl", *words, "-o", "page.html"])
    edits = edits_of(Path("page.html").read_text(encoding="utf-8"), 0)
    for each in edits["ratings"]:
        each["rating"] = rating(each["passage_id"])
    Path("edits.json").write_text(json.dumps(edits))


def scores(out: str) -> dict[str, float]:
    """System to the first score in the table of a leaderboard."""
    return {name: float(score) for name, score in re.findall(r"^(v\d) +([\d.]+)", out, re.MULTILINE)}


KINDS = pytest.mark.parametrize(
    ("kind", "graded", "corrected", "best", "full"),
    [
        ("question", "graded", "corrected", 5, 100.0),
        ("nugget", "assigned", "assigned-corrected", 2, 1.0),
    ],
)


@KINDS
def test_ratings_count_for_the_texts_that_people_read(
    run: Callable[..., str], kind: str, graded: str, corrected: str, best: int, full: float
) -> None:
    write_bank(kind)
    run(*START)
    save(graded, lambda name: best if name.startswith("v1/") else 0)
    out = run("run", "st", "--edits", "edits.json")
    assert scores(out) == {"v1": full, "v2": 0}, "exactly those of people"
    assert "changed by 1 person, who checked 12" in re.sub(r"\s+", " ", out)
    assert f"-o st/{corrected}.jsonl.gz" in out
    assert "ratings are of" not in out
    # The page saves new ratings only, and this option replaces all files.
    assert (
        "save edits.json as edits-2.json, then exam-pp run st --edits edits.json --edits edits-2.json" in out
    )

    write_answers("v2", FLAT, order=-1)
    write_answers("v3", ROUND)
    out = run("run", "st", "--answers", "v3.jsonl")
    assert scores(out) == {"v1": full, "v2": 0, "v3": full}, "the answers of v3 are rated"

    write_answers("v1", SAYS_NOTHING)
    out = run("run", "st", "--without", "v3")
    assert scores(out) == {"v1": 0, "v2": 0}, "ratings of the old answers do not count"
    assert f"\n{CHANGED.format(6)}\n" in out
    assert run("run", "st") == out, "also when nothing is computed again"
    write_answers("v1", ROUND)
    assert scores(run("run", "st")) == {"v1": full, "v2": 0}


@KINDS
@pytest.mark.parametrize("rated", ["v1", "first", "all"])
def test_the_report_says_what_the_command_says(
    run: Callable[..., str], kind: str, graded: str, corrected: str, best: int, full: float, rated: str
) -> None:
    """Also on what claims rest: the judge alone, a fair sample, or people."""
    write_bank(kind)
    run(*START)
    save(graded, lambda name: best if name.startswith("v1/") else 0)
    edits = json.loads(Path("edits.json").read_text())
    entries = {
        query: [each["id"] for each in edits["ratings"] if each["query_id"] == query] for query in QUERIES
    }
    first = {sample_order(query, sorted(set(ids)))[0] for query, ids in entries.items()}
    kept = {
        "v1": lambda each: each["passage_id"].startswith("v1/"),
        "first": lambda each: each["id"] in first,
        "all": lambda _each: True,
    }[rated]
    edits["ratings"] = list(filter(kept, edits["ratings"]))
    Path("edits.json").write_text(json.dumps(edits))
    out = run("run", "st", "--edits", "edits.json")
    said = " ".join(re.split(r"\n\n", out.rpartition("$ exam-pp evaluate ")[2])[1].split())
    by_sample = "By estimates from a fair sample that 1 person rated (1 of "
    assert said.startswith({"v1": "The judge alone: ", "first": by_sample, "all": "v1 (100 %)"}[rated])
    page = Path("st", "report" if kind == "question" else "report-nuggets", "index.html").read_text("utf-8")
    assert said in " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


@KINDS
def test_a_change_of_the_bank_does_not_stop_a_study(
    run: Callable[..., str], kind: str, graded: str, corrected: str, best: int, full: float
) -> None:
    write_bank(kind)
    run(*START)
    save(graded, lambda name: best if name.startswith("v1/") else 0)
    run("run", "st", "--edits", "edits.json")
    write_bank(kind, ("is round", "is of gold"))
    out = run("run", "st")
    assert f"\n{GONE.format(6)}\n" in out
    assert scores(out)["v1"] == full / 2
    write_bank(kind)
    out = run("run", "st")
    assert (scores(out), "ratings are of" in out) == ({"v1": full, "v2": 0}, False), "they have returned"


def test_ratings_are_of_the_entries_of_one_bank(run: Callable[..., str]) -> None:
    """Of several banks, each takes the ratings of its entries."""
    write_bank("question")
    write_bank("question", ("is heavy",), "more")
    Path("runs").mkdir()
    for number, texts in enumerate((ROUND, FLAT), 1):
        lines = "".join(f"{query} Q0 {query}-{number} 1 1.0 v{number}\n" for query in texts)
        Path(f"runs/v{number}.run").write_text(lines)
    passages = [f"{query}-{n}\t{texts[query]}\n" for n, texts in ((1, ROUND), (2, FLAT)) for query in texts]
    Path("texts.tsv").write_text("".join(passages))
    words = ["--runs", "runs", "--texts", "texts.tsv", "--queries", "queries.tsv", "--model", "lexical"]
    run("run", *words, "--bank", "bank.csv", "more.csv", "-o", "st")
    save("graded", lambda name: 5 if name.endswith("-1") else 0, "bank-2")
    ratings = json.loads(Path("edits.json").read_text())["ratings"]
    out = run("run", "st", "--edits", "edits.json")
    assert "ratings are of" not in out
    assert re.findall(r"apply .* --bank (\S+) -o (\S+)", out) == [
        ("st/bank-1.jsonl", "st/corrected-1.jsonl.gz"), ("st/bank-2.jsonl", "st/corrected.jsonl.gz"),
    ]  # fmt: skip
    alone = run("evaluate", "cover", "st/corrected.jsonl.gz", "--bank", "st/bank-2.jsonl")
    assert scores(alone) == {"v1": 100, "v2": 0}
    assert f"who checked {len(ratings)}" in re.sub(r"\s+", " ", alone)


def test_the_printed_commands_correct_in_the_same_way(run: Callable[..., str]) -> None:
    write_bank("nugget")
    run(*START)
    save("assigned", lambda name: 2 if name.startswith("v1/") else 1)
    out = run("run", "st", "--edits", "edits.json")
    before = Path("st/assigned-corrected.jsonl.gz").read_bytes()
    Path("st/assigned-corrected.jsonl.gz").unlink()
    (line,) = (line for line in out.splitlines() if line.startswith("$ exam-pp apply"))
    run(*line.split()[2:])
    assert Path("st/assigned-corrected.jsonl.gz").read_bytes() == before
