"""Options with keys such as ``-S samples=100``."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from exam_pp.cli.command import Command
from exam_pp.cli.options import FILE, OUTPUT_PATH


@click.command(cls=Command)
@click.argument("words", nargs=-1)
@click.option("-S samples", "samples", type=int, default=7, help="Number of samples.")
@click.option("-S confidence", "confidence", type=float, help="Level.")
@click.option("--grades only", "grades", type=click.Choice(["a", "b"]), multiple=True, help="Only these.")
@click.option("--also table", "table", type=OUTPUT_PATH, help="Also write a table.")
@click.option("--plot length", "length", help="Plot of lengths.")
@click.option("--plot", "plot", help="Plot.")
def keyed(**values: object) -> None:
    """Print the values that are not empty."""
    click.echo(" ".join(f"{name}={value}" for name, value in sorted(values.items()) if value))


def run(*arguments: str) -> str:
    return CliRunner().invoke(keyed, arguments, prog_name="keyed").output.strip()


@pytest.mark.parametrize(
    "arguments",
    [["-S", "samples=3"], ["-Ssamples=3"], ["-S=samples=3"]],
)
def test_a_key_has_the_type_of_its_option(arguments: list[str]) -> None:
    assert run(*arguments) == "samples=3"
    assert "'x' is not a valid integer" in run("-S", "samples=x")


def test_values_with_equal_signs_defaults_and_repeated_keys() -> None:
    assert run() == "samples=7"
    assert run("--grades=only=a", "--grades", "only=b") == "grades=('a', 'b') samples=7"
    assert run("--plot", "length=a=b.svg") == "length=a=b.svg samples=7"
    assert run("--plot", "length.svg", "--plot=length=x") == "length=x plot=length.svg samples=7"
    assert run("--plot", "other=x") == "plot=other=x samples=7"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-S", "sample=3"], "-S has no key 'sample' here. Did you mean 'samples'?"),
        (["-S", "x=3"], "-S has no key 'x' here. Its keys here: samples, confidence."),
        (["-S", "samples"], "-S samples: is not KEY=VALUE. Its keys here: samples, confidence."),
        (["-S"], "Option '-S' requires KEY=VALUE, with a KEY of samples, confidence."),
        (
            ["-S", "samples=3", "-S", "samples=4"],
            "-S samples can be used only once, but it is named 2 times.",
        ),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], message: str) -> None:
    assert message in " ".join(run(*arguments).split())


def test_words_after_two_dashes_are_arguments() -> None:
    assert run("--", "-S", "samples=3") == "samples=7 words=('-S', 'samples=3')"


def test_the_shell_completes_keys() -> None:
    complete = ShellComplete(click.Group(commands={"keyed": keyed}), {}, "x", "_X_COMPLETE")
    found = complete.get_completions(["keyed", "-S"], "")
    assert [(item.value, item.help) for item in found] == [
        ("samples=", "Number of samples."), ("confidence=", "Level."),
    ]  # fmt: skip
    assert [item.value for item in complete.get_completions(["keyed", "-S"], "c")] == ["confidence="]
    names = [item.value for item in complete.get_completions(["keyed"], "-")]
    assert not any(" " in name for name in names)
    assert {"-S", "--grades", "--also", "--plot"} <= set(names)


def test_the_file_of_a_key_is_an_output(tmp_path: Path) -> None:
    """It may be neither an input nor the file of another output."""

    @click.command(cls=Command)
    @click.argument("source", type=FILE)
    @click.option("-o", "--output", type=OUTPUT_PATH, help="A file.")
    @click.option("--also table", "table", type=OUTPUT_PATH, help="A table.")
    def write(**files: Path) -> None:
        """Write nothing."""

    Path("in").write_text("kept")
    refused = CliRunner().invoke(write, ["in", "--also", "table=./in"])
    assert "in is also an input" in str(refused.exception)
    refused = CliRunner().invoke(write, ["in", "-o", "out", "--also", "table=./out"])
    assert refused.exit_code == 2
    assert "out is also the file of --output" in refused.output
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
