"""What the plug-in adds: ``exam-pp query``, its examples, and ``exam_pp.query``."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin(
    title="SQL",
    commands={
        "query": (
            "exam_pp.plugins.sql.command:command",
            "Run SQL on graded files, banks, runs and leaderboards.",
        )
    },
    listings={"sql": "exam_pp.plugins.sql.examples"},
    public={"query": "plugins.sql.python"},
)
