"""What the plug-in adds: batch files, in place of calls, for the requests of a grading."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin(offers={"batch files": "exam_pp.plugins.batches.exchange:take_replies"})
