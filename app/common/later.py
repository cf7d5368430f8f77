"""Functions whose module is imported when they are first called.

What stands behind the window is some four hundred modules; a start needs half of them before its first plan. A module
that only calls into another on a user's wish, or in a worker thread, names the function like this::

    if TYPE_CHECKING:
        from app.work.pasting import check_paste
    else:
        check_paste = later("app.work.pasting", "check_paste")

The type checker sees the real function, and the first call pays for the import, in the thread that calls.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def later(module: str, name: str) -> Callable[..., object]:
    """What calls ``name`` of ``module``, a function or a class; not for ``isinstance``, ``match`` or ``except``."""

    def call(*args: object, **options: object) -> object:
        real: Callable[..., object] = getattr(import_module(module), name)
        return real(*args, **options)

    return call
