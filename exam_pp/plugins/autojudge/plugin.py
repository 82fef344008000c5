"""The judge for TREC AutoJudge, which ``auto-judge run`` loads from a workflow file."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin()
