"""Judge for TREC AutoJudge: nuggets, qrels and a leaderboard by the phases of exam_pp.

``auto-judge run`` of the package ``autojudge-base`` (the extra ``autojudge``) loads :class:`ExamJudge` from a
workflow file. :data:`WORKFLOWS` is the folder of ready workflow files.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exam_pp.plugins.autojudge.judge import ExamJudge

__all__ = ["WORKFLOWS", "ExamJudge"]

WORKFLOWS = Path(__file__).parent / "workflows"


def __getattr__(name: str) -> Any:
    """Import the judge at its first use, because its package is optional."""
    if name != "ExamJudge":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.judge").ExamJudge
