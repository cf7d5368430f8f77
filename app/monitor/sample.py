"""What a sampler tells and how a row of it looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

Values = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Sample:
    """All samplers' values at one moment. ``t_monotonic``: seconds of ``time.monotonic``; None means unknown."""

    t_monotonic: float
    values: Values


class Sampler(Protocol):
    """Something that can be asked again and again. Both methods are called from the loop's thread only."""

    @property
    def name(self) -> str:
        """What to call it when it fails."""
        ...

    def sample(self) -> Values:
        """The values now."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class CallableSampler:
    """Any function that returns values as a sampler: the engine's slots, its metrics, a counter of one's own."""

    def __init__(self, name: str, read: Callable[[], Values], on_close: Callable[[], None] = lambda: None) -> None:
        self._name = name
        self._read = read
        self._on_close = on_close

    @property
    def name(self) -> str:
        """The given name."""
        return self._name

    def sample(self) -> Values:
        """What the function returns."""
        return self._read()

    def close(self) -> None:
        """Call ``on_close``."""
        self._on_close()

    @override
    def __repr__(self) -> str:
        return f"CallableSampler({self._name!r})"
