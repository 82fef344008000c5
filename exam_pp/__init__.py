"""A rubric-grading workbench for retrieval and RAG systems.

The names in ``__all__`` are the public API (see docs/reference/python.md) and stay compatible.
All submodules and all other names are private and may change without notice. Names are imported at their
first use, so that ``import exam_pp`` is fast.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exam_pp._version import __version__ as __version__
    from exam_pp.api.evaluation import (
        agreement,
        correlate,
        grade_table,
        leaderboard,
        score_rankings,
        score_runs,
    )
    from exam_pp.api.files import write_bank, write_passages
    from exam_pp.api.grading import grade, grade_file, make_prompt
    from exam_pp.api.study import Study, study
    from exam_pp.banks import BankLine, Nugget, Question, TestBank
    from exam_pp.data_model import (
        DirectGrade,
        Judgment,
        Passage,
        QueryPassages,
        RankingEntry,
        RubricGrades,
    )
    from exam_pp.errors import ExamError
    from exam_pp.games import Game, GameSet, QueryGames
    from exam_pp.grade_filter import AnswerFilter, GradeFilter
    from exam_pp.llm.base import ModelOptions
    from exam_pp.metrics.correlation import Correlation
    from exam_pp.metrics.measures import Measure
    from exam_pp.metrics.planning import plan_queries
    from exam_pp.phases.evaluation.cover import cover
    from exam_pp.phases.evaluation.judgments import judgments
    from exam_pp.phases.evaluation.nugget_scores import nugget_scores, rubric_scores
    from exam_pp.phases.evaluation.result import Evaluation
    from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
    from exam_pp.prompts import PROMPTS, Prompt
    from exam_pp.results import Grades, LabelAgreement, Leaderboard, Qrel, RunLine, Score
    from exam_pp.store.banks.bank_json import read_bank
    from exam_pp.store.games_files import read_games, write_games
    from exam_pp.store.passages.graded_file import read_passages
    from exam_pp.store.trec.ranks import read_ranks
    from exam_pp.store.trec.runs import read_qrels, read_run, write_qrels

__all__ = [
    "PROMPTS",
    "AnswerFilter",
    "BankLine",
    "Correlation",
    "DirectGrade",
    "Evaluation",
    "ExamError",
    "Game",
    "GameSet",
    "GradeFilter",
    "Grades",
    "Judgment",
    "LabelAgreement",
    "Leaderboard",
    "Measure",
    "ModelOptions",
    "Nugget",
    "Passage",
    "Prompt",
    "Qrel",
    "QueryGames",
    "QueryPassages",
    "Question",
    "RankingEntry",
    "RubricGrades",
    "RunLine",
    "Score",
    "Study",
    "TestBank",
    "agreement",
    "correlate",
    "cover",
    "grade",
    "grade_file",
    "grade_table",
    "judgments",
    "leaderboard",
    "make_prompt",
    "nugget_scores",
    "plan_queries",
    "read_bank",
    "read_games",
    "read_passages",
    "read_qrels",
    "read_ranks",
    "read_run",
    "rubric_qrels",
    "rubric_scores",
    "score_rankings",
    "score_runs",
    "study",
    "write_bank",
    "write_games",
    "write_passages",
    "write_qrels",
]

_HOMES = {
    "__version__": "_version",
    "agreement": "api.evaluation",
    "correlate": "api.evaluation",
    "grade_table": "api.evaluation",
    "leaderboard": "api.evaluation",
    "score_rankings": "api.evaluation",
    "score_runs": "api.evaluation",
    "write_bank": "api.files",
    "write_passages": "api.files",
    "grade": "api.grading",
    "grade_file": "api.grading",
    "make_prompt": "api.grading",
    "write_games": "store.games_files",
    "Study": "api.study",
    "study": "api.study",
    "DirectGrade": "data_model",
    "Judgment": "data_model",
    "Passage": "data_model",
    "QueryPassages": "data_model",
    "RankingEntry": "data_model",
    "RubricGrades": "data_model",
    "ExamError": "errors",
    "Game": "games",
    "GameSet": "games",
    "QueryGames": "games",
    "AnswerFilter": "grade_filter",
    "GradeFilter": "grade_filter",
    "ModelOptions": "llm.base",
    "Correlation": "metrics.correlation",
    "plan_queries": "metrics.planning",
    "judgments": "phases.evaluation.judgments",
    "Measure": "metrics.measures",
    "nugget_scores": "phases.evaluation.nugget_scores",
    "rubric_scores": "phases.evaluation.nugget_scores",
    "Evaluation": "phases.evaluation.result",
    "cover": "phases.evaluation.cover",
    "rubric_qrels": "phases.evaluation.rubric_qrels",
    "PROMPTS": "prompts",
    "Prompt": "prompts",
    "Grades": "results",
    "LabelAgreement": "results",
    "Leaderboard": "results",
    "Qrel": "results",
    "RunLine": "results",
    "Score": "results",
    "read_bank": "store.banks.bank_json",
    "read_games": "store.games_files",
    "read_passages": "store.passages.graded_file",
    "read_ranks": "store.trec.ranks",
    "read_qrels": "store.trec.runs",
    "read_run": "store.trec.runs",
    "write_qrels": "store.trec.runs",
    "BankLine": "banks",
    "Nugget": "banks",
    "Question": "banks",
    "TestBank": "banks",
}
"""The module of every public name, without those of plug-ins."""


def __getattr__(name: str) -> Any:
    """Import a public name from its module at its first use."""
    # `from exam_pp import SUBMODULE` asks here first, and needs no plug-ins.
    known = name in _HOMES or name.startswith("_") or find_spec(f"{__name__}.{name}")
    homes = _HOMES if known else _homes_in_plugins()
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{homes[name]}"), name)
    return value


def _homes_in_plugins() -> dict[str, str]:
    from exam_pp.plugins import plugins

    return {name: module for plugin in plugins() for name, module in plugin.public.items()}


def __dir__() -> list[str]:
    return [*_HOMES, *_homes_in_plugins()]
