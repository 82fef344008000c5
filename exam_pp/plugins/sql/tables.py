"""Tables and columns of SQL databases, with the descriptions that users read, and how they are stored.

The tables ``grades``, ``ratings`` and ``answers`` are views of the stored table ``grade_sets``. It has a row
for each set of grades, with lists of its ratings and replies, because a row for each pair would repeat the
ids, the model and the prompt of the set. The lists of entries are in ``entry_lists``, because most sets of a
query have the same entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

SqlType = Literal["VARCHAR", "INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]", "INTEGER[]", "DOUBLE[]"]
TableName = Literal[
    "queries",
    "passages",
    "judgments",
    "rankings",
    "grades",
    "ratings",
    "answers",
    "supports",
    "criteria",
    "games",
    "bank",
    "runs",
    "scores",
]
StoredName = TableName | Literal["stored.grade_sets", "stored.entry_lists"]
"""A table that is filled; of :data:`VIEWS`, only the stored table is."""
SqlValue = str | int | float | bool | list[str] | None
Row = tuple[SqlValue | Sequence[SqlValue], ...]
"""Values in the order of a table's columns."""


class Column(NamedTuple):
    """A column, its type in DuckDB, and its description."""

    name: str
    type: SqlType
    description: str


@dataclass(frozen=True)
class SqlTable:
    """A table, the description of a row, and the columns in order."""

    name: TableName
    description: str
    columns: tuple[Column, ...]


_FILE = Column("file", "VARCHAR", "path of the graded file, as given on the command line")
_QUERY = Column("query_id", "VARCHAR", "id of the query")
_PASSAGE = Column("passage_id", "VARCHAR", "id of the passage")
_SYSTEM = Column("system", "VARCHAR", "name of the system (`method` in the file)")
_GRADE_SET = Column("grade_set", "BIGINT", "`grade_set` of the row in `grades`")
_ENTRY = Column("entry_id", "VARCHAR", "id of the question or nugget; `direct` for a direct grade")
_GRADER = (
    Column("model", "VARCHAR", "model, or `human:NAME`, that graded; NULL if not recorded"),
    Column(
        "prompt_class",
        "VARCHAR",
        "prompt class (`QuestionPromptWithChoices` if the file records none)",
    ),
    Column(
        "kind",
        "VARCHAR",
        "`question`, `nugget` or `direct`; NULL if not recorded",
    ),
)
_PROMPT = Column("prompt_class", "VARCHAR", "prompt class; NULL if not recorded")
_FAILURE = Column("failure", "VARCHAR", "reason of a missing rating; NULL if the request succeeded")

_TABLES = (
    SqlTable(
        "queries",
        "One row per query of any file.",
        (
            _QUERY,
            Column("query_text", "VARCHAR", "text, from `--queries`, `--bank` or the file; else NULL"),
            Column("test_collection", "VARCHAR", "test collection, from the bank"),
        ),
    ),
    SqlTable(
        "passages",
        "One row per passage of a query.",
        (
            _FILE,
            _QUERY,
            _PASSAGE,
            Column("passage_text", "VARCHAR", "text of the passage"),
            Column("line", "INTEGER", "line number in the file, from 1"),
            Column("position", "INTEGER", "position of the passage in its line, from 1"),
        ),
    ),
    SqlTable(
        "judgments",
        "One row per judgment.",
        (
            _FILE,
            _QUERY,
            _PASSAGE,
            Column("relevance", "INTEGER", "relevance; may be negative"),
            Column("judged_query", "VARCHAR", "id of the query or facet that was judged"),
            Column("title_query", "VARCHAR", "`titleQuery` of the judgment in the file"),
        ),
    ),
    SqlTable(
        "rankings",
        "One row per passage and system that returned it, from the graded file.",
        (
            _FILE,
            _QUERY,
            _PASSAGE,
            _SYSTEM,
            Column("rank", "INTEGER", "rank in the file, which starts at 0 or 1"),
            Column("score", "DOUBLE", "score that the system gave the passage"),
            Column("citations", "VARCHAR[]", "ids of documents that this part of an answer cites"),
            Column(
                "role",
                "VARCHAR",
                "`retrieved` or `answer`; if the file does not record it, from the id of the passage",
            ),
            Column("repeat", "INTEGER", "number of the repeat of a system, from 1; null for a single run"),
        ),
    ),
    SqlTable(
        "grades",
        "One row per set of grades: all grades of one passage by one model with one prompt.",
        (
            Column("grade_set", "BIGINT", "number of the set, from 1, unique in all files"),
            _FILE,
            _QUERY,
            _PASSAGE,
            *_GRADER,
            Column("prompt_hash", "VARCHAR", "hash of the prompt's text; NULL if not recorded"),
            Column("is_rated", "BOOLEAN", "true if the prompt has a scale, false for correct or wrong"),
            Column("asked", "INTEGER", "number of graded and ungraded entries"),
            Column("correct", "INTEGER", "number of entries rated above 0, or answered correctly"),
            Column("ungraded", "INTEGER", "number of entries without a rating"),
            Column("best_rating", "INTEGER", "highest rating of all entries"),
            Column("relevance_label", "INTEGER", "relevance label; NULL if not recorded"),
            Column("model_options", "VARCHAR", "options of the model, as JSON text; NULL if not recorded"),
        ),
    ),
    SqlTable(
        "ratings",
        "One row per passage, entry and grader. Sets of grades by the same model and prompt are merged; the "
        "last rating of an entry counts.",
        (
            _GRADE_SET,
            _FILE,
            _QUERY,
            _PASSAGE,
            _ENTRY,
            *_GRADER,
            Column(
                "rating", "INTEGER", "the rating; without a scale 1 (correct) or 0 (wrong); NULL if ungraded"
            ),
            Column("is_rated", "BOOLEAN", "true if the prompt has a scale"),
            Column("expected", "DOUBLE", "soft grade: the expected rating under the model's probabilities"),
            Column("margin", "DOUBLE", "probability of the most likely rating minus that of the second"),
            Column("mass", "DOUBLE", "probability of all labels of the scale together"),
            Column("source", "VARCHAR", "origin of a rating that was not read as a number from the reply"),
            Column("assignment", "VARCHAR", "nuggets only: `support`, `partial_support` or `not_support`"),
            Column("tokens_cut", "INTEGER", "tokens cut from the passage to fit the model's input"),
            _FAILURE,
        ),
    ),
    SqlTable(
        "answers",
        "One row per reply of a model, including replies whose ratings were replaced later.",
        (
            _GRADE_SET,
            _FILE,
            _QUERY,
            _PASSAGE,
            _ENTRY,
            *_GRADER,
            Column("answer", "VARCHAR", "text of the reply, unchanged"),
            _FAILURE,
        ),
    ),
    SqlTable(
        "supports",
        "One row per part of an answer, cited passage and grader: how far the passage supports the part. Of "
        "several grades by the same model and prompt, the last one.",
        (
            _FILE,
            _QUERY,
            Column("passage_id", "VARCHAR", "id of the part of the answer"),
            Column("citation", "VARCHAR", "id of the cited passage"),
            _GRADER[0],
            _PROMPT,
            Column("support", "VARCHAR", "`full_support`, `partial_support`, `no_support`; NULL if ungraded"),
            Column("answer", "VARCHAR", "text of the reply, unchanged"),
            Column("tokens_cut", "INTEGER", "tokens cut from the cited passage to fit the model's input"),
            _FAILURE,
        ),
    ),
    SqlTable(
        "criteria",
        "One row per answer of a system, criterion and grader. Of several ratings by the same model and "
        "prompt, the last one.",
        (
            _FILE,
            _QUERY,
            Column("system", "VARCHAR", "name of the system, with its repeat"),
            _GRADER[0],
            _PROMPT,
            Column("criterion", "VARCHAR", "name of the criterion"),
            Column("rating", "INTEGER", "rating of the answer by the criterion; NULL if ungraded"),
            _FAILURE,
        ),
    ),
    SqlTable(
        "games",
        "One row per game: the answers of two systems to a query, compared by a judge.",
        (
            Column("file", "VARCHAR", "path of the games file, as given on the command line"),
            _QUERY,
            Column("model", "VARCHAR", "model, or `human:NAME`, that decided the game; NULL if not recorded"),
            _PROMPT,
            Column("system_a", "VARCHAR", "name of the system whose answer stood in place A"),
            Column("system_b", "VARCHAR", "name of the system in place B"),
            Column("repeat_a", "INTEGER", "repeat of system A, from 1; NULL for a single run"),
            Column("repeat_b", "INTEGER", "repeat of system B, from 1; NULL for a single run"),
            Column("winner", "VARCHAR", "`A`, `B`, or `C` for a tie; NULL if the game is ungraded"),
            Column(
                "order", "INTEGER", '1 or 2 if the judge compared both orders, else NULL; in SQL `"order"`'
            ),
            Column("decided_by", "VARCHAR", "what decided the game, such as `reply`; NULL if not recorded"),
            Column("words_a", "INTEGER", "number of words in the answer of system A"),
            Column("words_b", "INTEGER", "number of words in the answer of system B"),
            Column("answer", "VARCHAR", "text of the reply, unchanged"),
            Column("failure", "VARCHAR", "reason of an ungraded game; NULL if the request succeeded"),
        ),
    ),
    SqlTable(
        "bank",
        "One row per question or nugget of the test banks (`--bank`).",
        (
            Column("bank_file", "VARCHAR", "path of the bank, as given on the command line"),
            _QUERY,
            Column("entry_id", "VARCHAR", "id of the question or nugget"),
            Column("entry_kind", "VARCHAR", "`question` or `nugget`"),
            Column("entry_text", "VARCHAR", "text of the question or nugget"),
            Column("facet_id", "VARCHAR", "id of the facet; NULL without facets"),
            Column("facet_text", "VARCHAR", "text of the facet; NULL without facets"),
            Column("importance", "VARCHAR", "`vital`, `okay`, or another value in the bank"),
            Column("weight", "DOUBLE", "weight of the entry in scores; 1 by default"),
            Column(
                "gold_answers", "VARCHAR[]", "gold answers; an empty list if the question is unanswerable"
            ),
        ),
    ),
    SqlTable(
        "runs",
        "One row per line of the run files (`--runs`).",
        (
            Column("run_file", "VARCHAR", "path of the run file"),
            Column("system", "VARCHAR", "name of the system: the file name without extension"),
            _QUERY,
            _PASSAGE,
            Column("rank", "INTEGER", "rank in the file"),
            Column("score", "DOUBLE", "score in the file"),
        ),
    ),
    SqlTable(
        "scores",
        "One row per score in the leaderboards (`--scores`).",
        (
            Column("leaderboard", "VARCHAR", "path of the leaderboard, as given on the command line"),
            Column("system", "VARCHAR", "name of the system"),
            Column("query_id", "VARCHAR", "id of the query; `all` for the mean over queries"),
            Column("metric", "VARCHAR", "name of the measure"),
            Column("value", "DOUBLE", "the score"),
        ),
    ),
)

TABLES: dict[TableName, SqlTable] = {table.name: table for table in _TABLES}
"""All tables, in the order in which they are documented."""

_ENTRY_LISTS = (
    Column("list", "INTEGER", "number of the list, from 1"),
    Column("entry_id", "VARCHAR[]", "ids of the entries"),
)
_STORED_SETS = (
    *TABLES["grades"].columns,
    Column("pairs", "INTEGER", "number of rows in ratings"),
    Column("pair_list", "INTEGER", "number of the list of their entries"),
    Column("rating", "INTEGER[]", "their ratings, in the order of the list; likewise the next columns"),
    Column("expected", "DOUBLE[]", "expected ratings"),
    Column("margin", "DOUBLE[]", "margins"),
    Column("mass", "DOUBLE[]", "masses"),
    Column("source", "VARCHAR[]", "origins of the ratings"),
    Column("assignment", "VARCHAR[]", "nugget assignments"),
    Column("tokens_cut", "INTEGER[]", "tokens cut"),
    Column("failure", "VARCHAR[]", "reasons of missing ratings"),
    Column("replies", "INTEGER", "number of rows in answers"),
    Column("reply_list", "INTEGER", "number of the list of their entries"),
    Column("answer", "VARCHAR[]", "texts of the replies, in the order of the list"),
    Column("reply_failure", "VARCHAR[]", "reasons of missing ratings"),
)
"""A list is NULL if all its values are."""
_LISTS = {column.name for column in (*_ENTRY_LISTS, *_STORED_SETS) if column.type.endswith("[]")}


@dataclass(frozen=True)
class View:
    """A table that is a view of the sets of grades, with ``count`` rows for each set, else one.

    The entries of the rows are the list with the number ``entries``. ``renamed`` are columns whose values are
    in a list of another name.
    """

    count: str = ""
    entries: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)

    def sql(self, table: SqlTable) -> str:
        """Return the statement of the view; lists that a query does not use are not read."""
        sources = {name: self.renamed.get(name, name) for name in (column.name for column in table.columns)}
        columns = ", ".join(f"{s}[i] AS {n}" if s in _LISTS else n for n, s in sources.items())
        if not self.count:
            return f"SELECT {columns} FROM stored.grade_sets"  # noqa: S608 - constant names
        return (
            f"SELECT {columns} FROM (SELECT *, unnest(range(1, {self.count} + 1)) AS i "  # noqa: S608 - constant names
            f"FROM stored.grade_sets JOIN stored.entry_lists ON {self.entries} = list)"
        )


VIEWS: Mapping[TableName, View] = {
    "grades": View(),
    "ratings": View("pairs", "pair_list"),
    "answers": View("replies", "reply_list", {"failure": "reply_failure"}),
}


STORED: Mapping[StoredName, Sequence[Column]] = {
    **{name: table.columns for name, table in TABLES.items() if name not in VIEWS},
    "stored.entry_lists": _ENTRY_LISTS,
    "stored.grade_sets": _STORED_SETS,
}
"""The tables that are filled, with their columns."""

OF_GRADED_FILES: frozenset[TableName] = frozenset(
    ("passages", "judgments", "rankings", "grades", "ratings", "answers", "supports", "criteria", "games")
)
"""The tables that graded files and games files fill."""
