"""`exam-pp --help` is fast because it imports only what it needs."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import iter_modules

import pytest

import exam_pp.plugins

HEAVY = {
    "torch", "transformers", "scipy", "numpy", "duckdb", "pandas", "ir_measures", "nltk", "ctranslate2",
    "openai", "pydantic",
}  # fmt: skip

PROBE = """
import sys
before = set(sys.modules)
{code}
print(*(set(sys.modules) - before), file=sys.stderr)
"""
HELP = "from exam_pp.cli.main import main; main({words!r})"


def imported(code: str) -> set[str]:
    """The modules that are imported while a new process runs the code."""
    probe = PROBE.format(code=code)
    return set(
        subprocess.run(
            [sys.executable, "-c", probe], capture_output=True, text=True, check=True
        ).stderr.split()
    )


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_help_imports_only_click_and_the_list_of_commands() -> None:
    """The test checks imports, because a measured time would depend on the load of the machine."""
    modules = imported(HELP.format(words=["--help"]))
    assert packages(modules) - sys.stdlib_module_names == {"click", "exam_pp"}
    known = [f"exam_pp.plugins.{each.name}" for each in iter_modules(exam_pp.plugins.__path__)]
    assert {name for name in modules if name.startswith("exam_pp.")} == {
        "exam_pp.plugins", *known, *(f"{name}.plugin" for name in known),
        "exam_pp.cli", "exam_pp.cli.command", "exam_pp.cli.command_line", "exam_pp.cli.guard",
        "exam_pp.cli.keyed_options", "exam_pp.cli.logs", "exam_pp.cli.main", "exam_pp.cli.option_sections",
        "exam_pp.reports", "exam_pp.reports.evaluation",
        "exam_pp.reports.evaluation.short_names", "exam_pp.errors", "exam_pp.text", "exam_pp.text.wording",
    }  # fmt: skip


@pytest.mark.parametrize(
    "words", [["--version"], ["evaluate", "--help"], ["bank", "--help"], ["grade", "--help"]]
)
def test_other_helps_import_nothing_heavy(words: list[str]) -> None:
    assert packages(imported(HELP.format(words=words))) & HEAVY == set()


def test_commands_import_nothing_heavy_before_they_run() -> None:
    """All modules but those of metrics and models, which commands import when they need them."""
    code = """
from importlib import import_module
from exam_pp.cli.main import COMMANDS
for module, _ in COMMANDS.values():
    import_module(module)
"""
    assert packages(imported(code)) & HEAVY == {"pydantic"}
