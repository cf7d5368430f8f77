"""Frozen dataclasses <-> plain JSON values.

Only what our value types use: dataclasses, tuples, mappings, string enums, numbers, text, bool, None and unions with
None. Unknown keys in a file are ignored (a newer version wrote it), missing ones take the field's default.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """A value of our types as dicts, lists and scalars that ``json.dumps`` takes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], data: Any) -> T:
    """Read a dataclass back. Raises ValueError that names the field when the JSON has the wrong shape."""
    return typing.cast("T", _read(kind, data, kind.__name__))


def _read(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _read_union(kind, data, where)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, data, where)
    if origin is tuple:
        return _read_tuple(kind, data, where)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise ValueError(f"{where}: expected an object")
        _, item = typing.get_args(kind)
        return {str(key): _read(item, value, f"{where}.{key}") for key, value in data.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return _float(data, where)
    if kind is Any:
        return data
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise ValueError(f"{where}: expected {kind.__name__}, found {type(data).__name__}")
    return data


def _float(data: int, where: str) -> float:
    try:
        return float(data)
    except OverflowError as error:
        raise ValueError(f"{where}: too large for a number") from error


def _read_union(kind: Any, data: Any, where: str) -> Any:
    options = typing.get_args(kind)
    if data is None and type(None) in options:
        return None
    errors = []
    for option in options:
        if option is type(None):
            continue
        try:
            return _read(option, data, where)
        except ValueError as error:
            errors.append(str(error))
    raise ValueError(errors[0] if errors else f"{where}: null is not allowed")


def _read_dataclass(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{where}: expected an object")
    hints = _hints(kind)
    values = {
        f.name: _read(hints[f.name], data[f.name], f"{where}.{f.name}")
        for f in dataclasses.fields(kind)
        if f.name in data
    }
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


@functools.cache
def _hints(kind: type) -> Mapping[str, Any]:
    """The types of a class's fields; to resolve them takes far longer than to read a value."""
    return typing.get_type_hints(kind)


def _read_tuple(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, list):
        raise ValueError(f"{where}: expected a list")
    args = typing.get_args(kind)
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_read(args[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    if len(args) != len(data):
        raise ValueError(f"{where}: expected {len(args)} items")
    return tuple(_read(arg, item, f"{where}[{i}]") for i, (arg, item) in enumerate(zip(args, data, strict=True)))
