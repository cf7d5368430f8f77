"""An imported command on this machine: the devices it uses, where every tensor goes, the plan that does the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.common.problem import Problem, Severity
from app.model.types import ModelInfo, Role
from app.planner.command_import import ImportedCommand, repaired_extra
from app.planner.homes import engine_homes
from app.planner.placement import NOT_LOADED, home_of, homes
from app.planner.plan import PlanInputs, make_plan
from app.planner.tensor_rules import EXPERTS, TensorRule, device_of, match_rules, usable_devices
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Placement, Plan, Wishes

_EMBEDDING = "token_embd.weight"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The plan of a command, what it was made of, and what was told on the way (the plan's own problems are in it)."""

    command: ImportedCommand
    inputs: PlanInputs
    plan: Plan
    problems: tuple[Problem, ...]


def plan_of_command(command: ImportedCommand, inputs: PlanInputs, *, repair: bool = False) -> ImportResult:
    """The plan that does what the command does, for the model and the machine of ``inputs``.

    What the engine would refuse to start with is read as it was meant, with a problem. ``repair``: also leave out
    extra options that this build does not have.
    """
    devices, problems = devices_for(command, inputs.devices)
    wishes = _wishes(command, inputs)
    if repair:
        wishes = replace(wishes, extra=repaired_extra(command.kept, inputs.capabilities))
    placement: Placement | None = None
    if not (command.fit_places and devices.gpus):
        placement, more = placement_for(command, inputs.model, devices)
        problems = (*problems, *more)
    if wishes.preset == "fit" and wishes.reserve_mib is not None:
        devices = _with_reserve(devices, wishes.reserve_mib << 20)
    planned = replace(
        inputs,
        devices=devices,
        wishes=wishes,
        n_threads=wishes.n_threads or inputs.n_threads,
        host=command.host,
        port=command.port,
        api_key=command.api_key or inputs.api_key,
        alias=command.alias or inputs.alias,
    )
    plan = _with_cache_told(make_plan(planned, placement, is_edited=True), command)
    return ImportResult(command, planned, plan, (*command.problems, *problems))


def _with_cache_told(plan: Plan, command: ImportedCommand) -> Plan:
    """Where RAM would be over-full only because nobody limited the prompt cache, that is what to say, as a warning: the
    cache may grow that large, it does not start so."""
    if command.last("prompt_cache") is not None:
        return plan
    cache = plan.estimate.get(RAM).prompt_cache_bytes
    told = []
    for problem in plan.problems:
        missing = problem.params.get("missing_bytes")
        if problem.code == "over_full_ram" and isinstance(missing, int) and missing <= cache:
            params = {"cache_bytes": cache, "missing_bytes": missing}
            problem = Problem("import_prompt_cache", Severity.WARNING, params)
        told.append(problem)
    return replace(plan, problems=tuple(told))


def _wishes(command: ImportedCommand, inputs: PlanInputs) -> Wishes:
    """``-c`` not said, or 0, is the model's own context."""
    return replace(command.wishes, n_ctx=command.n_ctx or inputs.model.context_length)


def _with_reserve(devices: DeviceSet, reserve_bytes: int) -> DeviceSet:
    return replace(devices, gpus=tuple(replace(d, reserve_bytes=reserve_bytes) for d in devices.gpus))


def devices_for(command: ImportedCommand, machine: DeviceSet) -> tuple[DeviceSet, tuple[Problem, ...]]:
    """The devices the engine would use for this command, in its order.

    Without ``-dev``: RPC servers, then cards; graphics inside the processor only when there is no card
    (llama.cpp:195-290). ``-sm none`` leaves one. Problem ``import_no_device``: a name that this machine does not have.
    """
    usable = usable_devices(machine)
    problems: list[Problem] = []
    if command.device_names is None:
        cards = [d for d in usable if d.kind is not DeviceKind.IGPU]
        chosen = cards or list(usable[:1])
    else:
        by_name = {d.name: d for d in usable}
        chosen = [by_name[name] for name in command.device_names if name in by_name]
        unknown = [name for name in command.device_names if name not in by_name]
        known = ", ".join(by_name) or "—"
        problems += [Problem("import_no_device", Severity.ERROR, {"device": n, "known": known}) for n in unknown]
        if unknown and not chosen:
            chosen = list(machine.gpus)
    if command.split_mode == "none" and chosen:
        chosen = [chosen[min(command.main_gpu, len(chosen) - 1)]]
    off = tuple(d for d in usable if d not in chosen)
    servers = command.rpc_servers or machine.rpc_servers
    return DeviceSet(tuple(chosen), machine.ram, off, servers), tuple(problems)


def placement_for(
    command: ImportedCommand, model: ModelInfo, devices: DeviceSet
) -> tuple[Placement, tuple[Problem, ...]]:
    """Homes from ``-ngl`` and ``-ts``, overrides from the rules, first hit wins."""
    n_units = model.block_count + 1
    n_layers = n_units if command.n_gpu_layers is None or command.n_gpu_layers < 0 else command.n_gpu_layers
    indices = engine_homes(model.block_count, n_layers, _shares(command, devices.gpus), len(devices.gpus))
    runs = tuple((device.name, indices.count(i)) for i, device in enumerate(devices.gpus))
    kv_home = command.wishes.kv_home if devices.gpus else KvHome.HOME
    bare = Placement(model.block_count, runs, {}, kv_home)
    rules = _spread_over_cards(command.rules, bare) if command.is_ik else command.rules
    targets, problems = rule_devices(rules, devices)
    return replace(bare, overrides=overrides_from_rules(rules, targets, model, bare)), problems


def _spread_over_cards(rules: tuple[TensorRule, ...], bare: Placement) -> tuple[TensorRule, ...]:
    """ik_llama.cpp with several cards takes the N layers of ``--n-cpu-moe`` from the end of every card's run, each in
    proportion, instead of the first N (ikawrakow/ik_llama.cpp#1464, March 2026)."""
    runs = [(name, n) for name, n in bare.runs if n]
    if len(runs) < 2:
        return rules
    return tuple(_spread(rule, bare) for rule in rules)


def _spread(rule: TensorRule, bare: Placement) -> TensorRule:
    option, _, count = rule.text.partition(" ")
    if option not in ("-ncmoe", "--n-cpu-moe") or not count.isdigit() or int(count) >= bare.block_count:
        return rule
    unit_homes = homes(bare)[: bare.block_count]
    chosen: list[int] = []
    seen = 0
    for name, _ in bare.runs:
        blocks = [block for block, home in enumerate(unit_homes) if home == name]
        seen += len(blocks)
        n_until_here = round(int(count) * seen / max(1, len(unit_homes) - unit_homes.count(RAM)))
        n_here = min(len(blocks), n_until_here - len(chosen))
        chosen += blocks[len(blocks) - n_here :]
    return replace(rule, pattern=rf"blk\.({'|'.join(map(str, chosen))}){EXPERTS}")


def _shares(command: ImportedCommand, gpus: tuple[Device, ...]) -> tuple[float, ...]:
    """``-ts``, or free memory where it is not given (llama-model.cpp:1570); equal parts where that is unknown."""
    told = command.tensor_split[: len(gpus)]
    if any(told) or len(gpus) < 2:
        return told
    free = tuple(float(device.free_bytes or 0) for device in gpus)
    return free if all(free) else (1.0,) * len(gpus)


def rule_devices(
    rules: tuple[TensorRule, ...], devices: DeviceSet
) -> tuple[tuple[str | None, ...], tuple[Problem, ...]]:
    """Device of every rule; None for one that cannot be carried out here (``import_rule_dropped``)."""
    targets: list[str | None] = []
    problems: list[Problem] = []
    active = {d.name for d in devices.all}
    for rule in rules:
        device, _ = device_of(rule.buffer, devices) if rule.buffer else (None, None)
        if device is None or device not in active:
            problems.append(Problem("import_rule_dropped", Severity.ERROR, {"rule": rule.text, "device": rule.buffer}))
            device = None
        targets.append(device)
    return tuple(targets), tuple(problems)


def overrides_from_rules(
    rules: tuple[TensorRule, ...], targets: tuple[str | None, ...], model: ModelInfo, bare: Placement
) -> Mapping[str, str]:
    """Tensor -> device by the first rule that finds it, for those that do not stay at home; a rule without a target is
    passed over. A rule for a tied embedding also moves the output's copy of it."""
    loaded = {t.name: t for t in model.tensors if t.role not in NOT_LOADED}
    kept = [(rule, target) for rule, target in zip(rules, targets, strict=True) if target is not None]
    hits = match_rules([rule for rule, _ in kept], tuple(loaded))
    unit_homes = homes(bare)
    found: dict[str, str] = {}
    for (_, target), names in zip(kept, hits.wins, strict=True):
        for name in names:
            tensor = loaded[name]
            output_moves = name == _EMBEDDING and model.has_tied_output and unit_homes[-1] != target
            if home_of(tensor, unit_homes) != target or output_moves or tensor.role is Role.OTHER:
                found[name] = target
    return found
