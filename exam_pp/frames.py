"""Rows of named tuples as pandas data frames and Arrow tables."""

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
    """A sequence of named tuples of one type, ``row_type``, whose fields are the columns of a data frame.

    A missing value is None in a row; in a data frame it is NaN, ``<NA>`` or null, by the column's type.
    """

    row_type: ClassVar[type[tuple[Any, ...]]]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame, one column a field.

        Returns:
            Columns of strings, ``int64`` (``Int64`` where values can be missing), ``float64`` or ``bool``.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas  # noqa: PLC0415 - optional
        except ImportError:
            raise MissingExtraError("to_pandas()", "pandas") from None
        columns = {}
        for name, kind, optional, values in self._typed_columns():
            dtype = "Int64" if optional and kind is int else _PANDAS.get(kind)
            columns[name] = pandas.Series(list(values), dtype=dtype)
        return pandas.DataFrame(columns)

    def to_arrow(self) -> nanoarrow.Array:
        """The rows as an Arrow struct array, one field a column.

        Any Arrow library takes it without a copy: ``pyarrow.table(rows.to_arrow())``,
        ``polars.from_arrow(...)``, ``duckdb.from_arrow(...)``.

        Returns:
            Fields of type ``string``, ``int64``, ``double`` or ``bool``; missing values are null.
        """
        import nanoarrow  # noqa: PLC0415 - slow to import

        fields, children = {}, []
        for name, kind, _, values in self._typed_columns():
            fields[name] = getattr(nanoarrow, _ARROW[kind])()
            children.append(nanoarrow.c_array(values, fields[name]))
        schema = nanoarrow.struct(fields)
        return nanoarrow.Array(nanoarrow.c_array_from_buffers(schema, len(self), [None], children=children))

    def _typed_columns(self) -> Iterator[tuple[str, type, bool, Sequence[Any]]]:
        """Name, type, whether values may be missing, and values of every column."""
        hints = get_type_hints(self.row_type)
        columns: list[Sequence[Any]] = list(zip(*self, strict=True)) or [()] * len(hints)
        for (name, hint), values in zip(hints.items(), columns, strict=True):
            kinds = get_args(hint) or (hint,)
            (kind,) = (kind for kind in kinds if kind is not NoneType)
            yield name, kind, NoneType in kinds, values


class Rows(Tabular[R], Generic[R]):
    """A :class:`Tabular` that holds its rows in a list."""

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
