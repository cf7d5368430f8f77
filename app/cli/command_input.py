"""The command that ``import`` and ``lint`` are asked about, on this machine and for one model."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.cli.arguments import VerbParser, add_devices, model_path
from app.cli.inputs import chosen_engine, device_wishes_of, learned_here, left_out, machine_for
from app.common.problem import Problem, Severity, fail
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.command_import import ImportedCommand, read_command
from app.planner.pasted import Pasted, PasteError, read_pasted, split_program
from app.planner.plan import PlanInputs
from app.planner.tensor_rules import usable_devices
from app.planner.types import Device, DeviceKind, DeviceSet, Wishes
from app.work.companions import with_companions
from app.work.engines import EngineHandle, capabilities_of, engine_problems
from app.work.foreign_settings import read_foreign_file
from app.work.models import open_model
from app.work.planning import plan_inputs
from app.work.reach import listen_problems

_CARD = re.compile(r"(?:CUDA|Vulkan|ROCm|HIP|SYCL|Metal|MUSA|CANN)\d*")


@dataclass(frozen=True, slots=True)
class CommandCase:
    """A command with all that it is judged by. ``problems``: about the paste and the engine, not the command."""

    model: ModelInfo
    hardware: HardwareSnapshot
    engine: EngineHandle | None
    inputs: PlanInputs
    command: ImportedCommand
    problems: tuple[Problem, ...]

    @property
    def program(self) -> str | None:
        """The llama-server's path; None when there is none."""
        return None if self.engine is None else self.engine.binary.path


def add_command_options(parser: VerbParser, *, takes_file: bool = False) -> None:
    """MODEL, where the command comes from, and the devices to judge it by. ``takes_file``: also another program's
    settings."""
    group = parser.group("file")
    group.model()
    group.switch("--stdin")
    if takes_file:
        group.option("--settings", "FILE")
    add_devices(parser)
    parser.takes_command = True


def command_case(options: Namespace, verb: str) -> CommandCase:
    """Read the command and everything around it. Raises ProblemError for bad input."""
    path = model_path(options, verb)
    model = open_model(os.path.abspath(path))  # what is printed is run from any folder
    pasted, notes = _asked(options, model)
    engine = chosen_engine(options)
    hardware = machine_for(options, engine)
    capabilities = capabilities_of(engine)
    command = read_command(pasted.argv, capabilities, pasted.variables)
    wishes, learned = device_wishes_of(options, hardware), learned_here(options).learned
    inputs = plan_inputs(model, hardware, Wishes(), wishes, capabilities, learned=learned)
    command, inputs = with_companions(command, inputs)
    if engine is None and not options.device:
        inputs = replace(inputs, devices=_with_named_cards(inputs.devices, command))
    unset = tuple(Problem("import_variable", Severity.WARNING, {"name": name}) for name in pasted.unset)
    problems = (*notes, *unset, *listen_problems(command.host), *engine_problems(engine), *left_out(options, hardware))
    return CommandCase(model, hardware, engine, inputs, command, problems)


def _asked(options: Namespace, model: ModelInfo) -> tuple[Pasted, tuple[Problem, ...]]:
    """The command, and what was left out of another program's file."""
    file = getattr(options, "settings", None)
    if file is None:
        return _pasted(options), ()
    found = read_foreign_file(Path(file), model.block_count)
    return Pasted(None, found.settings.argv), found.problems


def _pasted(options: Namespace) -> Pasted:
    words: Sequence[str] | None = options.command
    if words is not None and not options.stdin:
        program, argv, variables = split_program(tuple(words))
        if not argv:
            raise fail("import_empty")
        return Pasted(program, argv, variables)
    if not options.stdin:
        raise fail("import_empty")
    try:
        return read_pasted(_standard_input())
    except PasteError as error:
        raise fail(f"import_{error.reason}") from error


def _standard_input() -> str:
    """UTF-8, whatever the console's code page. Raises ``import_not_utf8``."""
    if sys.stdin is None:
        return ""
    raw = getattr(sys.stdin, "buffer", None)
    if raw is None:
        return sys.stdin.read()
    data: bytes = raw.read()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise fail("import_not_utf8") from error


def _with_named_cards(devices: DeviceSet, command: ImportedCommand) -> DeviceSet:
    """Without an engine nobody knows the devices: those that the command names are taken to exist."""
    known = {d.name for d in usable_devices(devices)}
    named = [*(command.device_names or ()), *(rule.buffer for rule in command.rules)]
    missing = [name for name in dict.fromkeys(named) if _CARD.fullmatch(name) and name not in known]
    cards = tuple(Device(name, DeviceKind.GPU, None, None, name, name) for name in missing)
    return replace(devices, off=(*devices.off, *cards))
