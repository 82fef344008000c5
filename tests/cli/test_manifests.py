"""With ``--manifest``, every output of every command gets a manifest beside it, and no other file does."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from exam_pp.cli import manifests
from exam_pp.cli.guard import NamedInput
from exam_pp.cli.main import main
from exam_pp.errors import StoppedError
from exam_pp.store.manifests import SUFFIX, find_manifest
from scripts.reliability.good_files import GOOD, RATED, lay_out
from scripts.reliability.kills import writing_commands
from tests.conftest import data_error, without_times

COMMANDS = writing_commands()
GRADE = f"grade graded.jsonl --bank bank.jsonl --model fake --prompt {RATED} -o out.jsonl"
COVER = "evaluate cover graded.jsonl --bank bank.jsonl --grader model --grades type=question --format tsv"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The good files in the working directory; manifests are switched on."""
    monkeypatch.setenv("EXAM_PP_MANIFEST", "1")
    lay_out(tmp_path)
    (tmp_path / "existing").mkdir()
    (tmp_path / "existing" / "other").write_text("of somebody else\n")
    return tmp_path


def run(command: str) -> int:
    """Run a command; returns its exit code."""
    try:
        main(["-q", *shlex.split(command)])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*") if path.is_file()}


def manifest(name: str) -> dict[str, Any]:
    """The manifest of a file as JSON."""
    content: dict[str, Any] = json.loads(Path(f"{name}{SUFFIX}").read_text())
    return content


def sha256(name: str) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def options(name: str) -> dict[str, Any]:
    return {option["name"]: option["value"] for option in manifest(name)["options"]}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_output_of_every_command_has_a_manifest(command: str) -> None:
    before = files()
    assert run(command) == 0
    new = files() - before
    tops = {"new/folder/out" if name.startswith("new/") else name.partition("/")[0] for name in new}
    tops = {name for name in tops if not name.endswith(SUFFIX)}
    others = {name for name in tops if name.endswith("journal")}
    assert {name for name in new if name.endswith(SUFFIX)} == {f"{top}{SUFFIX}" for top in tops - others}
    for top in tops - others:
        found = find_manifest(Path(top))
        assert found.state == "unchanged"
        assert command.startswith(found.manifest.command)
        named = {content.path for content in found.manifest.inputs}
        assert named, "every one of these commands reads a file"
        assert all(word in named for word in shlex.split(command) if word in GOOD)


@pytest.mark.parametrize("command", [GRADE, f"{COVER} -o out.jsonl", "split graded.jsonl -n 2 -o parts"])
def test_equal_calls_give_equal_bytes_without_paths_of_the_machine(command: str, tmp_path: Path) -> None:
    run(command)
    (place,) = (path for path in Path().glob(f"*{SUFFIX}") if path.name not in GOOD)
    first = place.read_bytes()
    place.unlink()
    run(command)
    assert place.read_bytes() == first
    assert str(tmp_path).encode() not in first


def test_the_content_of_a_manifest() -> None:
    run(f"{COVER} --cutoff 5 -o cover.tsv")
    content = manifest("cover.tsv")
    assert (content["format"], content["command"]) == ("exam_pp.manifest.v1", "evaluate cover")
    assert content["output"] == {
        "path": "cover.tsv", "size": Path("cover.tsv").stat().st_size, "sha256": sha256("cover.tsv"),
        "parameter": "--output",
    }  # fmt: skip
    assert content["inputs"] == [
        {"path": name, "size": len(GOOD[name]), "sha256": sha256(name), "parameter": parameter}
        for name, parameter in (("graded.jsonl", "GRADED"), ("bank.jsonl", "--bank"))
    ]
    assert {"name": "--cutoff", "value": 5, "default": False} in content["options"]
    assert {"name": "-S confidence", "value": 0.95, "default": True} in content["options"]
    assert {"name": "--seed", "value": 0, "default": True} in content["options"]
    assert (content["report"]["models"], content["report"]["cutoff"]) == (["model"], 5)
    assert content["python"].startswith("3.")


def test_the_digest_of_a_folder_is_that_of_the_list_of_its_files() -> None:
    """As ``(cd parts && sha256sum * | sha256sum)``."""
    run("split graded.jsonl -n 2 -o parts")
    names = ["graded-1-of-2.jsonl", "graded-2-of-2.jsonl"]
    lines = "".join(f"{sha256(f'parts/{name}')}  {name}\n" for name in names)
    output = manifest("parts")["output"]
    assert [file["path"] for file in output["files"]] == names
    assert output["sha256"] == hashlib.sha256(lines.encode()).hexdigest()
    run("import --runs runs --texts texts.tsv -o p.jsonl")
    (runs,) = (content for content in manifest("p.jsonl")["inputs"] if content["parameter"] == "--runs")
    assert [(file["path"], file["sha256"]) for file in runs["files"]] == [
        (name, sha256(f"runs/{name}")) for name in ("a.run", "b.run")
    ]


def test_manifests_are_written_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_PP_MANIFEST", "0")
    run(GRADE)
    monkeypatch.delenv("EXAM_PP_MANIFEST")
    run(GRADE.replace("out.jsonl", "again.jsonl"))
    assert {"out.jsonl", "again.jsonl"} <= files()
    assert not any(name.endswith(SUFFIX) for name in files() - GOOD.keys())
    main(["-q", "--manifest", *shlex.split(GRADE)])
    assert find_manifest(Path("out.jsonl")).state == "unchanged"


def test_a_manifest_of_an_earlier_output_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    run(f"{COVER} -o cover.tsv")
    assert find_manifest(Path("cover.tsv")).state == "unchanged"
    monkeypatch.delenv("EXAM_PP_MANIFEST")
    run(f"{COVER} --min-grade 1 -o cover.tsv")
    assert find_manifest(Path("cover.tsv")).state == "changed"
    Path("cover.tsv").unlink()
    assert find_manifest(Path(f"cover.tsv{SUFFIX}")).state == "missing"


def test_a_failed_command_leaves_the_old_manifest_with_the_old_output() -> None:
    run("merge graded.jsonl -o out.jsonl")
    before = Path("out.jsonl").read_bytes(), Path(f"out.jsonl{SUFFIX}").read_bytes()
    Path("bad.jsonl").write_text(GOOD["graded.jsonl"] + "no JSON\n")
    assert run("merge bad.jsonl -o out.jsonl") == 1
    assert (Path("out.jsonl").read_bytes(), Path(f"out.jsonl{SUFFIX}").read_bytes()) == before
    assert run("merge bad.jsonl -o new.jsonl") == 1
    assert "new.jsonl" not in files()
    assert f"new.jsonl{SUFFIX}" not in files()


@pytest.mark.parametrize("content", ["precious", "{}"])
def test_a_file_of_the_user_is_kept(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(f"out.jsonl{SUFFIX}").write_text(content)
    assert run("merge graded.jsonl -o out.jsonl") == 0
    assert Path(f"out.jsonl{SUFFIX}").read_text() == content
    assert without_times(capsys.readouterr().err) == (
        f"out.jsonl has no manifest: out.jsonl{SUFFIX} is not a manifest and is kept; rename it.\n"
    )


def test_an_input_is_never_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("board.tsv.manifest.json").read_bytes()
    assert run("validate board.tsv.manifest.json -o board.tsv") == 0
    assert Path("board.tsv.manifest.json").read_bytes() == before
    assert "board.tsv has no manifest" in capsys.readouterr().err


def test_a_link_in_the_place_of_a_manifest_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    run("merge graded.jsonl -o other.jsonl")
    before = Path(f"other.jsonl{SUFFIX}").read_bytes()
    Path(f"out.jsonl{SUFFIX}").symlink_to(f"other.jsonl{SUFFIX}")
    assert run("filter graded.jsonl --rename system=a=z -o out.jsonl") == 0
    assert Path(f"other.jsonl{SUFFIX}").read_bytes() == before
    assert f"out.jsonl{SUFFIX} is not a manifest and is kept" in capsys.readouterr().err


def test_an_output_cannot_replace_a_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    run("merge graded.jsonl -o a.jsonl")
    before = Path(f"a.jsonl{SUFFIX}").read_bytes()
    Path("link").symlink_to(f"a.jsonl{SUFFIX}")
    for name in (f"a.jsonl{SUFFIX}", "link"):
        assert run(f"merge graded.jsonl -o {name}") == 1
        assert f"{name} has the name of a manifest." in capsys.readouterr().err
    assert Path(f"a.jsonl{SUFFIX}").read_bytes() == before


def test_streams_get_no_manifest_but_have_a_digest_as_inputs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files()
    run(COVER)
    run(f"{COVER} -o /dev/null")
    assert files() == before
    assert not Path(f"/dev/null{SUFFIX}").exists()
    with Path("graded.jsonl").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        run("filter - --rename system=a=z -o out.jsonl")
    (content,) = manifest("out.jsonl")["inputs"]
    data = Path("graded.jsonl").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    assert content == {"path": "-", "size": len(data), "sha256": digest, "parameter": "PASSAGES"}


def test_manifests_are_no_runs_and_no_other_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    run("convert runs/a.run --to run -o runs/c.run")
    run("import --runs runs --texts texts.tsv -o p.jsonl")
    (runs,) = (content for content in manifest("p.jsonl")["inputs"] if content["parameter"] == "--runs")
    assert [file["path"] for file in runs["files"]] == ["a.run", "b.run", "c.run"]
    assert run(f"import --runs runs/c.run{SUFFIX} --texts texts.tsv -o q.jsonl") == 1
    assert f"runs/c.run{SUFFIX}: is the manifest of a file" in capsys.readouterr().err
    assert run(f"validate runs/c.run{SUFFIX}") == 0
    assert "manifest" in capsys.readouterr().out


def test_merged_banks_and_files_of_a_configuration_are_inputs() -> None:
    Path("second.jsonl").write_text(GOOD["bank.jsonl"].replace("q1/", "q1/x").replace("007/", "007/x"))
    Path("template.txt").write_text("Query: {query}\nPassage: {context}\nLabel: ")
    Path("prompt.toml").write_text(
        'name = "P"\nkind = "direct"\nreading = "relevance-label"\ntemplate_file = "template.txt"\n'
    )
    run(f"{COVER} --bank second.jsonl -o cover.tsv")
    run("grade graded.jsonl --queries queries.tsv --prompt-file prompt.toml --model fake -o g.jsonl")
    assert "--bank" not in options("cover.tsv")
    of_outputs = [
        {given["path"]: given.get("parameter") for given in manifest(name)["inputs"]}
        for name in ("cover.tsv", "g.jsonl")
    ]
    assert of_outputs == [
        {"graded.jsonl": "GRADED", "bank.jsonl": "--bank", "second.jsonl": "--bank"},
        {
            "graded.jsonl": "PASSAGES",
            "queries.tsv": "--queries",
            "prompt.toml": "--prompt-file",
            "template.txt": None,
        },
    ]


def test_secrets_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    run("generate questions queries.tsv --model fake --test-collection sk-very-secret -o b.jsonl")
    assert "secret" not in Path(f"b.jsonl{SUFFIX}").read_text()
    assert options("b.jsonl")["--test-collection"] == "***"


@pytest.mark.parametrize(
    ("option", "variable", "shown"),
    [
        (["--base-url", "http://ann:pw@localhost:1/v1?token=geheim"], None, "http://localhost:1/v1"),
        ([], "http://me:secret@other/v1", "http://other/v1"),
        ([], None, None),
    ],
)
def test_addresses_of_endpoints_are_without_passwords(
    option: list[str], variable: str | None, shown: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv("OPENAI_BASE_URL", variable)
    else:
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    context = click.Context(click.Command("grade"))
    context.params = {"pipeline": "openai"}
    assert manifests._address(context, option[1] if option else None) == shown
    context.params = {"pipeline": "text2text"}
    assert manifests._address(context, None) is None


def test_large_weights_have_a_size_only(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("model").mkdir()
    for name, size in (("config.json", 2), ("model.safetensors", 9)):
        (Path("model") / name).write_bytes(bytes(size))
    monkeypatch.setattr(manifests, "_MAX_WEIGHTS", 8)
    option = click.Option(["--model"])
    given = NamedInput(Path("model"), option, tuple(sorted(Path("model").iterdir())))
    content = manifests._named(given)
    assert content.files is not None
    assert [(file.path, file.size, file.sha256 is None) for file in content.files] == [
        ("config.json", 2, False), ("model.safetensors", 9, True),
    ]  # fmt: skip
    assert content.sha256 is None


@pytest.mark.parametrize(
    ("error", "code"),
    [(OSError(28, "No space left on device"), 0), (StoppedError("stopped by SIGTERM."), 143)],
)
def test_a_manifest_that_cannot_be_written(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is a warning; a signal stops the command."""

    def fails(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(manifests, "write_manifest", fails)
    assert run("merge graded.jsonl -o out.jsonl") == code
    assert "out.jsonl" in files()
    assert f"out.jsonl{SUFFIX}" not in files()


def test_a_damaged_manifest_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    run("merge graded.jsonl -o out.jsonl")
    place = Path(f"out.jsonl{SUFFIX}")
    place.write_text(place.read_text().replace('"command"', '"commands"', 1))
    assert run("show manifest out.jsonl") == 1
    assert f"{SUFFIX}, command: is missing." in capsys.readouterr().err
    assert run("show manifest graded.jsonl") == 1
    assert "graded.jsonl: has no manifest. Commands write one with" in capsys.readouterr().err


def test_a_name_that_is_too_long_for_a_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    name = "o" * 250
    assert run(f"merge graded.jsonl -o {name}") == 0
    assert f"{name} has no manifest: " in capsys.readouterr().err
    assert run(f"filter {name} --rename system=a=z -o out.jsonl") == 0
    assert manifest("out.jsonl")["inputs"][0]["path"] == name


def change(name: str, **values: Any) -> None:
    """Change a manifest, as another version or machine would have written it."""
    place = Path(f"{name}{SUFFIX}")
    place.write_text(json.dumps(json.loads(place.read_text()) | values))


def test_the_manifest_of_a_folder_is_that_of_its_files() -> None:
    run("split graded.jsonl -n 2 -o parts")
    for name in ("parts", "parts/graded-1-of-2.jsonl", f"parts{SUFFIX}"):
        found = find_manifest(Path(name))
        assert (found.manifest.command, found.state) == ("split", "unchanged")
    Path("parts/graded-1-of-2.jsonl").write_text("other\n")
    for name in ("parts", "parts/graded-1-of-2.jsonl"):
        assert find_manifest(Path(name)).state == "changed"
    Path("parts/mine.jsonl").write_text("mine\n")
    with data_error("parts/mine.jsonl", about="has no manifest"):
        find_manifest(Path("parts/mine.jsonl"))


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
    change("parts", output=content | {"path": str(tmp_path.parent), "files": None})
    with Path(f"parts{SUFFIX}").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert find_manifest(Path("-")).state == "unknown"
