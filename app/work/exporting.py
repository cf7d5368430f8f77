"""The plan's command as text for a shell, as a script file that runs exactly it, as a plan file or a router preset."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.common.capabilities import Capabilities
from app.common.later import later
from app.common.problem import Problem, Severity, fail
from app.common.whole_file import write_whole
from app.hardware.types import CpuInfo
from app.model.types import ModelInfo
from app.planner.argv import redact
from app.planner.other_exports import SwapValueError, llama_swap_entry, moved_per_token_bytes, transformers_script
from app.planner.plan import PlanInputs
from app.planner.router_preset import PresetValueError, router_preset
from app.planner.scripts import script
from app.planner.shells import Shell, length_problem, quote_command
from app.planner.types import Plan
from app.words import say, say_problem
from app.work.pinning import UNPINNED, ScriptPinning, script_pinning
from app.work.planning import alias_of
from app.work.stress_stamp import StressStamp

if TYPE_CHECKING:
    from app.work.plan_file import plan_text
else:
    plan_text = later("app.work.plan_file", "plan_text")

SERVER = "llama-server"
"""What is written where no engine is known yet: found on PATH by whoever runs the command."""

SCRIPT_SHELLS: Mapping[str, str] = {".bat": "cmd", ".ps1": "powershell", ".sh": "bash"}
"""File name ending -> the shell that the script is written for."""


OTHER_KINDS: Mapping[str, str] = {".json": "plan", ".ini": "preset", ".yaml": "llama-swap", ".py": "transformers"}
"""File name ending -> what else can be written."""


def export_any(
    path: Path, kind: str, program: str | None, plan: Plan, inputs: PlanInputs, cpu: CpuInfo | None = None
) -> tuple[Problem, ...]:
    """Write the plan as a ``plan``, ``preset``, ``llama-swap`` or ``transformers`` file, or as a script for the shell
    ``kind``, which pins the engine to the cores of ``cpu`` that a launch would. What there is to know about the file
    is the result. Raises ProblemError like the functions below."""
    model, capabilities = inputs.model, inputs.capabilities
    if kind == "plan":
        export_plan(path, plan, model, capabilities)
    elif kind == "preset":
        export_preset(path, plan, alias_of(model), capabilities)
    elif kind == "llama-swap":
        export_llama_swap(path, program, plan.argv, alias_of(model))
    elif kind == "transformers":
        copies = Problem(
            "transformers_copies", Severity.WARNING, {"n_bytes": moved_per_token_bytes(model, plan.placement)}
        )
        export_transformers(path, plan, model, [say_problem(copies), say("export.not_the_gguf")])
        return (copies,)
    else:
        export_script(path, program, plan.argv, kind, script_pinning(plan, cpu, kind))
        return length_remarks(command_text(program, plan.argv, kind), kind)
    return ()


def command_text(program: str | None, argv: Sequence[str], shell: str) -> str:
    """The whole command for ``cmd``, ``powershell`` (5.1), ``pwsh`` or ``bash``; the program receives exactly ``argv``.

    ``program`` None: no engine is known. Raises ProblemError ``shell_cannot_carry`` (a line break in cmd).
    """
    try:
        return quote_command(program or SERVER, argv, Shell(shell))
    except ValueError as error:
        raise fail("shell_cannot_carry", shell=shell) from error


def length_remarks(command: str, shell: str) -> tuple[Problem, ...]:
    """A warning, where this shell would cut or refuse a command so long (``LONGEST``); it is told, not shortened."""
    found = length_problem(command, Shell(shell))
    return () if found is None else (replace(found, severity=Severity.WARNING),)


def export_script(
    path: Path, program: str | None, argv: Sequence[str], shell: str, pinned: ScriptPinning = UNPINNED
) -> None:
    """Write the script whole, or leave an older file as it was. It clears the engine's variables and gives it a
    private config folder, so that nothing but this command decides what runs. One that holds a key is for the user's
    own eyes.

    Raises ProblemError ``export_failed`` or ``shell_cannot_carry``.
    """
    try:
        made = script(program or SERVER, argv, Shell(shell), pinned.comments, pinned.pinning)
    except UnicodeEncodeError as error:
        raise fail("export_failed", path=str(path), why=error.reason) from error
    except ValueError as error:
        raise fail("shell_cannot_carry", shell=shell) from error
    has_secret = redact(tuple(argv)) != tuple(argv)
    mode = (0o700 if has_secret else 0o777) if made.is_executable else (0o600 if has_secret else 0o666)
    _write_whole(path, made.data, mode)


def export_plan(
    path: Path,
    plan: Plan,
    model: ModelInfo,
    capabilities: Capabilities,
    engine_sha256: str | None = None,
    stamp: StressStamp | None = None,
) -> None:
    """Write the plan as a file that ``--plan`` and the window open, with the hash of its engine where that is known,
    and the stamp of its stress run where there was one.

    Raises ProblemError ``export_failed``.
    """
    _write_text(path, plan_text(plan, model, capabilities, engine_sha256, stamp))


def export_preset(path: Path, plan: Plan, section: str, capabilities: Capabilities) -> None:
    """Write a router preset (``llama-server --models-preset FILE``) with one section for this plan.

    Raises ProblemError ``export_failed`` or ``preset_cannot_carry``.
    """
    try:
        text = router_preset(plan.argv, section, capabilities)
    except PresetValueError as error:
        raise fail("preset_cannot_carry", option=error.option) from error
    _write_text(path, text)


def export_llama_swap(path: Path, program: str | None, argv: Sequence[str], name: str) -> None:
    """Write a llama-swap configuration with this model. Raises ProblemError ``export_failed`` or
    ``swap_cannot_carry``."""
    try:
        text = llama_swap_entry(program or SERVER, argv, name, for_windows=sys.platform == "win32")
    except SwapValueError as error:
        raise fail("swap_cannot_carry", text=str(error)) from error
    _write_text(path, text, 0o600 if redact(tuple(argv)) != tuple(argv) else 0o666)


def export_transformers(path: Path, plan: Plan, model: ModelInfo, comments: Sequence[str]) -> None:
    """Write the article's plan C as a script for transformers. Raises ProblemError ``export_failed``."""
    _write_text(path, transformers_script(model, plan.placement, comments))


def _write_text(path: Path, text: str, mode: int = 0o666) -> None:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise fail("export_failed", path=str(path), why=error.reason) from error
    _write_whole(path, data, mode)


def _write_whole(path: Path, data: bytes, mode: int) -> None:
    """All of it, or the older file stays."""
    try:
        write_whole(path, data, mode=mode)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise fail("export_failed", path=str(path), why=why) from error
