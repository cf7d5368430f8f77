"""The verbs of the command line. Importing this costs nothing: a verb's module is loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Protocol, cast

VERBS: Mapping[str, str] = {
    "machine": "app.cli.machine_verb",
    "models": "app.cli.models_verb",
    "download": "app.cli.download_verb",
    "inspect": "app.cli.inspect_verb",
    "plan": "app.cli.plan_verb",
    "fits": "app.cli.fits_verb",
    "command": "app.cli.command_verb",
    "import": "app.cli.import_verb",
    "lint": "app.cli.lint_verb",
    "verify": "app.cli.verify_verb",
    "launch": "app.cli.launch_verb",
    "stress": "app.cli.stress_verb",
    "export": "app.cli.export_verb",
    "engines": "app.cli.engines_verb",
    "doctor": "app.cli.doctor_verb",
    "selftest": "app.cli.selftest_verb",
}
"""Verb -> the module that has ``add_options(parser)`` and ``run(options) -> exit code``."""


class Verb(Protocol):
    """What a verb's module offers."""

    add_options: Callable[..., None]
    run: Callable[..., int]


def load_verb(name: str) -> Verb:
    """Import the module of a verb."""
    import importlib

    module: ModuleType = importlib.import_module(VERBS[name])
    return cast("Verb", module)
