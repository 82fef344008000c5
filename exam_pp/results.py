"""Row types of results, as tables that convert to data frames: scores, qrels, run lines, leaderboards."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    TypeVar,
    get_args,
    get_type_hints,
    overload,
)

from exam_pp.errors import MissingExtraError

if TYPE_CHECKING:
    import nanoarrow
    import pandas


R = TypeVar("R", bound=tuple[Any, ...])

_ARROW = {str: "string", int: "int64", float: "float64", bool: "bool_"}
_PANDAS = {int: "int64", float: "float64", bool: "bool"}


class Tabular(Sequence[R]):
    """A sequence of named tuples of type ``row_type``, whose fields are the columns of a data frame.

    A missing value is None in a row. In a data frame it is NaN or ``<NA>``, in Arrow null.
    """

    row_type: ClassVar[type[tuple[Any, ...]]]

    def to_pandas(self) -> pandas.DataFrame:
        """Convert the rows to a data frame with one column per field."""
        try:
            import pandas  # noqa: PLC0415 - optional
        except ImportError:
            raise MissingExtraError("to_pandas()", "pandas") from None
        columns = {}
        for name, type_, optional, values in self._typed_columns():
            dtype = "Int64" if optional and type_ is int else _PANDAS.get(type_)
            columns[name] = pandas.Series(list(values), dtype=dtype)
        return pandas.DataFrame(columns)

    def to_arrow(self) -> nanoarrow.Array:
        """Convert the rows to an Arrow struct array with one field per column.

        Every Arrow library reads it without a copy: ``pyarrow.table(rows.to_arrow())``,
        ``polars.from_arrow(...)``, ``duckdb.from_arrow(...)``.
        """
        import nanoarrow  # noqa: PLC0415 - slow to import

        fields, children = {}, []
        for name, type_, _, values in self._typed_columns():
            fields[name] = getattr(nanoarrow, _ARROW[type_])()
            children.append(nanoarrow.c_array(values, fields[name]))
        schema = nanoarrow.struct(fields)
        return nanoarrow.Array(nanoarrow.c_array_from_buffers(schema, len(self), [None], children=children))

    def _typed_columns(self) -> Iterator[tuple[str, type, bool, Sequence[Any]]]:
        """Yield the name, the type, whether values may be missing, and the values of every column."""
        hints = get_type_hints(self.row_type)
        columns: list[Sequence[Any]] = list(zip(*self, strict=True)) or [()] * len(hints)
        for (name, hint), values in zip(hints.items(), columns, strict=True):
            types = get_args(hint) or (hint,)
            (type_,) = (item for item in types if item is not NoneType)
            yield name, type_, NoneType in types, values


class Rows(Tabular[R], Generic[R]):
    """A :class:`Tabular` that keeps its rows in a list."""

    def __init__(self, rows: Iterable[R] = ()) -> None:
        self._rows = list(rows)

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> list[R]: ...

    def __getitem__(self, index: int | slice) -> R | list[R]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._rows!r})"


ALL_QUERIES = "all"
"""Query id of means over queries, as in the output of trec_eval."""

OVERALL_SYSTEM = "_overall_"
"""Name of the artificial system that returns every graded passage: the upper bound of Rubric-Cover."""


ANSWERED = "Answered"
"""Measure of answered questions: 1 for an answer, 0 for an answer that declines."""


class Score(NamedTuple):
    """The value of a metric for one system on one query, or its mean (query id ``all``)."""

    system: str
    query_id: str
    metric: str
    value: float


class Scores(Tabular[Score]):
    """A table of scores that is stored by column: 20 bytes per score, and every name once."""

    row_type = Score

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        self._names: dict[str, int] = {}
        self._columns = array("I"), array("I"), array("I")
        self._values = array("d")
        self.extend(scores)

    def extend(self, scores: Iterable[Score]) -> None:
        """Append scores."""
        numbers = self._names
        systems, query_ids, metrics = self._columns
        for system, query_id, metric, value in scores:
            systems.append(numbers.setdefault(system, len(numbers)))
            query_ids.append(numbers.setdefault(query_id, len(numbers)))
            metrics.append(numbers.setdefault(metric, len(numbers)))
            self._values.append(value)

    def __iter__(self) -> Iterator[Score]:
        names = list(self._names)
        for system, query_id, metric, value in zip(*self._columns, self._values, strict=True):
            yield Score(names[system], names[query_id], names[metric], value)

    @overload
    def __getitem__(self, index: int) -> Score: ...

    @overload
    def __getitem__(self, index: slice) -> list[Score]: ...

    def __getitem__(self, index: int | slice) -> Score | list[Score]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        names = list(self._names)
        system, query_id, metric = (names[column[index]] for column in self._columns)
        return Score(system, query_id, metric, self._values[index])

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Compare the rows, as lists do."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # not hashable, like a list


class Qrel(NamedTuple):
    """One line of a qrels file; a mean of several labels may have a fraction."""

    query_id: str
    passage_id: str
    relevance: float

    @property
    def whole(self) -> int:
        """The label without its fraction, as trec_eval reads it."""
        return int(self.relevance)


class SubtopicQrel(NamedTuple):
    """One line of a qrels file with subtopics, as TREC's ndeval reads it."""

    query_id: str
    subtopic: str
    passage_id: str
    relevance: int


class RunLine(NamedTuple):
    """One line of a run file; ``system`` is the stem of the file name or the tag."""

    query_id: str
    passage_id: str
    rank: int
    score: float
    system: str


def best_first(lines: Iterable[RunLine]) -> list[RunLine]:
    """Order the lines of a ranking by rank, equal ranks by descending score, then as they are."""
    return sorted(lines, key=lambda line: (line.rank, -line.score))


class Grade(NamedTuple):
    """The rating that a model with a prompt gave a passage for one bank entry.

    ``entry_id`` is ``direct`` for a direct grade. ``rating`` is 1 (correct) or 0 (wrong) for prompts without
    a scale. ``expected`` is the expected rating (soft grade); None if the file has no probabilities.
    """

    query_id: str
    passage_id: str
    entry_id: str
    model: str
    prompt_class: str
    rating: int
    expected: float | None


class Grades(Rows[Grade]):
    """A table of grades; ungraded pairs have no row."""

    row_type = Grade


class LabelAgreement(NamedTuple):
    """Agreement of two sets of labels on their common passages.

    A coefficient of 1 is perfect agreement, 0 is chance agreement, None is undefined.

    Attributes:
        passages: Number of common passages.
        kappa: Cohen's κ.
        linear_kappa: Cohen's κ with linear weights.
        quadratic_kappa: Cohen's κ with quadratic weights.
        ordinal_alpha: Krippendorff's α for ordinal labels.
    """

    passages: int
    kappa: float | None
    linear_kappa: float | None
    quadratic_kappa: float | None
    ordinal_alpha: float | None


class LeaderboardRow(NamedTuple):
    """The mean of one metric for one system, with its uncertainty.

    An attribute is None if it was not requested or is undefined.

    ``rank_low``: Best rank in the confidence interval; 1 is the best system. ``letters``: Significance
    letters; systems that share a letter do not differ significantly.
    """

    system: str
    metric: str
    mean: float
    stderr: float | None
    queries: int
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    letters: str | None = None
    worst_case: float | None = None
    best_case: float | None = None
    order_open: bool = False


class Leaderboard(Rows[LeaderboardRow]):
    """A row for each metric and system, best system first; the upper bound ``_overall_`` comes last.

    Data frames have the systems alone.

    Attributes:
        notes: Sentences about the data that affect how the numbers are read.
        verdict: Who is better by the first metric, in a sentence or two; empty without intervals.
    """

    row_type = LeaderboardRow

    def __init__(
        self, rows: Iterable[LeaderboardRow] = (), notes: Iterable[str] = (), verdict: str = ""
    ) -> None:
        super().__init__(rows)
        self.notes = list(notes)
        self.verdict = verdict

    @property
    def metrics(self) -> list[str]:
        """The metrics, in order of appearance."""
        return list(dict.fromkeys(row.metric for row in self))

    def to_pandas(self) -> pandas.DataFrame:
        """The systems as a data frame, without the upper bound; see :meth:`Tabular.to_pandas`."""
        return super(Leaderboard, self._systems()).to_pandas()

    def to_arrow(self) -> nanoarrow.Array:
        """The systems as an Arrow array, without the upper bound; see :meth:`Tabular.to_arrow`."""
        return super(Leaderboard, self._systems()).to_arrow()

    def _systems(self) -> Leaderboard:
        return Leaderboard(row for row in self if row.system != OVERALL_SYSTEM)

    def _first(self) -> list[tuple[str, ...]]:
        """The first metric as a table with a header."""
        rows = [row for row in self._systems() if row.metric == self.metrics[0]]
        return [("system", *self.metrics[:1], "interval", "place"), *map(_cells, rows)]

    def __repr__(self) -> str:
        """The verdict and the first metric as text."""
        table = self._first()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        return "\n".join([*([self.verdict, ""] if self.verdict else []), *lines])

    def _repr_html_(self) -> str:
        """The verdict and the first metric as HTML, for notebooks."""
        head, *rows = ([escape(cell) for cell in row] for row in self._first())
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        said = f"<p>{escape(self.verdict)}</p>" if self.verdict else ""
        names = f"<tr><th>{'</th><th>'.join(head)}</th></tr>"
        return f"{said}<table><thead>{names}</thead><tbody>{body}</tbody></table>"

    def means(self, metric: str | None = None) -> dict[str, float]:
        """Means of all systems, without the upper bound ``_overall_``.

        Args:
            metric: A metric of :attr:`metrics`. None: the first metric.

        Returns:
            System to mean, best system first.

        Raises:
            KeyError: The leaderboard does not have the metric.
        """
        chosen = self.metrics[0] if metric is None else metric
        if chosen not in self.metrics:
            raise KeyError(chosen)
        return {row.system: row.mean for row in self if row.metric == chosen and row.system != OVERALL_SYSTEM}


def _cells(row: LeaderboardRow) -> tuple[str, str, str, str]:
    interval = "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
    place = "" if row.rank_low is None else str(row.rank_low)
    place += f" to {row.rank_high}" if row.rank_high != row.rank_low else ""
    return row.system, f"{row.mean:.3f}", interval, place
