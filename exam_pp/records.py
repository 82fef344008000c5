"""Base class of records that programs write, decoded by msgspec.

A :class:`StoredRecord` is a frozen struct, which msgspec decodes many times as fast as pydantic a model. Its
class is written like a model: the metaclass derives the struct, and :func:`pydantic_model` a pydantic
model with the same fields. That model names the error of a value, repairs values that only lax readers
accept, such as ids that are numbers, and gives the JSON Schema. Pydantic is imported when a model is needed,
because that takes longer than reading a small file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeVar, get_type_hints
from weakref import WeakSet

import msgspec
from msgspec import NODEFAULT, UNSET
from msgspec.structs import force_setattr

from exam_pp.errors import DataError, sentence

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema

    from exam_pp.models import Record

T = TypeVar("T")
R = TypeVar("R", bound="StoredRecord")

Later = Annotated[T, "not decoded before it is read"]
"""Marks a field that few readers need. Reading a value of another type raises :class:`DataError`."""
Unlisted = Annotated[T, "not in the schema"]
"""Like :data:`Later`, for a key that commands read and that the schema leaves out."""


TOO_DEEP = "has a value that is nested too deeply to be written."


class RecordSource:
    """Bytes that records were read from; ``check`` raises the error of an invalid value, with its place.

    So the error of a value that is decoded later names the file and the line, which records do not keep.
    """

    in_use: ClassVar[WeakSet[RecordSource]] = WeakSet()

    def __init__(self, data: bytes, check: Callable[[], object]) -> None:
        self.data, self.check = data, check
        self.in_use.add(self)


class Added(list[T]):
    """The default value of a list to which Python code may add; it is written if it is not empty."""


class _Slot(NamedTuple):
    """Where a struct keeps a field: the attribute, the key in the file, and whether it is decoded later."""

    name: str
    key: str
    is_later: bool


_BODIES: dict[type, dict[str, Any]] = {}
"""Record class to the body of its pydantic model; fields have the arguments of pydantic's ``Field``."""
_SLOTS: dict[type, dict[str, _Slot]] = {}
"""Record class to its slots, by the names and the file keys of the fields."""
_FIELD = type(msgspec.field())


class _RecordMeta(msgspec.StructMeta):
    """Gives each field that is optional or decoded later a slot and a property.

    The slot is UNSET if the file lacks the key, so that a missing key stays missing, and null stays null. The
    property then returns the default value.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **config: Any) -> Any:
        kinds: dict[str, str] = {}
        model = {key: body.get(key) for key in ("__module__", "__qualname__", "__doc__")}
        attributes: dict[str, str] = {}
        slots_are_plain = True
        known = {key: slot for base in bases for key, slot in _SLOTS.get(base, {}).items()}
        for key, kind in body.get("__annotations__", {}).items():
            if key.startswith("_"):
                attributes[key] = kind
                continue
            default = body.get(key, NODEFAULT)
            field = default if isinstance(default, _FIELD) else msgspec.field(default=default)
            defaults = {"default": field.default, "default_factory": field.default_factory}
            defaults = {kind_of: value for kind_of, value in defaults.items() if value is not NODEFAULT}
            is_later = kind.startswith(("Later[", "Unlisted["))
            slot = _Slot(f"_{key}" if defaults or is_later else key, field.name or key, is_later)
            known |= dict.fromkeys((key, slot.key, slot.name), slot)
            slots_are_plain &= not (is_later or "default_factory" in defaults)
            attributes[slot.name] = "msgspec.Raw" if is_later else kind
            if defaults:
                attributes[slot.name] += " | msgspec.UnsetType"
            if slot.name != key:
                body[slot.name] = msgspec.field(name=slot.key, default=UNSET if defaults else NODEFAULT)
                body[key] = property(_reader(key, slot, **defaults))
            if not kind.startswith("Unlisted["):
                kinds[key] = kind
                is_list = defaults.get("default_factory") in (list, Added)
                model[key] = {"alias": slot.key, **({"default": []} if is_list else defaults)}
        body["__annotations__"] = attributes
        if not slots_are_plain:
            body["__eq__"] = _are_equal
        record = super().__new__(mcs, name, bases, body, **config)
        _BODIES[record], _SLOTS[record] = model | {"__annotations__": kinds}, known
        return record

    def __call__(cls, **values: Any) -> Any:
        """Make a record from Python values; raises :class:`pydantic.ValidationError`."""
        slots = [(_slot(cls, key), value) for key, value in values.items() if value is not UNSET]
        by_key = {slot.key: _raw(value) if slot.is_later else value for slot, value in slots}
        try:
            for slot, value in slots:
                if slot.is_later and not isinstance(value, msgspec.Raw):
                    # What Python code makes is checked at once, before it can be written.
                    msgspec.convert(value, _type_of(cls, slot.name.removeprefix("_"))[0])
            return msgspec.convert(by_key, cls)
        except msgspec.ValidationError:
            return stored(pydantic_model(cls).model_validate(values))


def _are_equal(one: Any, other: object) -> bool:
    """Whether two records are equal, also if undecoded values are spelled differently or lists were made."""
    if type(one) is not type(other):
        return False
    return bool(msgspec.Struct.__eq__(one, other)) or _values(one) == _values(other)


def _values(record: Any) -> dict[str, Any]:
    fields = set_fields(record)
    raw = {key: json.loads(bytes(value)) for key, value in fields.items() if isinstance(value, msgspec.Raw)}
    return fields | raw


def _slot(record: type, key: str) -> _Slot:
    try:
        return _SLOTS[record][key]
    except KeyError:
        raise TypeError(f"{record.__name__} has no field {key!r}") from None


def _raw(value: Any) -> msgspec.Raw:
    if isinstance(value, msgspec.Raw):
        return value
    if isinstance(value, StoredRecord):
        return msgspec.Raw(encode(value))
    from pydantic_core import PydanticSerializationError, to_json  # noqa: PLC0415 - slow to import

    try:
        return msgspec.Raw(to_json(value, inf_nan_mode="constants"))
    except PydanticSerializationError as error:
        raise DataError(TOO_DEEP) from error


def _reader(
    key: str, slot: _Slot, default: None = None, default_factory: Callable[[], Any] | None = None
) -> Callable[[Any], Any]:
    """The function that reads an optional field; the default is None or from a factory."""
    get = attrgetter(slot.name)
    make = default_factory or (lambda: None)
    if slot.is_later:
        return lambda record: make() if (raw := get(record)) is UNSET else _decoded(type(record), key, raw)
    if default_factory is None:
        return lambda record: default if (value := get(record)) is UNSET else value
    if default_factory is list:
        return lambda record: make() if (value := get(record)) is UNSET else value

    def read(record: Any) -> Any:
        if (value := get(record)) is UNSET:
            value = make()
            force_setattr(record, slot.name, value)  # callers may add to it
        return value

    return read


def _decoded(record: type[StoredRecord], key: str, raw: msgspec.Raw) -> Any:
    kind, decoder = _type_of(record, key)
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError:
        return _validated(kind, raw, _SLOTS[record][key].key)


def _validated(kind: Any, raw: msgspec.Raw, field: str) -> Any:
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    try:
        return _adapter(kind).validate_json(bytes(raw), by_alias=True, by_name=False)
    except ValidationError as error:
        for source in [source for source in RecordSource.in_use if bytes(raw) in source.data]:
            source.check()
        first = error.errors(include_url=False, include_input=False)[0]
        raise DataError(sentence(first), field=field) from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to import

    return TypeAdapter(kind)


@cache
def _type_of(record: type[StoredRecord], key: str) -> tuple[Any, msgspec.json.Decoder[Any]]:
    """The type of a field and its decoder."""
    kind: Any = Any
    for base in record.__mro__:
        if key in (kinds := _BODIES.get(base, {}).get("__annotations__", {})):
            names = vars(sys.modules[base.__module__])
            kind = get_type_hints(SimpleNamespace(__annotations__={key: kinds[key]}), names, None, True)[key]
    return kind, msgspec.json.Decoder(kind)


class StoredRecord(msgspec.Struct, metaclass=_RecordMeta, frozen=True, gc=False, kw_only=True):
    """Base class of records that programs write: frozen, with Python names; :func:`replace` changes fields.

    Records are made with Python names or file keys. Decoding drops unknown keys; the bytes that a passage
    was decoded from still have them.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - slow to import

        schema = handler(pydantic_model(cls))
        from_python = core_schema.no_info_before_validator_function(_plain, schema)
        return core_schema.json_or_python_schema(json_schema=schema, python_schema=from_python)


@cache
def pydantic_model(record: type[StoredRecord]) -> type[Record]:
    """The pydantic model with the fields of a class of records."""
    from pydantic import Field  # noqa: PLC0415 - slow to import

    from exam_pp.models import Record  # noqa: PLC0415 - slow to import

    bases = tuple(
        pydantic_model(base) for base in record.__bases__ if base in _SLOTS and base is not StoredRecord
    )
    kinds = _BODIES[record]["__annotations__"]
    body = {key: Field(**value) if key in kinds else value for key, value in _BODIES[record].items()}
    make: Any = type(Record)
    model: type[Record] = make(record.__name__, bases or (Record,), body)
    _RECORDS[model] = record
    return model


_RECORDS: dict[type[Record], type[StoredRecord]] = {}


def stored(value: Any) -> Any:
    """Convert the models of records, also in lists, to the records."""
    if isinstance(value, list | tuple):
        return [stored(item) for item in value]
    if type(value) not in _RECORDS:
        return value
    known, unknown = type(value).model_fields, value.model_extra or {}
    fields = {
        key
        for key in value.model_fields_set & known.keys()
        # An unknown key with the Python name of a field, such as `model`, is no value of the field.
        if key not in unknown or getattr(value, key) != known[key].get_default(call_default_factory=True)
    }
    return _RECORDS[type(value)](**{key: stored(getattr(value, key)) for key in fields})


def _plain(value: Any) -> Any:
    return msgspec.json.decode(encode(value)) if isinstance(value, StoredRecord) else value


def encode(record: StoredRecord) -> bytes:
    """Encode a record as JSON; keys that were never set are not written."""
    return msgspec.json.encode(record)


def replace(record: R, **values: Any) -> R:
    """Return a copy with other values of some fields; UNSET removes the key."""
    slots = [(_slot(type(record), key), value) for key, value in values.items()]
    changes = {
        slot.name: _raw(value) if slot.is_later and value is not UNSET else value for slot, value in slots
    }
    return msgspec.structs.replace(record, **changes)


def is_set(record: StoredRecord, key: str) -> bool:
    """Whether a field has a value, which may be None, in the file or from Python."""
    return getattr(record, _slot(type(record), key).name) is not UNSET


def set_fields(record: StoredRecord) -> dict[str, Any]:
    """The fields of a record that are set, by their keys in the file; no defaults that reading them made."""
    slots = {slot.key: getattr(record, slot.name) for slot in _SLOTS[type(record)].values()}
    return {key: value for key, value in slots.items() if value is not UNSET and not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    if isinstance(value, StoredRecord):
        return not set_fields(value)
    return isinstance(value, Added) and not value


def unknown_keys(record: type[StoredRecord], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a JSON object that a class of records lacks."""
    known = {slot.key for slot in _SLOTS[record].values()}
    return {key: value for key, value in fields.items() if key not in known}
