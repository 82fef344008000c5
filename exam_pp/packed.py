"""Collections for data larger than memory: values in a temporary file, or recomputed in every iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import TypeVar, overload
from weakref import finalize

from exam_pp.errors import OutputError

V = TypeVar("V")

_IN_MEMORY = 8 * 2**20
"""Number of bytes up to which a mapping stays in memory; a larger mapping is in a temporary file."""


class PackedMapping(MutableMapping[str, V]):
    """A mapping that keeps its values as bytes, in a temporary file if they are large.

    ``mapping[key]`` returns a copy of the value; to keep a change of the copy, assign it again. Raises
    OutputError if the temporary file cannot be written.
    """

    def __init__(self, pack: Callable[[V], bytes], unpack: Callable[[bytes], V]) -> None:
        self._pack, self._unpack = pack, unpack
        self._positions: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed with this object
        finalize(self, self._file.close)

    def __setitem__(self, key: str, value: V) -> None:
        data = self._pack(value)
        try:
            self._file.seek(self._end)
            self._file.write(data)
        except OSError as error:
            raise OutputError(f"A temporary file cannot be written: {error.strerror}.") from error
        self._positions[key] = (self._end, len(data))
        self._end += len(data)

    def __getitem__(self, key: str) -> V:
        start, length = self._positions[key]
        self._file.seek(start)
        return self._unpack(self._file.read(length))

    def __contains__(self, key: object) -> bool:
        return key in self._positions

    def __delitem__(self, key: str) -> None:
        del self._positions[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)


class LazySequence(Sequence[V]):
    """A sequence that recomputes its values in every iteration and does not store them.

    Iterate over it in order: ``len`` and indexing compute all values.
    """

    def __init__(self, make: Callable[[], Iterable[V]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[V]:
        return iter(self._make())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> V: ...

    @overload
    def __getitem__(self, index: slice) -> list[V]: ...

    def __getitem__(self, index: int | slice) -> V | list[V]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        """Compare the values, as lists do."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # not hashable, like a list
