"""Documentation: generated pages are up to date, links exist, and examples work."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from exam_pp import Prompt
from exam_pp.cli.main import main
from exam_pp.data_model import parse_line
from exam_pp.edits import BankEdit, Edits, HumanRating
from exam_pp.phases.rag.config import read_config
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.banks.edits import file_sha256, write_edits
from exam_pp.store.games import parse_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.test_bank import BankLine

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_docs.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr.strip()}: run python scripts/make_docs.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def run_commands(page: str) -> int:
    """Run every indented command of a text; returns their number, and fails at the first failure."""
    commands = re.findall(r"^    exam-pp (.*)$", page.replace("\\\n", " "), flags=re.MULTILINE)
    for command in commands:
        run_command(command)
    return len(commands)


def run_command(command: str) -> None:
    try:
        main(shlex.split(command, comments=True))
    except SystemExit as stop:
        if stop.code:
            pytest.fail(f"exam-pp {command}")


def commands_in_blocks(name: str) -> list[str]:
    """The exam-pp commands in the shell blocks of a page."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL))
    return re.findall(r"^exam-pp (.*)$", blocks, flags=re.MULTILINE)


@pytest.fixture
def at_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXAM_PP_MANIFEST", "1")
    return tmp_path


def write_files_of_the_quickstart(folder: Path) -> None:
    """Write the files that the page shows: their names, a colon, and their contents as blocks of text."""
    page = (ROOT / "docs" / "start" / "quickstart.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^((?:`[\w./]+`(?: and )?)+):[^\n]*\n\n((?:```text\n.*?```\n\n?)+)",
        page,
        flags=re.DOTALL | re.MULTILINE,
    )
    for names, blocks in shown:
        contents = re.findall(r"```text\n(.*?)```", blocks, flags=re.DOTALL)
        for name, text in zip(re.findall(r"`([\w./]+)`", names), contents, strict=True):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def test_the_quickstart_works_with_files_of_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXAM_PP_MANIFEST", "1")
    write_files_of_the_quickstart(tmp_path)
    commands = commands_in_blocks("start/quickstart.md")
    assert [command.split()[0] for command in commands] == [
        "import", "bank", "bank", "grade", "verify", "verify", "review", "evaluate", "evaluate", "evaluate",
        "query",
    ]  # fmt: skip
    for command in commands:
        run_command(command)
    output = capsys.readouterr().out
    assert "3 queries, 6 entries: 0 errors, 0 warnings." in output
    assert re.search(r"^good +1\.000 .*\nbad +0\.500 ", output, flags=re.MULTILINE)
    assert {"grid.html", "review.html", "rubric.qrels"} <= {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "report" / "index.html").is_file()
    assert (tmp_path / "report.manifest.json").is_file()


def test_commands_of_the_quickstart_work_with_the_demo(at_the_demo: Path) -> None:
    assert run_commands((ROOT / "docs" / "start" / "quickstart.md").read_text(encoding="utf-8")) == 5
    assert (at_the_demo / "official.json").read_text(encoding="utf-8").startswith("{")


def test_commands_of_the_import_page_work(at_the_demo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for command in commands_in_blocks("how-to/import.md"):
        run_command(command)
    page = (ROOT / "docs" / "how-to" / "import.md").read_text(encoding="utf-8")
    (summary,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    assert summary in capfd.readouterr().err
    assert len(list((at_the_demo / "exported-runs").iterdir())) == 10


@pytest.mark.integration
def test_commands_of_the_verification_page_work(at_the_demo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The test writes the edits of a reviewer before the first command that applies them."""
    commands = commands_in_blocks("how-to/verification.md")
    bank = ROOT / "data" / "demo" / "nuggets.jsonl"
    (at_the_demo / "nuggets.jsonl").write_bytes(bank.read_bytes())
    answers = ROOT / "data" / "demo" / "answers" / "gen-long.jsonl"
    run_command(f"import --answers {answers} --unit whole -o answers.jsonl.gz")
    for command in commands:
        name, graded = shlex.split(command)[:2]
        if name == "apply-edits":
            write_edits_for(Path(graded))
        run_command(command)
    assert [command.split()[0] for command in commands] == [
        "import", "grade", "grade", "verify", "verify", "review", "apply-edits", "bank", "analyze",
        "review", "review", "apply-edits",
    ]  # fmt: skip
    output = capfd.readouterr()
    assert "2 ratings added as human:ana" in output.err
    assert "human:ana" in output.out, "reviewers and models are compared"
    assert (at_the_demo / "better.jsonl").read_bytes() != (
        ROOT / "data" / "demo" / "questions.jsonl"
    ).read_bytes()


def write_edits_for(graded: Path) -> None:
    """Write ratings of two passages for the first bank entry of their query, and a new text of the entry."""
    name = "nuggets.jsonl" if graded.name.startswith("answers") else "data/demo/questions.jsonl"
    query = next(read_passages(graded))
    entry = next(iter(read_bank(name).entries(query.query_id)))
    passages = query.passages[:2] if len(query.passages) > 1 else query.passages
    ratings = [
        HumanRating.model_validate(
            {"query_id": query.query_id, "passage_id": passage.passage_id, "id": entry, "rating": 1}
        )
        for passage in passages
    ]
    reword = BankEdit(op="reword", query_id=query.query_id, id=entry, text="What else is there to know?")
    write_edits(
        Edits(
            format="exam_pp.edits.v1",
            graded_sha256=file_sha256(graded),
            bank_sha256=file_sha256(name),
            reviewer="ana",
            ratings=ratings,
            bank=[reword],
        ),
        "edits.json",
    )


@pytest.mark.slow
def test_commands_of_the_nuggets_page_work_offline(
    at_the_demo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All answers of the demo are labelled without corrections, so both conditions agree."""
    page = (ROOT / "docs" / "how-to" / "nuggets.md").read_text(encoding="utf-8")
    assert run_commands(page.partition("## Offline with the demo")[2]) == 13
    output = capfd.readouterr()
    taus = re.findall(r"^V_strict  .*$", output.out, flags=re.MULTILINE)

    assert [line.split()[1:] for line in taus] == [["2", "1.000", "16", "1.000", "8", "1.000"]]
    assert "not in the bank" not in output.out + output.err
    assert {"umbrela.qrels", "filled.qrels", "figure6.png", "figure7.png"} <= {
        path.name for path in at_the_demo.iterdir()
    }


def test_commands_of_the_answers_page_work(at_the_demo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rouge_score")
    page = (ROOT / "docs" / "how-to" / "answers.md").read_text(encoding="utf-8")
    assert run_commands(page) == 8
    assert "gen-long" in capfd.readouterr().out
    assert (at_the_demo / "rag-report" / "index.html").exists()
    (options,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    (at_the_demo / "rag.toml").write_text(options)
    assert read_config(at_the_demo / "rag.toml").hallucination.model is not None


def test_examples_of_the_python_page_work(at_the_demo: Path) -> None:
    for command in commands_in_blocks("reference/python.md"):
        run_command(command)
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=at_the_demo
    )
    assert done.returncode == 0, done.stderr
    assert "8 queries, 83 questions" in done.stdout
    assert "passages.jsonl.gz has no grades" in done.stdout


def test_prompt_of_the_prompts_page_works() -> None:
    page = (ROOT / "docs" / "reference" / "prompts.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Prompt] = {}
    exec(compile(code, "docs/reference/prompts.md", "exec"), names)
    assert names["USEFULNESS"].labels == ("0", "1", "2", "3")


def test_examples_of_the_data_model_are_read_and_written() -> None:
    page = (ROOT / "docs" / "reference" / "data-model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    passages, bank, games = map(json.loads, blocks)
    assert json.loads(parse_line(json.dumps(passages)).dump()) == passages
    assert BankLine.model_validate(bank).model_dump(mode="json", exclude_unset=True) == bank
    query = parse_games(json.dumps(games).encode(), "docs/reference/data-model.md", 1)
    assert json.loads(query.model_dump_json(by_alias=True, exclude_unset=True)) == games


def test_python_example_of_the_data_model_works(
    tmp_path: Path, tiny_passages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "reference" / "data-model.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    tiny_passages.rename(tmp_path / "graded.jsonl.gz")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/reference/data-model.md", "exec"), {})
    assert (tmp_path / "relevant.jsonl.gz").stat().st_size


def test_the_package_of_the_index_is_never_installed() -> None:
    """`pip install exam_pp` fetches the package of other authors."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = [
        name
        for name in files.split()
        if name.endswith((".md", ".py", ".sh", ".toml", ".ipynb", "/run", "/demo", "/test", ".txt"))
        and name not in {"CHANGELOG.md", "pyproject.toml", "tests/test_docs.py"}
        and re.search(
            r"(pip install|uv add)[^\n]*\bexam_pp(\[|\b(?!-))", (ROOT / name).read_text(encoding="utf-8")
        )
    ]
    assert named == []


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"version: {project['version']}\n" in citation
    assert f"exam_pp-{project['version']}-py3-none-any.whl" in (
        ROOT / "docs" / "start" / "quickstart.md"
    ).read_text("utf-8")
    assert "urls" not in project
