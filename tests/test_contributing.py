"""The table of CONTRIBUTING.md is correct: each tested row is performed in a copy of the repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import exam_pp

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("CONTRIBUTING.md", "docs/project/design.md")
REPORT_FORMATS = ("text", "tsv", "json", "md", "html", "latex")


def quoted(text: str) -> Iterator[str]:
    """The paths in backticks."""
    for name in re.findall(r"`([^`\s]+)`", text):
        if re.fullmatch(r"[\w./*-]*(/|\.(py|json|jsonl|md|toml|sh))", name) and not name.startswith(
            ("-", "*")
        ):
            yield name


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    names = set(quoted(text))
    assert len(names) > 10
    files = {path.name for folder in ("exam_pp", "tests") for path in (ROOT / folder).rglob("*.py")}
    patterns = {name: name.replace("ROOM", "*") for name in names - files}
    places = (ROOT, ROOT / "exam_pp")
    assert not {n for n, pattern in patterns.items() if not any(any(p.glob(pattern)) for p in places)}


RUN = """
import shlex, sys
from exam_pp.cli.main import main
for command in sys.argv[1:]:
    main(shlex.split(command))
"""


@dataclass
class Checkout:
    """A copy of the repository in which a row of the table is performed.

    ``add`` and ``edit`` only change files that the row names.
    """

    folder: Path
    row: str = ""

    def perform(self, row: str, *, room: str = "ROOM") -> None:
        """Select the row with this name; ``room`` replaces ROOM in it."""
        (cells,) = re.findall(
            rf"^\| {row} \| (.*) \|$", (self.folder / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE
        )
        self.row = cells.partition(" | ")[0].replace("ROOM", room)

    def add(self, path: str, text: str) -> None:
        """Add a file in a folder that the row names."""
        assert f"`{path.rpartition('/')[0]}/`" in self.row
        assert not (self.folder / path).exists()
        (self.folder / path).write_text(text, encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        """Change a file that the row names, or any file of a folder that it names."""
        named = rf"`{path}`|file of (its group in )?`{path.rpartition('/')[0]}/`"
        assert re.search(named, self.row)
        text = (self.folder / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} has {old!r} {text.count(old)} times"
        (self.folder / path).write_text(text.replace(old, new), encoding="utf-8")

    def python(self, *arguments: str, text: str = "") -> str:
        """Standard output of a Python command in the copy."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder, capture_output=True, text=True, check=False, input=text,
            env=os.environ | {"PYTHONPATH": str(self.folder)},
        )  # fmt: skip
        assert not done.returncode, f"{arguments}\n{done.stdout}{done.stderr}"
        return done.stdout

    def exam_pp(self, *commands: str) -> str:
        """Standard output of commands, run in order."""
        return self.python("-c", RUN, *commands)

    def page(self, name: str) -> str:
        """A page of the site."""
        code = (
            "import sys; from scripts.listings import with_listings; print(with_listings(sys.stdin.read()))"
        )
        return self.python("-c", code, text=(self.folder / "docs" / name).read_text(encoding="utf-8"))


QUESTIONS = {
    "q1": ("What causes the tides?", "What is nothing?"),
    "q2": ("How is bread made?", "What is interest?"),
}
TEXTS = (
    "The Moon causes the tides of the ocean.",
    "Bread is made of flour and water.",
    "Nothing of interest.",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A copy with `passages.jsonl` (two queries, two systems), `graded.jsonl` and `bank.jsonl`."""
    for name in ("exam_pp", "scripts", "docs", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "bundled", "*.gz")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("CONTRIBUTING.md", "README.md", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("data", "exam_pp/bundled"):
        if (ROOT / name).exists():
            (tmp_path / name).symlink_to(ROOT / name)
    passages = [
        [query, [_passage(query, number, text) for number, text in enumerate(TEXTS, 1)]]
        for query in QUESTIONS
    ]
    bank = [{"query_id": query, "items": list(_items(query, texts))} for query, texts in QUESTIONS.items()]
    for name, lines in (("passages.jsonl", passages), ("bank.jsonl", bank)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    exam_pp.grade_file(
        tmp_path / "passages.jsonl",
        tmp_path / "graded.jsonl",
        bank=tmp_path / "bank.jsonl",
        prompts="QuestionSelfRatedUnanswerablePromptWithChoices",
        model="lexical",
    )
    return Checkout(tmp_path)


def _items(query: str, texts: Iterable[str]) -> Iterator[dict[str, str]]:
    for number, text in enumerate(texts, 1):
        yield {"query_id": query, "question_id": f"{query}/{number}", "question_text": text}


def _passage(query: str, number: int, text: str) -> dict[str, object]:
    name = f"p{number}"
    rankings = [
        {"method": system, "paragraphId": name, "queryId": query, "rank": rank, "score": 1 / rank}
        for system, rank in (("forward", number), ("backward", 4 - number))
    ]
    judgment = {"paragraphId": name, "query": query, "relevance": number % 2, "titleQuery": query}
    data = {"judgments": [judgment], "rankings": rankings}
    return {"paragraph_id": name, "text": text, "paragraph_data": data}


PROMPT = """USEFULNESS = Prompt(
    name="Usefulness",
    kind="question",
    template="How useful is the passage?\\n- 3: very\\n- 0: not\\nQuestion: {question}\\nPassage: {context}",
    parse=rating_reader(3),
    max_rating=3,
    cite="A test, 2026",
)
"""


@pytest.mark.integration
@pytest.mark.parametrize("where", ["an old file", "a new file"])
def test_a_grading_prompt(checkout: Checkout, where: str) -> None:
    checkout.perform("a grading prompt")
    if where == "an old file":
        new = f"{PROMPT}\nRUBRIC_PROMPTS = (\n    USEFULNESS,\n"
        checkout.edit("exam_pp/prompts/rubric.py", "RUBRIC_PROMPTS = (\n", new)
    else:
        head = '"""Prompts of a test."""\n\nfrom exam_pp.prompts.base import Prompt, register\n'
        head += "from exam_pp.prompts.reading import rating_reader\n\n"
        checkout.add("exam_pp/prompts/usefulness.py", f"{head}{PROMPT}\nregister([USEFULNESS])\n")
        last = "from exam_pp.prompts.rubric import ANSWER_VERIFICATION, RUBRIC_PROMPTS\n"
        new = f"{last}from exam_pp.prompts.usefulness import USEFULNESS\n"
        checkout.edit("exam_pp/prompts/__init__.py", last, new)
    assert re.search(r"^Usefulness +question +0 to 3 +A test, 2026", checkout.exam_pp("list prompts"), re.M)
    assert "How useful is the passage?" in checkout.exam_pp("show prompt Usefulness")
    checkout.exam_pp(
        "grade passages.jsonl -o own.jsonl --bank bank.jsonl --model lexical --prompt-class Usefulness"
    )
    board = checkout.exam_pp(
        "evaluate cover own.jsonl --bank bank.jsonl --prompt-class Usefulness --format tsv"
    )
    assert "nCover(min_grade=3)@20" in board, "the top of its scale is the threshold"
    assert "### Usefulness\n" in checkout.page("reference/prompts.md")
    checkout.python("-m", "scripts.golden_prompts")
    assert "Why is the {sky} blue?" in (checkout.folder / "tests/golden/prompts/Usefulness.txt").read_text()


BACKEND = '''"""A model that gives the lowest label, to show how a backend is added."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from exam_pp.llm.base import Batch, ModelOptions
from exam_pp.llm.batch_plan import batches_in_order
from exam_pp.requests import Completion, Request


class LowestLLM:
    """Gives the lowest label of the scale."""

    def __init__(self, options: ModelOptions) -> None:
        self.name = options.model

    def provenance(self) -> dict[str, Any]:
        """What decides the replies."""
        return {"engine": "lowest"}

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Batches of ten, in order."""
        return batches_in_order(len(requests), 10)

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """The lowest label, or the first word."""
        for batch in self.batches(requests) if batches is None else batches:
            for index in batch:
                yield index, Completion((*requests[index].labels, "0")[0])
'''


@pytest.mark.integration
def test_a_model_backend(checkout: Checkout) -> None:
    checkout.perform("a model backend")
    checkout.add("exam_pp/llm/lowest.py", BACKEND)
    last = 'BACKENDS.add("constant", _constant)\n'
    load = "    from exam_pp.llm.lowest import LowestLLM\n\n    return LowestLLM(options)\n"
    new = f'{last}\n\ndef _lowest(options: ModelOptions) -> LLM:\n{load}\n\nBACKENDS.add("lowest", _lowest)\n'
    checkout.edit("exam_pp/llm/backends.py", last, new)
    checkout.exam_pp(
        "grade passages.jsonl -o own.jsonl --bank bank.jsonl --model mine --model-pipeline lowest "
        "--prompt-class QuestionSelfRatedUnanswerablePromptWithChoices"
    )
    sql = "SELECT DISTINCT model, rating, count(*) FROM ratings GROUP BY ALL"
    assert checkout.exam_pp(f"query own.jsonl '{sql}' --format csv").splitlines()[1:] == ["mine,0,12"]
    printed = checkout.python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "tests/llm/test_contract.py", "-k", "lowest"
    )
    assert printed.count("PASSED") == 5


@pytest.mark.integration
def test_a_sign_of_bad_questions(checkout: Checkout) -> None:
    checkout.perform("a sign of bad questions")
    planted = """def _second(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    return f"{entry.passing} passages" if entry.entry_id.endswith("/2") else None


SIGNS = (
    Sign("second", "Second questions", _second),
"""
    checkout.edit("exam_pp/phases/banks/signs.py", "SIGNS = (\n", planted)
    clinic = "bank clinic graded.jsonl --bank bank.jsonl --min-grade 3"
    text = checkout.exam_pp(f"{clinic} --propose second --write-edits edits.json")
    assert re.search(r"^Second questions +2$", text, re.MULTILINE)
    assert re.search(r"\bsecond: \d passages", (checkout.folder / "edits.json").read_text())
    rows = json.loads(checkout.exam_pp(f"{clinic} --format json"))["tables"][0]["rows"]
    assert ["second" in row["signs"] for row in rows] == [False, True, False, True]
    assert "Second questions" in checkout.exam_pp(f"{clinic} --format html")
    assert "--propose [second|too-easy|" in checkout.page("reference/cli.md")


FORMAT = '''"""Queries of an imagined tool, to show how a file format is added."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from exam_pp.data_model import Id, Record
from exam_pp.formats.base import Format, Schema, Source, Target, register
from exam_pp.formats.sample import with_keys
from exam_pp.store.json_lines import read_records, write_records
from exam_pp.store.trec.queries import Query


class Ask(Record):
    """A query."""

    ask_id: Id
    ask: str


def _records(path: Path) -> Iterator[Ask]:
    return (ask for _, ask in read_records(Ask, path, "asks"))


def _read(source: Source) -> list[Query]:
    return [Query(query_id=ask.ask_id, query_text=ask.ask) for ask in _records(source.path)]


def _write(queries: Iterable[Query], target: Target) -> None:
    asks = [Ask(ask_id=query.query_id, ask=query.query_text) for query in queries]
    write_records(asks, target.path, inputs=target.inputs)


register(
    Format(
        "asks", "queries", "questions of Asker", with_keys("ask_id", "ask"), _records, "ask", _read, _write,
        schema=Schema("asks", "a line of Asker", Ask),
    )
)
'''


@pytest.mark.integration
def test_a_file_format(checkout: Checkout) -> None:
    checkout.perform("a file format")
    checkout.add("exam_pp/formats/asks.py", FORMAT)
    (checkout.folder / "asks.jsonl").write_text('{"ask_id": "q1", "ask": "one two"}\n')
    printed = checkout.exam_pp(
        "convert --list",
        "convert asks.jsonl --to queries-tsv -o queries.tsv",
        "convert queries.tsv --to asks -o back.jsonl",
        "validate asks.jsonl",
        "validate asks.jsonl --from asks",
        "schema",
        "schema asks",
    )
    assert (checkout.folder / "queries.tsv").read_text() == "q1\tone two\n"
    assert json.loads((checkout.folder / "back.jsonl").read_text()) == {"ask_id": "q1", "ask": "one two"}
    assert "questions of Asker" in printed
    assert printed.count("1 ask") == 2
    assert "a line of Asker" in printed
    assert '"ask_id"' in printed
    assert "| queries | `asks` | yes | yes | questions of Asker |" in checkout.page("how-to/converting.md")
    assert "| `asks` | a line of Asker |" in checkout.page("how-to/validation.md")


RENDERER = '''"""Reports as the number of their blocks, to show how an output format is added."""

from exam_pp.rendering.document import Report


def counted_blocks(report: Report) -> str:
    """One line."""
    return f"{len(report.blocks)} blocks\\n"
'''


@pytest.mark.integration
def test_an_output_format(checkout: Checkout) -> None:
    checkout.perform("an output format")
    checkout.add("exam_pp/rendering/counted_blocks.py", RENDERER)
    last = '    "latex": ("latex", "latex"),\n'
    new = f'{last}    "blocks": ("counted_blocks", "counted_blocks"),\n'
    checkout.edit("exam_pp/rendering/render.py", last, new)
    printed = checkout.exam_pp(
        "list prompts --format blocks",
        "evaluate cover graded.jsonl --bank bank.jsonl --format blocks",
        "bank stats bank.jsonl --format blocks",
        "verify grading graded.jsonl --bank bank.jsonl --format blocks",
    )
    assert re.fullmatch(r"(\d+ blocks\n){4}", printed)
    assert checkout.page("reference/cli.md").count("|latex|blocks") > 20


METRIC = '''"""The grade of the first passage, to show how a metric is added."""

from collections.abc import Iterable, Iterator

from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.results import Score


def first_grade(query: GradedQuery, systems: dict[str, int]) -> Iterator[Score]:
    """The best grade of each system's first passage; 0 without one. Source: a test (2026)."""
    for system, first_rank in systems.items():
        top = query.top(system, first_rank, 1)
        best = query.passages[top[0]].best_grade if top else None
        yield Score(system, query.query_id, "FirstGrade", float(best or 0))
'''
PHASE = '''"""Scores by the grade of the first passage."""

from pathlib import Path

from exam_pp.metrics.first_grade import first_grade
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.selected_grades import read_selected


def first_grades(graded: Path) -> Evaluation:
    """The scores of all systems."""
    data = read_selected(graded, None, None, None, None)
    systems = data.file.first_ranks
    return Evaluation([score for query in data.queries for score in first_grade(query, systems)], data.notes)
'''
COMMAND = '''"""``exam-pp evaluate first-grade``."""

from pathlib import Path

import click

from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options
from exam_pp.cli.options import GRADED


@click.command("first-grade")
@GRADED
@leaderboard_options()
def command(*, graded: Path, output: LeaderboardOutput) -> None:
    """The grade of each system's first passage."""
    from exam_pp.phases.evaluation.first_grade import first_grades

    output.write(first_grades(graded), "First grade", [graded])
'''


@pytest.mark.integration
def test_a_metric(checkout: Checkout) -> None:
    checkout.perform("a metric")
    checkout.add("exam_pp/metrics/first_grade.py", METRIC)
    checkout.add("exam_pp/phases/evaluation/first_grade.py", PHASE)
    checkout.add("exam_pp/cli/evaluation/first_grade.py", COMMAND)
    checkout.edit("exam_pp/cli/evaluation/evaluate.py", '"nuggets",', '"nuggets", "first_grade",')
    assert "first-grade" in checkout.exam_pp("evaluate --help")
    command = "evaluate first-grade graded.jsonl"
    options = "--intervals queries --significance -o board."
    checkout.exam_pp(*(f"{command} --format {form} {options}{form}" for form in REPORT_FORMATS))
    for form in REPORT_FORMATS:
        board = (checkout.folder / f"board.{form}").read_text()
        assert {"FirstGrade", "forward", "backward"} <= set(re.findall(r"\w+", board))
    assert re.search(
        r"^FirstGrade\s+all\s+\d\.\d{4}$", checkout.exam_pp(f"{command} --format trec_eval"), re.M
    )
    assert "forward\tq1\tFirstGrade" in checkout.exam_pp(f"{command} --format tsv --per-query")
    checkout.exam_pp(f"{command} --format tsv -o board.tsv --plot board.svg")
    assert "FirstGrade" in (checkout.folder / "board.svg").read_text()
    (checkout.folder / "official.json").write_text('{"forward": 1, "backward": 2}')
    correlation = checkout.exam_pp("analyze correlation board.tsv --official official.json --format tsv")
    assert "FirstGrade\t2\t" in correlation
    assert "## exam-pp evaluate first-grade\n" in checkout.page("reference/cli.md")


RESULT = '''"""Distances between systems, to show how a report is added."""

from dataclasses import dataclass
from pathlib import Path

from exam_pp.formats.scores import read_means


@dataclass(frozen=True)
class Spread:
    """The best and the worst score of a leaderboard."""

    best: float
    worst: float


def spread(board: Path) -> Spread:
    """The spread of all scores of a leaderboard file."""
    values = [score.value for score in read_means(board)]
    return Spread(max(values), min(values))
'''
REPORT = '''"""The spread of a leaderboard as a table."""

from exam_pp.phases.analysis.spread import Spread
from exam_pp.rendering.document import Report, Table


def spread_report(found: Spread) -> Report:
    """One row."""
    return Report("Spread", [Table(["best", "worst"], [[found.best, found.worst]], decimals=2)])
'''
EMITTED = '''"""``exam-pp analyze spread``."""

from pathlib import Path

import click

from exam_pp.cli.options import FILE, emit_report, format_option, output_option


@click.command("spread")
@click.argument("board", type=FILE)
@format_option()
@output_option()
def command(*, board: Path, form: str, output: Path) -> None:
    """The best and the worst score of BOARD."""
    from exam_pp.phases.analysis.spread import spread
    from exam_pp.reports.analysis.spread import spread_report

    emit_report(spread_report(spread(board)), form, output, [board])
'''


@pytest.mark.integration
def test_a_report_and_its_command(checkout: Checkout) -> None:
    checkout.perform("a report", room="analysis")
    checkout.add("exam_pp/phases/analysis/spread.py", RESULT)
    checkout.add("exam_pp/reports/analysis/spread.py", REPORT)
    checkout.perform("a command", room="analysis")
    checkout.add("exam_pp/cli/analysis/spread.py", EMITTED)
    checkout.edit("exam_pp/cli/analysis/analyze.py", '"compare",', '"compare", "spread",')
    (checkout.folder / "board.tsv").write_text("system\tRR\na\t0.75\nb\t0.25\n")
    files = [f"analyze spread board.tsv --format {form} -o spread.{form}" for form in REPORT_FORMATS]
    assert "spread" in checkout.exam_pp("analyze --help", *files)
    for form in REPORT_FORMATS:
        text = (checkout.folder / f"spread.{form}").read_text()
        assert {"0.75", "0.25"} <= set(re.findall(r"[\d.]+", text))
    assert "## exam-pp analyze spread\n" in checkout.page("reference/cli.md")


@pytest.mark.integration
def test_a_page_of_the_documentation(checkout: Checkout) -> None:
    checkout.perform("a page of the documentation", room="how-to")
    page = "```sh\nexam-pp bank stats questions.jsonl --format tsv\n```\n\n```text\n...\nd01\n```\n"
    checkout.add("docs/how-to/tides.md", f"# Tides\n\n{page}")
    first = '    { "Import runs'
    checkout.edit("docs/zensical.toml", first, f'    {{ "Tides" = "how-to/tides.md" }},\n{first}')
    first = "SETUPS = {\n"
    checkout.edit(
        "tests/docs/setups.py", first, f'{first}    "docs/how-to/tides.md": Setup("questions.jsonl"),\n'
    )
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/docs", "-k", "tides or navigation"]
    with pytest.raises(AssertionError, match=r"docs/how-to/tides.md:3"):
        checkout.python(*tests)
    tides = checkout.folder / "docs" / "how-to" / "tides.md"
    tides.write_text(tides.read_text().partition("```text")[0])
    assert " passed" in checkout.python(*tests)
