"""Typed look-ups in a header's metadata, where every value may have the wrong type."""

from __future__ import annotations

from collections.abc import Mapping

from app.model.types import MetaValue

_MAX_REASONABLE = 1 << 40


class Meta:
    """Metadata of one model; keys are given without the ``<architecture>.`` in front of them."""

    def __init__(self, values: Mapping[str, MetaValue], architecture: str) -> None:
        self._values = values
        self._prefix = architecture + "."

    def integer(self, key: str) -> int | None:
        """A whole number that is not negative, else None."""
        return _integer(self._values.get(self._prefix + key))

    def integers(self, key: str, n: int) -> tuple[int, ...] | None:
        """One number per block from a scalar or an array, as ``get_key_or_arr`` does (llama-model-loader.cpp:480-530).

        The engine refuses arrays of the wrong length; here a short one repeats its last value.
        """
        value = self._values.get(self._prefix + key)
        if not isinstance(value, tuple):
            single = _integer(value)
            return None if single is None else (single,) * n
        numbers = [_integer(item) for item in value[:n]]
        known = [number for number in numbers if number is not None]
        if not known or len(known) != len(numbers):
            return None
        return tuple(known) + (known[-1],) * (n - len(known))

    def flags(self, key: str, n: int) -> tuple[bool, ...] | None:
        """One flag per block from an array only (``get_arr``); missing ones are false."""
        value = self._values.get(self._prefix + key)
        if not isinstance(value, tuple) or any(isinstance(item, (str, float)) for item in value):
            return None
        return tuple(bool(item) for item in value[:n]) + (False,) * (n - len(value))


def _integer(value: MetaValue | None) -> int | None:
    if isinstance(value, (bool, int)) and 0 <= value <= _MAX_REASONABLE:
        return int(value)
    return None
