"""Judge for TREC AutoJudge: nuggets, qrels and a leaderboard by the phases of exam_pp.

``auto-judge run`` of the package ``autojudge-base`` (the extra ``autojudge``) loads :class:`ExamJudge` from a
workflow file. :data:`WORKFLOWS` is the folder of ready workflow files.
"""

from exam_pp.plugins.autojudge.judge import WORKFLOWS, ExamJudge

__all__ = ["WORKFLOWS", "ExamJudge"]
