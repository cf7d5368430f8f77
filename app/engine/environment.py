"""The environment that the engine is started with: nothing in it may override the command line that we show."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from app.common.problem import fail

_OVERRIDING = ("LLAMA_ARG_", "LLAMA_LOG_")


def engine_environment(home: Path, api_key: str | None = None) -> dict[str, str]:
    """This process's variables without the engine's own ones, with ``home`` as the engine's empty config folder.

    ``LLAMA_ARG_*`` and the user's ``llama.cpp/config.ini`` are applied before the command line, and for ``-ot`` the
    first hit wins (common/arg.cpp:723), so a plan would silently not be what runs. The key travels in ``LLAMA_API_KEY``
    because every user of a machine can read command lines. ggml's crash handler, which starts gdb, is switched off.
    Where ``home`` cannot be made (a disk that is read-only), an empty temporary folder serves until this process ends.
    Raises ProblemError ``engine_home_failed`` when that cannot be made either.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        try:
            home = Path(_spare_home().name)
        except OSError:
            raise fail("engine_home_failed", path=str(home), why=error.strerror or str(error)) from error
    variables = {name: value for name, value in os.environ.items() if not _overrides(name)}
    variables["APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"] = str(home)
    variables["GGML_NO_BACKTRACE"] = "1"
    if api_key is not None:
        variables["LLAMA_API_KEY"] = api_key
    return variables


@cache
def _spare_home() -> tempfile.TemporaryDirectory[str]:
    """One for the process; it goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="lanewise-engine-home-", ignore_cleanup_errors=True)


def _overrides(name: str) -> bool:
    return name.upper().startswith(_OVERRIDING) or name.upper() == "LLAMA_API_KEY"
