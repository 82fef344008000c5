"""The group ``exam-pp bank``: test banks of other tools, their contents, changes and bad entries."""

from __future__ import annotations

from exam_pp.cli.command import LazyGroup

command = LazyGroup(
    "bank",
    help="Import, show and edit test banks, and find bad entries.",
    members={
        "import": (
            "exam_pp.cli.banks.import_bank",
            "Make a test bank from the FILES of another tool or collection.",
        ),
        "show": ("exam_pp.cli.banks.show", "Show the counts, the problems and the entries of BANK."),
        "apply": (
            "exam_pp.cli.banks.apply",
            "Apply the changes of an edits file to BANK, or split it into a public and a secret part.",
        ),
    },
)
