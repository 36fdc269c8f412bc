"""From Python's names and types to the wire's and back: `agent_id` is `agentId`, `from_` is `from`.

Invariant: an answer without a field that its type needs raises `MunimentError` with code `invalid_response`; fields
that the type does not know are left out.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .errors import ServiceError

T = TypeVar("T")


class Unset:
    """The value of an argument that was not given, where None says something."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


def encoded(value: Any) -> Any:
    """As JSON has it; fields of dataclasses that are None are left out, times are ISO 8601."""
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        pairs = {field.name: getattr(value, field.name) for field in fields(value)}
        return given(pairs)
    if isinstance(value, Mapping):
        return {key: encoded(member) for key, member in value.items()}
    # Models of pydantic, as the SDKs of model APIs have them.
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_none=True)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [encoded(item) for item in value]
    return value


def body_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, by their names on the wire; None is kept where UNSET means not given."""
    return {wire_name(name): _member(name, value) for name, value in arguments.items() if value is not UNSET}


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are not None, by their names on the wire."""
    return {wire_name(name): _member(name, value) for name, value in arguments.items() if value is not None}


#: Arguments that are a moment. A `datetime` without a zone is local there, as in Python itself; of `event_date_from`,
#: `event_date_to` and of data it travels as it is.
_MOMENTS = frozenset({"as_of", "expires_at", "now", "sent_at"})


def _member(name: str, value: Any) -> Any:
    """The end of a memory is the one time that the wire has as milliseconds."""
    if name in _MOMENTS and isinstance(value, datetime):
        return round(value.timestamp() * 1_000) if name == "expires_at" else value.astimezone(value.tzinfo).isoformat()
    return encoded(value)


def wire_name(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name.rstrip("_"))


def decoded(kind: type[T], value: Any) -> T:
    return cast(T, _decoded(kind, value, kind.__name__))


def _decoded(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _decoded(arguments[0], value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise _unexpected(place)
        return tuple(_decoded(arguments[0], item, f"{place}[{index}]") for index, item in enumerate(value))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _unexpected(place)
        return {key: _decoded(arguments[1], member, f"{place}.{key}") for key, member in value.items()}
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return value
    if not isinstance(value, dict):
        raise _unexpected(place)
    members = {}
    for field, field_kind, names in _fields_of(kind):
        name = next((name for name in names if name in value), None)
        if name is not None:
            members[field.name] = _decoded(field_kind, value[name], f"{place}.{field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _unexpected(f"{place}.{field.name}")
    return kind(**members)


@cache
def _fields_of(kind: type[Any]) -> tuple[tuple[Field[Any], Any, tuple[str, str]], ...]:
    hints = get_type_hints(kind)
    # A few fields of the wire are in snake case themselves.
    return tuple((field, hints[field.name], (wire_name(field.name), field.name)) for field in fields(kind))


def _unexpected(place: str) -> ServiceError:
    return ServiceError(f"the answer of the service has an unexpected form at {place}", code="invalid_response")
