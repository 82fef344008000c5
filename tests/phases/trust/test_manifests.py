"""Why two files differ, and the history of a file."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.manifest import SUFFIX
from exam_pp.phases.trust.manifests import compare_manifests, find_manifest, history
from exam_pp.reports.trust.manifests import differences_report
from scripts.reliability.good_files import RATED, lay_out
from tests.conftest import data_error

ASK = f"--bank bank.jsonl --prompt-class {RATED}"
COVER = f"--bank bank.jsonl --grader lexical --prompt-class {RATED} --format tsv"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXAM_PP_MANIFEST", "1")
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path)
    return tmp_path


def run(command: str) -> int:
    try:
        main(["-q", *shlex.split(command)])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def pipeline(name: str, passages: str = "graded.jsonl", *, ask: str = "", cover: str = "") -> Path:
    """Grade and evaluate; returns the leaderboard."""
    assert run(f"grade {passages} {ASK} --model lexical {ask} -o {name}.jsonl") == 0
    assert run(f"evaluate cover {name}.jsonl {COVER} {cover} -o {name}.tsv") == 0
    return Path(f"{name}.tsv")


def found(first: Path, second: Path) -> list[tuple[Any, ...]]:
    """Kind, command and name of the differences, with the two values."""
    rows = compare_manifests(first, second).differences
    return [(row.kind, row.step, row.name, row.first, row.second) for row in rows]


def change(name: str, **values: Any) -> None:
    """Change a manifest, as another version or machine would have written it."""
    place = Path(f"{name}{SUFFIX}")
    place.write_text(json.dumps(json.loads(place.read_text()) | values))


def test_equal_calls_differ_in_nothing() -> None:
    first, second = pipeline("a"), pipeline("b")
    result = compare_manifests(first, second)
    assert result.same_bytes
    assert result.differences == []
    assert run("manifest diff a.tsv b.tsv -o out") == 0
    assert "a.tsv and b.tsv had the same bytes, and nothing recorded differs." in Path("out").read_text()


def test_another_option() -> None:
    first, second = pipeline("a"), pipeline("b", cover="--cutoff 1")
    assert found(first, second) == [("option", "evaluate cover", "--cutoff", "20", "1")]
    (row,) = compare_manifests(first, second).differences
    assert row.sentence == "--cutoff of `evaluate cover` is 20 for a.tsv, and 1 for b.tsv."
    assert run("manifest diff a.tsv b.tsv -o out") == 3
    assert row.sentence in Path("out").read_text()


def test_a_default_that_is_named_is_no_difference() -> None:
    assert found(pipeline("a"), pipeline("b", cover="--cutoff 20")) == []


def test_the_first_step_that_differs_comes_first() -> None:
    """The passages differ because another query was kept, so the grades and the leaderboards differ."""
    run("filter graded.jsonl --query q1 -o one.jsonl")
    run("filter graded.jsonl --query 007 -o two.jsonl")
    first, second = pipeline("a", "one.jsonl"), pipeline("b", "two.jsonl")
    rows = found(first, second)
    assert rows[0] == ("option", "filter", "--query", "q1", "007")
    assert [row[:3] for row in rows[1:]] == [
        ("input", "grade", "PASSAGES"),
        ("input", "evaluate cover", "GRADED"),
    ]
    sentence = compare_manifests(first, second).differences[1].sentence
    assert sentence == "`grade` read different content as PASSAGES: one.jsonl and two.jsonl."


def test_another_file_without_a_manifest() -> None:
    """The bank is an input of both steps, and listed once, for the first of them."""
    text = Path("bank.jsonl").read_text()
    first = pipeline("a")
    Path("bank.jsonl").write_text(text.replace("q1/a", "q1/z"))
    second = pipeline("b")
    assert [row[:3] for row in found(first, second)] == [
        ("input", "grade", "--bank"),
        ("input", "evaluate cover", "GRADED"),
    ]


def test_another_seed_and_another_version() -> None:
    first, second = pipeline("a"), pipeline("b", cover="--intervals queries --seed 3")
    third = pipeline("c", cover="--intervals queries --seed 4")
    assert ("option", "evaluate cover", "--intervals", None, "queries") in found(first, second)
    assert found(second, third) == [("seed", "evaluate cover", "--seed", "3", "4")]
    change("b.tsv", packages={"numpy": "2.0", "scipy": "1.0"}, python="3.11.1")
    change("c.tsv", packages={"numpy": "1.0"}, python="3.12.0")
    assert found(second, third) == [
        ("seed", "evaluate cover", "--seed", "3", "4"),
        ("version", "evaluate cover", "Python", "3.11.1", "3.12.0"),
        ("version", "evaluate cover", "numpy", "2.0", "1.0"),
    ]
    assert compare_manifests(second, third).notes == ["`evaluate cover` used scipy only for b.tsv."]


def test_another_text_of_a_prompt() -> None:
    first, second = pipeline("a"), pipeline("b")
    content = json.loads(Path(f"b.jsonl{SUFFIX}").read_text())
    change("b.jsonl", asked=[content["asked"][0] | {"prompts": {RATED: "0123456789abcdef"}}])
    (row,) = compare_manifests(Path("a.jsonl"), Path("b.jsonl")).differences
    assert (row.kind, row.name, row.second) == ("grader", RATED, "0123456789abcdef")
    assert found(first, second) == [], "the graded files are equal, so their making does not matter"


def test_another_command_and_another_output_of_the_same_command() -> None:
    run("convert graded.jsonl --from graded --to run -o a.run")
    run("export runs graded.jsonl -o runs-out")
    assert found(Path("a.run"), Path("runs-out"))[0][:3] == ("command", "convert / export runs", "command")
    run("bank split bank.jsonl --secret 0.5 -o public.jsonl --secret-output secret.jsonl")
    assert found(Path("public.jsonl"), Path("secret.jsonl")) == [
        ("command", "bank split", "output", "--output", "--secret-output")
    ]


def test_folders_differ_by_their_files() -> None:
    shutil.copytree("runs", "more")
    Path("more/c.run").write_text(Path("runs/a.run").read_text())
    run("import --runs runs --texts texts.tsv -o a.jsonl")
    run("import --runs more --texts texts.tsv -o b.jsonl")
    (row,) = compare_manifests(Path("a.jsonl"), Path("b.jsonl")).differences
    assert row.sentence == "`import` read different content as --runs: runs and more (files c.run)."


def test_fewer_inputs() -> None:
    run("merge graded.jsonl -o a.jsonl")
    run("merge graded.jsonl rated.jsonl -o b.jsonl")
    (row,) = compare_manifests(Path("a.jsonl"), Path("b.jsonl")).differences
    assert row.sentence == "Only for the second file, `merge` read rated.jsonl (FILES)."
    assert (row.first, (row.second or "")[:12]) == (None, "rated.jsonl ")


def test_the_same_file_twice_and_another_order() -> None:
    Path("copy.jsonl").write_text(Path("graded.jsonl").read_text())
    for output, files in {"a": "graded.jsonl", "b": "graded.jsonl copy.jsonl"}.items():
        run(f"merge {files} -o {output}.jsonl")
    (row,) = compare_manifests(Path("a.jsonl"), Path("b.jsonl")).differences
    assert row.sentence == "Only for the second file, `merge` read copy.jsonl (FILES)."
    run("merge rated.jsonl graded.jsonl -o c.jsonl")
    run("merge graded.jsonl rated.jsonl -o d.jsonl")
    assert found(Path("c.jsonl"), Path("d.jsonl")) == [
        ("input", "merge", "FILES", "rated.jsonl, graded.jsonl", "graded.jsonl, rated.jsonl")
    ]


def test_streams_and_changed_files_are_noted() -> None:
    run("merge graded.jsonl -o a.jsonl")
    run("merge graded.jsonl -o b.jsonl")
    content = json.loads(Path(f"b.jsonl{SUFFIX}").read_text())
    stream = {"path": "-", "parameter": content["inputs"][0]["parameter"], "note": "a stream"}
    change("b.jsonl", inputs=[stream])
    Path("a.jsonl").write_text("other\n")
    assert compare_manifests(Path("a.jsonl"), Path("b.jsonl")).notes == [
        "a.jsonl was changed after its manifest was written.",
        "The content of - of `merge` is not recorded: a stream.",
    ]


def test_changes_that_nothing_explains() -> None:
    first, second = pipeline("a"), pipeline("b")
    Path("b.tsv").write_text("other\n")
    content = json.loads(Path(f"b.tsv{SUFFIX}").read_text())
    change("b.tsv", output=content["output"] | {"sha256": "0" * 64})
    result = compare_manifests(first, second)
    assert not result.same_bytes
    assert "Nothing recorded differs, but a.tsv and b.tsv do" in differences_report(result).notes[0]


def test_the_history_of_a_file() -> None:
    run("split graded.jsonl -n 2 -o parts")
    run("merge parts/graded-1-of-2.jsonl parts/graded-2-of-2.jsonl -o merged.jsonl")
    board = pipeline("a", "merged.jsonl")
    steps = [
        (step.depth, "" if step.content is None else step.content.path, step.command, step.problem)
        for step in history(find_manifest(board))
    ]
    assert steps == [
        (0, "", "evaluate cover", ""),
        (1, "a.jsonl", "grade", ""),
        (2, "merged.jsonl", "merge", ""),
        (3, "parts/graded-1-of-2.jsonl", "split", ""),
        (4, "graded.jsonl", "", ""),
        (3, "parts/graded-2-of-2.jsonl", "split", "as above"),
        (2, "bank.jsonl", "", ""),
        (1, "bank.jsonl", "", ""),
    ]
    Path(f"merged.jsonl{SUFFIX}").unlink()
    steps_after = history(find_manifest(board))
    assert [step.problem for step in steps_after if step.command == "merge"] == [
        "its manifest was removed or replaced"
    ]


def test_the_history_is_found_from_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("out").mkdir()
    run("merge graded.jsonl -o out/merged.jsonl")
    run("rename out/merged.jsonl --system a=z -o out/renamed.jsonl")
    monkeypatch.chdir("/")
    steps = history(find_manifest(tmp_path / "out" / "renamed.jsonl"))
    assert [(step.command, step.problem) for step in steps] == [("rename", ""), ("merge", ""), ("", "")]
    monkeypatch.chdir(tmp_path / "out")
    assert [step.command for step in history(find_manifest(Path("renamed.jsonl")))] == ["rename", "merge", ""]


def test_files_outside_of_a_folder_are_not_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A manifest is data: of a folder of others, it could name /proc/kmsg, which never ends."""
    assert run("split graded.jsonl -n 1 -o parts") == 0
    content = json.loads(Path(f"parts{SUFFIX}").read_text())["output"]
    (file,) = content["files"]
    shutil.move(f"parts/{file['path']}", "outside")
    Path(f"parts/{file['path']}").symlink_to("../outside")
    assert find_manifest(Path("parts")).state == "changed"
    change("parts", output=content | {"files": [file | {"path": "../outside"}]})
    assert find_manifest(Path("parts")).state == "changed"
    other = tmp_path / "other"
    other.mkdir()
    place = f"{tmp_path}/parts{SUFFIX}"
    change("parts", output=content | {"path": str(tmp_path / "outside"), "files": None})
    monkeypatch.chdir(other)
    with Path(place).open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(DataError, match="outside of the working directory"):
            find_manifest(Path("-"))


def test_a_file_without_a_manifest() -> None:
    with data_error("graded.jsonl", about="has no manifest (graded.jsonl.manifest.json)"):
        find_manifest(Path("graded.jsonl"))
    with data_error("runs", about="has no manifest (runs.manifest.json)"):
        find_manifest(Path("runs"))


@pytest.mark.parametrize("form", ["text", "md", "html", "json", "tsv", "latex"])
def test_both_reports_in_every_format(form: str) -> None:
    pipeline("a")
    pipeline("b", cover="--cutoff 1")
    assert run(f"manifest show a.tsv --format {form} -o show") == 0
    assert run(f"manifest diff a.tsv b.tsv --format {form} -o diff") == 3
    assert "evaluate cover" in Path("show").read_text()
    assert "cutoff" in Path("diff").read_text()
