"""Conversion of rows of named tuples to pandas data frames and Arrow arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_type_hints, overload

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
