"""Icons, themes and other files that ship with Lanewise.

In a checkout they lie in ``resources/`` beside ``app/``; an installed wheel carries the same files as
``app/_resources``. Names are written with forward slashes and relative to that folder: ``themes/tokens.json``.
"""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path


@functools.cache
def resource_root() -> Path:
    """The folder that holds the resources of this installation."""
    package = Path(str(resources.files("app")))
    installed = package / "_resources"
    return installed if installed.is_dir() else package.parent / "resources"


def resource_path(name: str) -> Path:
    """Where a resource lies on disk, for the libraries that only take a file name.

    Raises FileNotFoundError when it does not exist: a resource that is missing is a packaging mistake, not a problem
    that a user could solve.
    """
    path = resource_root() / name
    if not path.exists():
        raise FileNotFoundError(f"no resource {name!r} in {resource_root()}")
    return path


def resource_text(name: str) -> str:
    """The content of a text resource; all of ours are UTF-8."""
    return resource_path(name).read_text(encoding="utf-8")
