"""What the plug-in adds: checks of graders and of scores, samples to label, and a section of the report."""

from exam_pp.plugins import Plugin

_COMMANDS = "exam_pp.plugins.trust.commands"

PLUGIN = Plugin(
    title="Trust",
    commands={
        "grade-panel": (
            f"{_COMMANDS}:grade_panel_command",
            "Grade passages with the graders of a panel, into one file.",
        ),
        "sample-pairs": (
            f"{_COMMANDS}:sample_pairs_command",
            "Draw pairs of passage and bank entry for people to label.",
        ),
        "gate": (
            f"{_COMMANDS}:gate_command",
            "Check that a new version of a system is not worse than the baseline.",
        ),
        "evaluate corrected": (
            f"{_COMMANDS}:corrected_command",
            "Estimate the scores that people would give, by labels of a sample.",
        ),
        "analyze graders": (
            f"{_COMMANDS}:graders_command",
            "Measure the agreement of the graders of a file with each other and with the judgments.",
        ),
        "analyze panel": (
            f"{_COMMANDS}:panel_command",
            "Show how far the leaderboard depends on the grader.",
        ),
        "analyze audit": (
            f"{_COMMANDS}:audit_command",
            "Audit a grader, or judges of games: length, families, places.",
        ),
    },
    public={
        "analyze_panel": "plugins.trust.panel",
        "corrected_scores": "plugins.trust.corrected",
        "gate": "plugins.trust.gate",
    },
    offers={"sections of the report": "exam_pp.plugins.trust.graders:agreement_of_graders"},
)
