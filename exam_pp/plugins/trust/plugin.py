"""What the plug-in adds: checks of graders and of scores, samples to label, and a section of the report."""

from exam_pp.plugins import Plugin

_COMMANDS = "exam_pp.plugins.trust.commands"

PLUGIN = Plugin(
    title="Trust",
    commands={
        "bank clinic": (
            "exam_pp.plugins.trust.clinic:command",
            "Find bad entries of a test bank from the grades in GRADED.",
        ),
        "consensus": (
            f"{_COMMANDS}:consensus_command",
            "Add the consensus of several graders, as a grader of its own name.",
        ),
        "canaries": (
            f"{_COMMANDS}:canaries_command",
            "Add systems that deserve no score, and show what graders gave them.",
        ),
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
        "consensus": "plugins.trust.consensus",
        "corrected_scores": "plugins.trust.corrected",
        "gate": "plugins.trust.gate",
    },
    registered={"file_formats": {"plugins.trust.pair_sample_files": "pair-sample"}},
    offers={
        "examination of a model": "exam_pp.plugins.trust.again:examine_model",
        "grades given again": "exam_pp.plugins.trust.again:grade_again",
        "pairs to label": "exam_pp.plugins.trust.pair_sample_files:read_pairs_to_label",
        "scores of canaries": "exam_pp.plugins.trust.canaries:canary_scores",
        "sections of the report": "exam_pp.plugins.trust.graders:agreement_of_graders",
    },
)
