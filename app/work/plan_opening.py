"""A saved plan on this machine and for this model: what of it still holds, and what had to go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.common.problem import ParamValue, Problem, Severity
from app.model.types import ModelInfo
from app.planner.command_plan import overrides_from_rules
from app.planner.placement import NOT_LOADED
from app.planner.plan import PlanInputs
from app.planner.tensor_rules import TensorRule, match_rules, usable_devices
from app.planner.types import DeviceSet, Placement
from app.work.plan_file import SavedModel, SavedPlan


@dataclass(frozen=True, slots=True)
class OpenedPlan:
    """``placement`` None: the file holds none, the preset decides."""

    inputs: PlanInputs
    placement: Placement | None
    problems: tuple[Problem, ...]


def open_plan(saved: SavedPlan, inputs: PlanInputs) -> OpenedPlan:
    """Put a saved plan on the devices and the model of ``inputs``, whose wishes are already the saved ones."""
    opened = replace(
        inputs,
        host=saved.host,
        port=inputs.port if saved.port is None else saved.port,
        alias=saved.alias or inputs.alias,
    )
    if saved.runs is None:
        return OpenedPlan(opened, None, (*saved.problems, *_model_problems(saved.model, inputs.model, 0)))
    devices = _devices(saved, inputs.devices)
    moves, problems = _replacements(saved, devices)
    runs = _runs(saved, devices, moves, inputs.model.block_count)
    bare = Placement(inputs.model.block_count, runs, {}, inputs.wishes.kv_home)
    rules = tuple(TensorRule(rule.pattern, rule.device, rule.pattern) for rule in saved.rules)
    targets = tuple(moves.get(rule.device, rule.device) for rule in saved.rules)
    placement = replace(bare, overrides=overrides_from_rules(rules, targets, inputs.model, bare))
    lost, broken = _lost(saved, rules, inputs.model)
    problems = (*saved.problems, *_model_problems(saved.model, inputs.model, lost), *problems, *broken)
    return OpenedPlan(replace(opened, devices=devices), placement, problems)


def _devices(saved: SavedPlan, machine: DeviceSet) -> DeviceSet:
    """The devices of the plan that are here, in the engine's order; all as they are when none of them is."""
    wanted = {name for name, _ in saved.runs or ()} | {rule.device for rule in saved.rules}
    usable = usable_devices(machine)
    chosen = tuple(d for d in usable if d.name in wanted)
    servers = machine.rpc_servers or saved.rpc_servers
    if not chosen:
        return replace(machine, rpc_servers=servers)
    return DeviceSet(chosen, machine.ram, tuple(d for d in usable if d not in chosen), servers)


def _replacements(saved: SavedPlan, devices: DeviceSet) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """Device that is not here -> where its parts go instead: the first GPU, else RAM."""
    active = {d.name for d in devices.all}
    instead = devices.all[0].name
    used = [name for name, n in saved.runs or () if n] + [rule.device for rule in saved.rules]
    missing = [name for name in dict.fromkeys(used) if name not in active]
    problems = tuple(
        Problem("plan_file_no_device", Severity.WARNING, {"device": name, "instead": instead}) for name in missing
    )
    return dict.fromkeys(missing, instead), problems


def _runs(saved: SavedPlan, devices: DeviceSet, moves: dict[str, str], block_count: int) -> tuple[tuple[str, int], ...]:
    """Layer units per GPU. All layers of the saved model stay all layers of this one; else at most what there are."""
    counts = dict.fromkeys((d.name for d in devices.gpus), 0)
    told = 0
    for name, n_units in saved.runs or ():
        told += n_units
        home = moves.get(name, name)
        if home in counts:
            counts[home] += n_units
    left = block_count + 1
    was_all = told == saved.model.blocks + 1 and bool(saved.model.blocks)
    runs: list[tuple[str, int]] = []
    for name in reversed(counts):  # the runs count from the end of the model
        n_units = min(counts[name], left)
        left -= n_units
        runs.insert(0, (name, n_units))
    if was_all and left and runs and sum(counts.values()) == told:
        first = next((i for i, (_, n) in enumerate(runs) if n), 0)
        runs[first] = (runs[first][0], runs[first][1] + left)
    return tuple(runs)


def _lost(saved: SavedPlan, rules: tuple[TensorRule, ...], model: ModelInfo) -> tuple[int, tuple[Problem, ...]]:
    """Tensors that the rules moved then and do not find now; patterns that are none (edited by hand)."""
    hits = match_rules(rules, tuple(t.name for t in model.tensors if t.role not in NOT_LOADED))
    pairs = zip(saved.rules, hits.wins, strict=True)
    lost = sum(max(0, rule.tensors - len(names)) for rule, names in pairs)
    broken = tuple(
        Problem("plan_file_dropped", Severity.WARNING, {"key": "placement.rules", "value": rule.pattern})
        for rule, error in zip(saved.rules, hits.regex_errors, strict=True)
        if error is not None
    )
    return lost, broken


def _model_problems(saved: SavedModel, model: ModelInfo, lost: int) -> Iterable[Problem]:
    """Is it the model that the plan was made for?"""
    here = (model.architecture, model.block_count, len(model.tensors))
    then = (saved.architecture or here[0], saved.blocks or here[1], saved.tensors or here[2])
    name = saved.name or saved.file_name or "?"
    if here != then:
        return (Problem("plan_file_other_model", Severity.WARNING, {"name": name, "n": lost}),)
    if lost:
        return (Problem("plan_file_lost_tensors", Severity.WARNING, {"n": lost}),)
    if saved.file_bytes and saved.file_bytes != model.file_bytes:
        params: dict[str, ParamValue] = {"name": saved.file_name or name, "size": saved.file_bytes}
        return (Problem("plan_file_other_quant", Severity.INFO, params),)
    return ()
