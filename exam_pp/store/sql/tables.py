"""The tables that SQL sees: one declaration for the database, its comments and docs/querying.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

SqlType = Literal["VARCHAR", "INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]"]
TableName = Literal[
    "queries", "passages", "judgments", "rankings", "grades", "ratings", "answers", "bank", "runs", "scores"
]
SqlValue = str | int | float | bool | list[str] | None
Row = tuple[SqlValue, ...]
"""Values in the order of a table's columns."""


class Column(NamedTuple):
    """A column, its type in DuckDB, and what it says."""

    name: str
    type: SqlType
    description: str


@dataclass(frozen=True)
class Table:
    """A table: what one row is, where it is read from, and its columns in order."""

    name: TableName
    description: str
    columns: tuple[Column, ...]


_FILE = Column("file", "VARCHAR", "the file, as it was named; tells several files apart")
_QUERY = Column("query_id", "VARCHAR", "the query")
_PASSAGE = Column("passage_id", "VARCHAR", "the passage")
_SYSTEM = Column("system", "VARCHAR", "the system (`method` in the file)")
_GRADE_SET = Column("grade_set", "BIGINT", "number of the row in `grades`")
_ENTRY = Column("entry_id", "VARCHAR", "the question or nugget; `direct` for a direct grade")
_GRADER = (
    Column("model", "VARCHAR", "who graded; NULL where not recorded"),
    Column(
        "prompt_class",
        "VARCHAR",
        "the prompt's name (`QuestionPromptWithChoices` where the file has none)",
    ),
    Column(
        "kind",
        "VARCHAR",
        "`question`, `nugget` or `direct`; NULL where not recorded",
    ),
)
_FAILURE = Column("failure", "VARCHAR", "why there is no rating; NULL where nothing failed")

_TABLES = (
    Table(
        "queries",
        "One row a query of any file.",
        (
            _QUERY,
            Column("query_text", "VARCHAR", "its words, from `--queries` or `--bank`; NULL without them"),
            Column("test_collection", "VARCHAR", "as the bank says"),
        ),
    ),
    Table(
        "passages",
        "One row a passage of a query.",
        (
            _FILE,
            _QUERY,
            _PASSAGE,
            Column("passage_text", "VARCHAR", "its text"),
            Column("line", "INTEGER", "line of the file, from 1"),
            Column("position", "INTEGER", "place in that line, from 1"),
        ),
    ),
    Table(
        "judgments",
        "One row a manual judgment.",
        (
            _FILE,
            _QUERY,
            _PASSAGE,
            Column("relevance", "INTEGER", "the grade; may be negative"),
            Column("judged_query", "VARCHAR", "the query, or facet of it, that was judged"),
            Column("title_query", "VARCHAR", "as the file says"),
        ),
    ),
    Table(
        "rankings",
        "One row for each system that returned a passage, as the graded file says.",
        (
            _FILE,
            _QUERY,
            _PASSAGE,
            _SYSTEM,
            Column("rank", "INTEGER", "from 0 or 1, as in the file"),
            Column("score", "DOUBLE", "the system's score"),
            Column("citations", "VARCHAR[]", "docids that this part of an answer cites"),
        ),
    ),
    Table(
        "grades",
        "One row a set of grades: what one model with one prompt said of one passage.",
        (
            Column("grade_set", "BIGINT", "number of the set, from 1, unique over all files"),
            _FILE,
            _QUERY,
            _PASSAGE,
            *_GRADER,
            Column("prompt_hash", "VARCHAR", "version of the prompt's words, where recorded"),
            Column("is_rated", "BOOLEAN", "whether the prompt has a scale, else only correct or wrong"),
            Column("asked", "INTEGER", "entries that were asked, the ungraded included"),
            Column("correct", "INTEGER", "entries rated above 0, or answered"),
            Column("ungraded", "INTEGER", "entries without a rating"),
            Column("best_rating", "INTEGER", "highest rating of any entry"),
            Column("relevance_label", "INTEGER", "as the file says; NULL where it does not"),
            Column("model_options", "VARCHAR", "what decides the number, as JSON text; NULL if none"),
        ),
    ),
    Table(
        "ratings",
        "One row for each entry that was asked of a passage. Sets of equal model and prompt are united: "
        "the later rating of an entry counts.",
        (
            _GRADE_SET,
            _FILE,
            _QUERY,
            _PASSAGE,
            _ENTRY,
            *_GRADER,
            Column(
                "rating", "INTEGER", "the rating; 1 or 0 (correct, wrong) without a scale; NULL: ungraded"
            ),
            Column("is_rated", "BOOLEAN", "whether the prompt has a scale"),
            Column("expected", "DOUBLE", "soft grade: the mean of the model's probabilities"),
            Column("margin", "DOUBLE", "probability of the best grade minus the second best"),
            Column("source", "VARCHAR", "where the rating is from, where it was no number in the reply"),
            Column("assignment", "VARCHAR", "of nuggets: `support`, `partial_support`, `not_support`"),
            Column("tokens_cut", "INTEGER", "tokens of the passage that the model did not see"),
            _FAILURE,
        ),
    ),
    Table(
        "answers",
        "One row a reply of a model, as it was given, also of sets whose ratings were replaced.",
        (
            _GRADE_SET,
            _FILE,
            _QUERY,
            _PASSAGE,
            _ENTRY,
            *_GRADER,
            Column("answer", "VARCHAR", "the raw reply"),
            _FAILURE,
        ),
    ),
    Table(
        "bank",
        "One row a question or nugget of the test banks (`--bank`).",
        (
            Column("bank_file", "VARCHAR", "the bank, as it was named"),
            _QUERY,
            Column("entry_id", "VARCHAR", "the question's or nugget's id"),
            Column("entry_kind", "VARCHAR", "`question` or `nugget`"),
            Column("entry_text", "VARCHAR", "its words"),
            Column("facet_id", "VARCHAR", "the facet of the query, if any"),
            Column("facet_text", "VARCHAR", "the facet's words"),
            Column("importance", "VARCHAR", "`vital`, `okay`, or as the bank says"),
            Column("weight", "DOUBLE", "how much the entry counts; 1 unless the bank says otherwise"),
            Column("gold_answers", "VARCHAR[]", "right answers; an empty list: unanswerable"),
        ),
    ),
    Table(
        "runs",
        "One row a line of the run files (`--runs`).",
        (
            Column("run_file", "VARCHAR", "the run file"),
            Column("system", "VARCHAR", "the system: the file's stem"),
            _QUERY,
            _PASSAGE,
            Column("rank", "INTEGER", "as in the file"),
            Column("score", "DOUBLE", "as in the file"),
        ),
    ),
    Table(
        "scores",
        "One row a score of the leaderboards (`--scores`).",
        (
            Column("leaderboard", "VARCHAR", "the leaderboard, as it was named"),
            Column("system", "VARCHAR", "the system"),
            Column("query_id", "VARCHAR", "the query; `all` for a mean over queries"),
            Column("metric", "VARCHAR", "the measure"),
            Column("value", "DOUBLE", "the score"),
        ),
    ),
)

TABLES: dict[TableName, Table] = {table.name: table for table in _TABLES}
"""All tables, in the order in which they are documented."""

OF_GRADED_FILES: frozenset[TableName] = frozenset(
    ("passages", "judgments", "rankings", "grades", "ratings", "answers")
)
"""The tables that graded files fill."""
