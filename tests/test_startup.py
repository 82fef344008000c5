"""`exam-pp --help` is fast because it imports only what it needs."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "torch", "transformers", "scipy", "numpy", "duckdb", "pandas", "ir_measures", "nltk",
    "ctranslate2", "openai",
)  # fmt: skip

PROBE = f"""
import sys
from exam_pp.cli.main import cli
cli.main(args={{arguments!r}}, prog_name="exam-pp", standalone_mode=False)
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""

IMPORTED = """
import sys
before = set(sys.modules)
from exam_pp.cli.main import cli
cli.main(args=["--help"], prog_name="exam-pp", standalone_mode=False)
new = set(sys.modules) - before
packages = {name.partition(".")[0] for name in new} - sys.stdlib_module_names
print(*sorted(packages), file=sys.stderr)
print(*sorted(name for name in new if name.partition(".")[0] == "exam_pp"), file=sys.stderr)
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def test_version_imports_nothing_heavy() -> None:
    done = run(sys.executable, "-c", PROBE.format(arguments=["--version"]))
    assert done.stderr.strip() == "[]"


def test_help_imports_only_click_and_the_list_of_commands() -> None:
    """The test checks imports, because a measured time would depend on the load of the machine."""
    done = run(sys.executable, "-c", IMPORTED)
    packages, own = done.stderr.splitlines()
    assert packages == "click exam_pp"
    assert own.split() == [
        "exam_pp", "exam_pp.cli", "exam_pp.cli.command", "exam_pp.cli.command_line", "exam_pp.cli.guard",
        "exam_pp.cli.keyed_options", "exam_pp.cli.logs", "exam_pp.cli.main", "exam_pp.cli.option_sections",
        "exam_pp.reports.evaluation.short_names", "exam_pp.errors", "exam_pp.text", "exam_pp.text.wording",
    ]  # fmt: skip


def test_the_help_of_a_group_or_command_imports_no_records() -> None:
    probe = PROBE.replace(repr(HEAVY), repr((*HEAVY, "pydantic", "exam_pp.data_model")))
    for words in (["evaluate", "--help"], ["bank", "--help"], ["grade", "--help"]):
        assert run(sys.executable, "-c", probe.format(arguments=words)).stderr.strip() == "[]"
