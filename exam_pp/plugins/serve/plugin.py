"""What the plug-in adds: ``exam-pp serve``, its log as an edits file, and its line after ``exam-pp run``."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin(
    title="Live",
    commands={
        "serve": (
            "exam_pp.plugins.serve.command:command",
            "Serve the page to correct grades and refine the bank of a study.",
        )
    },
    offers={
        "edits of a log": "exam_pp.plugins.serve.log:edits_of",
        "next steps of a study": "exam_pp.plugins.serve.command:next_step",
    },
)
