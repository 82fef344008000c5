"""The command line in the provenance of outputs."""

from __future__ import annotations

from typing import Any

import click
import pytest

from exam_pp.cli.command_line import command_line


@click.group()
def cli() -> None: ...


@cli.command("run")
@click.argument("files", nargs=-1)
@click.option("--bank", "banks", multiple=True)
@click.option("-m", "--measure", default="nDCG")
@click.option("--api-key", default="none")
@click.option("--base-url")
@click.option("--monkey", default=0)
@click.option("--review/--no-review", default=True)
@click.option("--plain", is_flag=True)
@click.option("-o", "--output")
@click.pass_context
def run(context: click.Context, /, **_: Any) -> str:
    return command_line(context, without=["output"])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["a"], "exam-pp run a"),
        (["a b", "c", "-o", "x"], "exam-pp run 'a b' c"),
        (["--measure=RR", "--bank", "q", "--bank", "n"], "exam-pp run --bank q --bank n --measure RR"),
        (["-m", "nDCG"], "exam-pp run --measure nDCG"),
        (["--api-key", "sk-1"], "exam-pp run --api-key '***'"),
        (["--base-url", "https://me:secret@h:1/v1?key=2"], "exam-pp run --base-url https://h:1/v1"),
        (["--base-url", "http://[h?key=2"], "exam-pp run --base-url '***'"),
        (["--monkey", "3"], "exam-pp run --monkey 3"),
        (["--no-review", "--plain"], "exam-pp run --no-review --plain"),
        (["--review"], "exam-pp run --review"),
    ],
)
def test_the_line_has_what_the_user_gave(words: list[str], line: str) -> None:
    assert cli.main(["run", *words], prog_name="exam-pp", standalone_mode=False) == line
