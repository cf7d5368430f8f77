"""From options to a plan: the model, the machine, the engine and the wishes of ``plan`` and its kin."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path

from app.cli.arguments import model_path
from app.cli.values import split_arguments
from app.common.paths import app_paths
from app.common.problem import Problem, Severity, fail
from app.engine.devices import check_rpc_servers, list_devices
from app.hardware.devices import with_engine_devices
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.devices import DeviceWishes, usable_devices
from app.planner.learned import NOTHING_LEARNED
from app.planner.placement import in_use
from app.planner.plan import PlanInputs
from app.planner.types import RAM, KvHome, Placement, Plan, Wishes
from app.planner.wish_options import WISH_OPTIONS
from app.work.bandwidth_store import with_known_bandwidth
from app.work.companions import with_whole_paths
from app.work.engines import EngineHandle, capabilities_of, engine_problems, open_engine
from app.work.learned import LearnedStore
from app.work.learned_memory import LoadedLearning, load_learned
from app.work.models import open_model
from app.work.plan_file import SavedPlan, read_plan_file
from app.work.plan_opening import open_plan
from app.work.planning import DEFAULT_PORT, parse_place, plan_and_notes, plan_inputs

_RUN_ELSEWHERE = ("command", "export")
"""Verbs whose command is run from another folder, where a relative path would name nothing."""

_SERVER = re.compile(r"^RPC\d+\[(.+)\]$")


@dataclass(frozen=True, slots=True)
class PlanCase:
    """A plan and all it was made of. ``problems``: the plan's own and those of its surroundings, worst first."""

    model: ModelInfo
    hardware: HardwareSnapshot
    engine: EngineHandle | None
    plan: Plan
    problems: tuple[Problem, ...]
    inputs: PlanInputs | None = None

    @property
    def has_errors(self) -> bool:
        """Is there any problem that stops a launch?"""
        return any(p.severity is Severity.ERROR for p in self.problems)

    @property
    def program(self) -> str | None:
        """The llama-server's path; None when there is none."""
        return None if self.engine is None else self.engine.binary.path


def plan_case(options: Namespace, verb: str, api_key: str | None = None) -> PlanCase:
    """Make the plan that the options ask for. Raises ProblemError for bad input."""
    moves = tuple(_move(text) for text in options.place)
    saved = read_plan_file(Path(options.plan)) if options.plan else None
    wishes = _wishes(options) if saved is None else _saved_wishes(options, saved)
    path = model_path(options, verb)
    if verb in _RUN_ELSEWHERE:
        path, wishes = os.path.abspath(path), with_whole_paths(wishes)
    model = open_model(path)
    engine = chosen_engine(options)
    hardware = machine_for(options, engine)
    device_wishes = device_wishes_of(options, hardware)
    port = DEFAULT_PORT if options.port is None else options.port
    capabilities = capabilities_of(engine)
    taught = learned_here(options)
    key = options.api_key or api_key
    inputs = plan_inputs(model, hardware, wishes, device_wishes, capabilities, port, key, taught.learned)
    inputs, placement, told = _opened(options, saved, inputs)
    plan, notes = plan_and_notes(inputs, moves, placement)
    around = (*told, *engine_problems(engine), *left_out(options, hardware), *_switched_off(plan), *notes)
    around = (*around, *((taught.problem,) if taught.problem else ()))
    return PlanCase(model, hardware, engine, plan, worst_first((*plan.problems, *around)), inputs)


def saved_plan(options: Namespace, case: PlanCase) -> Plan:
    """The plan of ``--against`` for the same model and machine. Raises ProblemError when the file is none."""
    saved = read_plan_file(Path(options.against))
    device_wishes = device_wishes_of(options, case.hardware)
    capabilities, learned = capabilities_of(case.engine), learned_here(options).learned
    inputs = plan_inputs(case.model, case.hardware, saved.wishes, device_wishes, capabilities, learned=learned)
    opened = open_plan(saved, inputs)
    return plan_and_notes(opened.inputs, (), opened.placement)[0]


def learned_here(options: Namespace) -> LoadedLearning:
    """What this computer has taught; nothing for a plan that is made for another one (``--hardware``)."""
    if options.hardware is not None:
        return LoadedLearning(NOTHING_LEARNED)
    return load_learned(LearnedStore(app_paths().learned_file))


def chosen_engine(options: Namespace) -> EngineHandle | None:
    """``--engine``, else the one chosen in the settings, else what is found here. Raises ProblemError."""
    paths = app_paths()
    named = options.engine
    if named is None and os.path.exists(paths.settings_file):
        from app.settings.store import load_settings

        named = load_settings(paths.settings_file).engine_path
    return open_engine(named, paths)


def machine_for(options: Namespace, engine: EngineHandle | None) -> HardwareSnapshot:
    """This machine, or the saved one of ``--hardware``.

    The engine is asked for its devices unless ``--device`` names them all. An RPC server that does not answer is an
    error here (``rpc_unreachable``), since without it the plan would silently be another.
    """
    if options.hardware is not None:
        return load_snapshot(Path(options.hardware))
    from app.hardware.probe import probe

    snapshot = with_known_bandwidth(probe(), LearnedStore(app_paths().learned_file))
    if engine is None:
        check_rpc_servers(options.rpc)
    elif options.rpc or not options.device:
        snapshot = with_engine_devices(snapshot, list_devices(engine.binary, tuple(options.rpc), app_paths()))
    return snapshot


def _wishes(options: Namespace) -> Wishes:
    return Wishes(
        n_ctx=options.ctx,
        cache_type_k=options.ctk,
        cache_type_v=options.ctv,
        n_batch=options.batch,
        n_ubatch=options.ubatch,
        flash_attn=options.flash_attn,
        n_slots=options.slots,
        n_threads=options.threads,
        prompt_cache_mib=options.prompt_cache_mib,
        load_mode=options.load_mode,
        reserve_mib=options.reserve_mib,
        kv_home=KvHome(options.kv),
        n_gpu_layers=options.ngl,
        preset=options.preset,
        extra=split_arguments(options.extra),
        mmproj_path=options.mmproj,
        mmproj_offload=not options.mmproj_in_ram,
        draft_path=options.draft,
        draft_gpu_layers=options.draft_ngl,
        draft_max=options.draft_max,
        mtp=options.mtp,
        lora_paths=tuple(options.lora),
        keep_ram_mib=options.keep_ram_mib,
        is_quiet=options.quiet,
    )


def _saved_wishes(options: Namespace, saved: SavedPlan) -> Wishes:
    """The saved wishes; every option that was named replaces its own."""
    named = _wishes(options)
    changed = {field: getattr(named, field) for field, flag in WISH_OPTIONS.items() if flag in options.given}
    return replace(saved.wishes, **changed)


def _opened(
    options: Namespace, saved: SavedPlan | None, inputs: PlanInputs
) -> tuple[PlanInputs, Placement | None, tuple[Problem, ...]]:
    """The saved placement on this machine, unless a preset or ``--ngl`` asks for another one; None = the preset's."""
    if saved is None:
        return inputs, None, ()
    opened = open_plan(saved, inputs)
    port = opened.inputs.port if options.port is None else options.port
    places_anew = not options.given.isdisjoint({"--preset", "--ngl"})
    return replace(opened.inputs, port=port), None if places_anew else opened.placement, opened.problems


def device_wishes_of(options: Namespace, hardware: HardwareSnapshot) -> DeviceWishes:
    """Raises ``cli_rpc_missing`` for an RPC device whose server nobody named."""
    servers = tuple(options.rpc) or _servers_of(hardware)
    remote = [name for name, _ in options.device if name.upper().startswith("RPC")]
    if remote and not servers:
        raise fail("cli_rpc_missing", device=remote[0])
    off = tuple(options.off)
    names = {d.name: d for d in usable_devices(hardware, DeviceWishes(free_mib=dict(options.device)))}
    unknown = next((name for name in off if name not in names), None)
    if unknown is not None:
        raise fail("cli_off_unknown", device=unknown, known=", ".join(names) or "—")
    return DeviceWishes(
        free_mib=dict(options.device),
        ram_mib=options.ram_mib,
        keep_ram_mib=options.keep_ram_mib,
        rpc_servers=servers,
        off=off,
    )


def _servers_of(hardware: HardwareSnapshot) -> tuple[str, ...]:
    """HOST:PORT of a saved snapshot's RPC devices, each once: the command must name them again."""
    found = (_SERVER.search(gpu.buffer_name or "") for gpu in hardware.gpus if gpu.kind == "rpc")
    return tuple(dict.fromkeys(match[1] for match in found if match is not None))


def _move(text: str) -> tuple[str, str]:
    """``ID=DEVICE``; ``ram`` and ``CPU`` are what people also call RAM."""
    card_id, device = parse_place(text)
    return card_id, RAM if device.upper() in (RAM, "CPU") else device


def left_out(options: Namespace, hardware: HardwareSnapshot) -> tuple[Problem, ...]:
    """Cards of the machine that the plan cannot use, because no engine has told its name for them."""
    if options.device:
        return ()
    code = "engine_does_not_see_gpu" if hardware.engine_asked else "gpu_not_named"
    unnamed = [g for g in hardware.gpus if g.kind == "gpu" and g.engine_name is None]
    return tuple(Problem(code, Severity.WARNING, {"gpu": gpu.name}) for gpu in unnamed)


def _switched_off(plan: Plan) -> tuple[Problem, ...]:
    """Cards that are off, and those that are on while the plan is better without them."""
    on = plan.devices.gpus
    used = in_use(plan.devices, plan.placement).gpus
    told = []
    if plan.devices.off and on:
        names = ", ".join(device.name for device in plan.devices.off)
        told.append(Problem("devices_off", Severity.INFO, {"devices": names, "device": ", ".join(d.name for d in on)}))
    if len(used) < len(on):
        names = ", ".join(device.name for device in on if device not in used)
        told.append(Problem("devices_unused", Severity.INFO, {"devices": names, "device": used[0].name}))
    return tuple(told)


def worst_first(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Errors before warnings before notes."""
    return tuple(sorted(problems, key=lambda p: list(Severity).index(p.severity)))
