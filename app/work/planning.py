"""From a snapshot, a model and wishes to a plan: what the window and the command line both call."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath

from app.common.capabilities import Capabilities
from app.common.problem import Problem, ProblemError, fail
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.calibration import Calibration
from app.planner.devices import DeviceWishes, device_set
from app.planner.host_memory import RamLimits
from app.planner.learned import NOTHING_LEARNED, Learned
from app.planner.learned_devices import learning_keys, with_learned
from app.planner.moves import move
from app.planner.plan import PlanInputs, make_plan
from app.planner.speed_runs import calibration_of
from app.planner.types import DeviceSet, Placement, Plan, Refusal, Wishes
from app.work.companions import read_companions, with_problems
from app.work.file_places import place_problems
from app.work.speed_history import machine_of

DEFAULT_PORT = 8080


def plan_inputs(
    model: ModelInfo,
    snapshot: HardwareSnapshot,
    wishes: Wishes,
    device_wishes: DeviceWishes,
    capabilities: Capabilities,
    port: int = DEFAULT_PORT,
    api_key: str | None = None,
    learned: Learned = NOTHING_LEARNED,
) -> PlanInputs:
    """Everything that a plan follows from, on this machine. ``learned``: what this very machine has taught; nothing
    for a saved one."""
    reserve = wishes.reserve_mib if wishes.reserve_mib is not None else device_wishes.reserve_mib
    keep = wishes.keep_ram_mib if wishes.keep_ram_mib is not None else device_wishes.keep_ram_mib
    devices = device_set(snapshot, replace(device_wishes, reserve_mib=reserve, keep_ram_mib=keep))
    return PlanInputs(
        model=model,
        devices=with_learned(devices, snapshot, learned, capabilities.build or "", model.architecture),
        wishes=wishes,
        capabilities=capabilities,
        n_threads=wishes.n_threads or snapshot.cpu.recommended_threads,
        port=port,
        api_key=api_key,
        alias=alias_of(model),
        calibration=calibration_here(learned, snapshot, devices, capabilities.build or ""),
        files=with_problems(read_companions(wishes, model), place_problems(model.path, capabilities)),
        ram_limits=RamLimits(snapshot.memory.commit_free_bytes, cards_count=snapshot.memory.commits_cards),
    )


def calibration_here(
    learned: Learned, snapshot: HardwareSnapshot, devices: DeviceSet, engine: str
) -> Calibration | None:
    """The speed model's rates from runs that were measured on this very computer; None before the first."""
    if not learned.speeds:
        return None
    return calibration_of(learned.speeds, machine_of(snapshot), engine, learning_keys(devices, snapshot), devices)


def alias_of(model: ModelInfo) -> str:
    """The name under which other programs see the model: the file's, without the split suffix."""
    stem = PurePath(model.path).name.removesuffix(".gguf")
    return re.sub(r"-\d{5}-of-\d{5}$", "", stem)


def place_all(
    plan: Plan, model: ModelInfo, moves: tuple[tuple[str, str], ...]
) -> tuple[Placement, tuple[Problem, ...]]:
    """The placement after ``ID=DEVICE`` moves in order (``--place``), and what each took along (``move_snapped_*``).

    Raises ProblemError when the engine cannot express one.
    """
    placement = plan.placement
    notes: list[Problem] = []
    for card_id, device in moves:
        result = move(model, plan.devices, placement, (card_id,), device)
        if isinstance(result, Refusal):
            raise ProblemError(result.problem)
        placement = result.placement
        if result.note is not None:
            notes.append(result.note)
    return placement, tuple(notes)


def plan_with_moves(inputs: PlanInputs, moves: tuple[tuple[str, str], ...] = ()) -> Plan:
    """The preset's plan, then the user's moves on top."""
    return plan_and_notes(inputs, moves)[0]


def plan_and_notes(
    inputs: PlanInputs, moves: tuple[tuple[str, str], ...] = (), placement: Placement | None = None
) -> tuple[Plan, tuple[Problem, ...]]:
    """``plan_with_moves``, and for every move that was snapped a note of what went along. ``placement``: start from
    this one (a saved plan) instead of the preset's."""
    plan = make_plan(inputs, placement, is_edited=placement is not None)
    if not moves:
        return plan, ()
    placement, notes = place_all(plan, inputs.model, moves)
    return make_plan(replace(inputs, wishes=plan.wishes), placement, is_edited=True), notes


def parse_place(text: str) -> tuple[str, str]:
    """``experts:12-31=RAM`` -> (id, device). Raises ProblemError ``bad_place``."""
    card_id, equals, device = text.partition("=")
    if not equals or not card_id or not device:
        raise fail("bad_place", text=text)
    return card_id.strip(), device.strip()
