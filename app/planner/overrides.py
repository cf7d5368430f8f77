"""Placement -> ``-ot`` rules, and the proof that the rules are the placement.

The engine walks the rules in order and takes the first whose pattern is found anywhere in the tensor's name
(``std::regex_search``, llama-model-loader.cpp:1234-1257). Rules are made from the names in the file, never from a
fixed list of suffixes, are anchored at both ends of the block number, and hit exactly the tensors that move.

A model without ``output.weight`` loads ``token_embd.weight`` twice, the second time as the output matrix with the
same name (llama-model-loader.cpp:1149-1153): a rule for that name moves both copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from app.common.capabilities import Capabilities
from app.common.problem import Problem
from app.model.types import ModelInfo, Role
from app.planner.homes import engine_home_names
from app.planner.placement import NOT_LOADED, expert_tensors, home_of, homes
from app.planner.rule_groups import patterns_for
from app.planner.types import RAM, DeviceSet, Override, Placement

MAX_RULES = 4095
"""``llama_max_tensor_buft_overrides`` is 4096 with the terminator (llama.cpp:90)."""

TIED_OUTPUT = "token_embd.weight (output copy)"
"""Our name for the second copy of a tied token embedding."""

_EMBEDDING = "token_embd.weight"
_EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""What ``--cpu-moe`` and ``--n-cpu-moe`` append (common.h:1224)."""


def moved_tensors(model: ModelInfo, placement: Placement) -> dict[str, str]:
    """The overrides that change something: tensor name -> device, without those that name the tensor's own home.

    Left out too: tensors that the engine does not load for text generation (MTP, vision), and names that the file
    does not have; ``prove`` reports the latter.
    """
    unit_homes = homes(placement)
    moved: dict[str, str] = {}
    for tensor in model.tensors:
        device = placement.overrides.get(tensor.name)
        if device is None or tensor.role in NOT_LOADED:
            continue
        at_home = home_of(tensor, unit_homes) == device
        if tensor.name == _EMBEDDING and model.has_tied_output:
            at_home = at_home and unit_homes[placement.block_count] == device
        if not at_home or tensor.role is Role.OTHER:
            moved[tensor.name] = device
    return moved


def compile_overrides(model: ModelInfo, placement: Placement, devices: DeviceSet) -> tuple[Override, ...]:
    """The shortest readable rules that give exactly this placement, specific ones first. No rule is without a hit.

    Devices with fewer tensors come first; what they claim, later (broader) rules may hit again without effect.
    Overrides to a device that is not active get no rule; ``prove`` reports them.
    """
    order = [d.name for d in devices.all]
    by_device: dict[str, set[str]] = {}
    for name, device in moved_tensors(model, placement).items():
        if device in order:
            by_device.setdefault(device, set()).add(name)
    names = [t.name for t in model.tensors]
    claimed: set[str] = set()
    rules: list[tuple[str, str]] = []
    for device in sorted(by_device, key=lambda d: (len(by_device[d]), order.index(d))):
        wanted = by_device[device]
        rules.extend((pattern, device) for pattern in patterns_for(names, wanted, claimed))
        claimed |= wanted
    return _with_hits(model, rules, devices)


def _with_hits(model: ModelInfo, rules: Sequence[tuple[str, str]], devices: DeviceSet) -> tuple[Override, ...]:
    """Count what each rule wins; a rule that wins nothing is dropped."""
    sizes = {t.name: t.n_bytes for t in model.tensors if t.role not in NOT_LOADED}
    winners = _first_hits([pattern for pattern, _ in rules], sizes)
    counts = [0] * len(rules)
    n_bytes = [0] * len(rules)
    for name, rule in winners.items():
        counts[rule] += 1
        n_bytes[rule] += sizes[name]
    return tuple(
        Override(pattern, device, devices.get(device).override_name, counts[i], n_bytes[i])
        for i, (pattern, device) in enumerate(rules)
        if counts[i]
    )


def _first_hits(patterns: Iterable[str], names: Iterable[str]) -> dict[str, int]:
    """Name -> index of the first pattern found in it. Bytes, because ``std::regex<char>`` works on bytes."""
    compiled = [re.compile(pattern.encode()) for pattern in patterns]
    hits: dict[str, int] = {}
    for name in names:
        text = name.encode()
        for index, pattern in enumerate(compiled):
            if pattern.search(text):
                hits[name] = index
                break
    return hits


def simulate(overrides: Sequence[Override], tensor_names: Iterable[str]) -> dict[str, str]:
    """The engine's matching: tensor name -> device of the first rule that hits it. Names without a hit are absent."""
    return {name: overrides[i].device for name, i in _first_hits([o.pattern for o in overrides], tensor_names).items()}


def prove(
    model: ModelInfo, placement: Placement, devices: DeviceSet, overrides: tuple[Override, ...]
) -> Problem | None:
    """None when the engine, given these rules and our ``-ngl`` and ``-ts``, puts every tensor where the placement says.

    Checks every tensor the engine loads (the second copy of a tied embedding too), the syntax that ``-ot`` can carry,
    the number of rules, the buffer names, and that no rule is without a hit.
    """
    problem = _inactive_device(placement, devices) or _unknown_tensor(model, placement)
    problem = problem or _form_problem(devices, overrides)
    if problem is not None:
        return problem
    try:
        given_homes = engine_home_names(placement, devices)
    except ValueError as error:
        return Problem("homes_proof_failed", params={"unit": None}, evidence=(str(error),))
    hit = simulate(overrides, (t.name for t in model.tensors))
    given = _destinations(model, given_homes, hit)
    wanted = _destinations(model, homes(placement), placement.overrides)
    for name, device in wanted.items():
        if given[name] != device:
            return _failed(name, device, given[name])
    return None


def _failed(tensor: str, wanted: str, got: str) -> Problem:
    return Problem("override_proof_failed", params={"tensor": tensor, "wanted": wanted, "got": got})


def _destinations(model: ModelInfo, unit_homes: tuple[str, ...], overrides: Mapping[str, str]) -> dict[str, str]:
    """Where every loaded tensor ends up. Tensors of unknown role count as "not moved" unless an override names them:
    where the engine keeps them is not ours to say, but no rule may touch them."""
    places = {
        t.name: overrides.get(t.name) or ("" if t.role is Role.OTHER else home_of(t, unit_homes))
        for t in model.tensors
        if t.role not in NOT_LOADED
    }
    if model.has_tied_output and _EMBEDDING in places:
        places[TIED_OUTPUT] = overrides.get(_EMBEDDING) or unit_homes[-1]
    return places


def _form_problem(devices: DeviceSet, overrides: tuple[Override, ...]) -> Problem | None:
    if len(overrides) > MAX_RULES:
        return Problem("override_too_many", params={"n": len(overrides), "most": MAX_RULES})
    for rule in overrides:
        known = {d.name: d.override_name for d in devices.all}
        spoiled = "," in rule.pattern or "=" in rule.pattern or "," in rule.buffer_name
        if spoiled or known.get(rule.device) != rule.buffer_name or rule.n_tensors < 1:
            return Problem("override_rule_invalid", params={"pattern": rule.pattern, "device": rule.buffer_name})
    return None


def _inactive_device(placement: Placement, devices: DeviceSet) -> Problem | None:
    active = {d.name for d in devices.all}
    for name in (*(name for name, n_units in placement.runs if n_units), *placement.overrides.values()):
        if name not in active:
            return Problem("placement_device_off", params={"device": name})
    return None


def _unknown_tensor(model: ModelInfo, placement: Placement) -> Problem | None:
    known = {t.name for t in model.tensors}
    unknown = [name for name in placement.overrides if name not in known]
    if unknown:
        return Problem("override_unknown_tensor", params={"tensor": unknown[0], "n": len(unknown)})
    return None


def ot_argument(overrides: Sequence[Override]) -> str:
    """The one value of ``-ot``: ``pattern=buffer,pattern=buffer``; empty without rules (then leave ``-ot`` out)."""
    return ",".join(f"{rule.pattern}={rule.buffer_name}" for rule in overrides)


def short_form(model: ModelInfo, placement: Placement, capabilities: Capabilities) -> tuple[str, ...] | None:
    """``('--cpu-moe',)`` or ``('--n-cpu-moe', 'N')`` when that moves exactly the same tensors to RAM, else None.

    Builds before March 2026 left ``ffn_gate_up_exps`` out of these switches (llama.cpp#20416). The flags do not show
    that, so a file with other parts than gate, up and down is trusted to the switches only where the build also has
    ``--n-cpu-ffn``, which is younger than the fix.
    """
    moved = moved_tensors(model, placement)
    if not moved or set(moved.values()) != {RAM} or not _switches_know_all_parts(moved, capabilities):
        return None
    blocks = [block for t, block in expert_tensors(model) if t.name in moved]
    if len(blocks) != len(moved):
        return None
    unit_homes = homes(placement)
    if any(t.name not in moved and unit_homes[b] != RAM for t, b in expert_tensors(model) if b <= max(blocks)):
        return None  # neither switch can mean this, so nothing needs proof
    names = [t.name for t in model.tensors if t.role not in NOT_LOADED]
    flag = capabilities.first("--cpu-moe", "-cmoe")
    if flag is not None and _moves_exactly(model, placement, moved, [_EXPERTS], names):
        return (flag,)
    flag = capabilities.first("--n-cpu-moe", "-ncmoe")
    if flag is None:
        return None
    n_layers = max(blocks) + 1
    patterns = [rf"blk\.{block}{_EXPERTS}" for block in range(n_layers)]
    return (flag, str(n_layers)) if _moves_exactly(model, placement, moved, patterns, names) else None


def _switches_know_all_parts(moved: Mapping[str, str], capabilities: Capabilities) -> bool:
    unusual = any("_gate_up_exps" in name or "_chexps" in name for name in moved)
    return not unusual or capabilities.first("--n-cpu-ffn", "-ncffn") is not None


def _moves_exactly(
    model: ModelInfo, placement: Placement, moved: Mapping[str, str], patterns: list[str], names: list[str]
) -> bool:
    """Do these patterns, all to RAM, give the same destinations as the moved tensors?"""
    unit_homes = homes(placement)
    hit = dict.fromkeys(_first_hits(patterns, names), RAM)
    return _destinations(model, unit_homes, hit) == _destinations(model, unit_homes, moved)
