"""Two plans of one model side by side: what moved, the bytes that change, the options of the command that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.common.capabilities import Capabilities
from app.model.types import ModelInfo, Role
from app.planner.flag_table import facts, parse_argv
from app.planner.placement import locations
from app.planner.types import DeviceEstimate, Plan

_NO_BLOCK = -1


@dataclass(frozen=True, slots=True)
class Moved:
    """Tensors of one role that one plan keeps here and the other there. ``blocks`` is empty outside of blocks."""

    role: Role
    before: str
    after: str
    blocks: tuple[int, ...]
    n_tensors: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """Bytes on one device in both plans; None: that plan does not use it."""

    device: str
    before: DeviceEstimate | None
    after: DeviceEstimate | None

    @property
    def total_bytes(self) -> int:
        """How much more the second plan needs here."""
        return _total(self.after) - _total(self.before)


@dataclass(frozen=True, slots=True)
class OptionChange:
    """One option of the command: its words in both, empty where a command does not have it."""

    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """From the first plan to the second. Speeds are the plans' own predictions, None where unknown."""

    moved: tuple[Moved, ...]
    devices: tuple[DeviceChange, ...]
    options: tuple[OptionChange, ...]
    decode_before: float | None
    decode_after: float | None

    @property
    def is_same(self) -> bool:
        """Do both commands do the same?"""
        return not self.moved and not self.options


def compare_plans(before: Plan, after: Plan, model: ModelInfo, capabilities: Capabilities) -> PlanDifference:
    """What changes from one plan to the other; both are for ``model``."""
    return PlanDifference(
        moved=_moved(before, after, model),
        devices=_devices(before, after),
        options=option_changes(before.argv, after.argv, capabilities),
        decode_before=before.speed.decode_tps,
        decode_after=after.speed.decode_tps,
    )


def _moved(before: Plan, after: Plan, model: ModelInfo) -> tuple[Moved, ...]:
    """Largest first; within the same size in the order of the model's file."""
    here, there = locations(model, before.placement), locations(model, after.placement)
    groups: dict[tuple[Role, str, str], list[tuple[int, int]]] = {}
    for tensor in model.tensors:
        old, new = here.get(tensor.name), there.get(tensor.name)
        if old is None or new is None or old == new:
            continue
        block = _NO_BLOCK if tensor.block is None else tensor.block
        groups.setdefault((tensor.role, old, new), []).append((block, tensor.n_bytes))
    moved = [
        Moved(
            role,
            old,
            new,
            tuple(sorted({block for block, _ in found if block != _NO_BLOCK})),
            len(found),
            sum(n_bytes for _, n_bytes in found),
        )
        for (role, old, new), found in groups.items()
    ]
    return tuple(sorted(moved, key=lambda m: -m.n_bytes))


def _devices(before: Plan, after: Plan) -> tuple[DeviceChange, ...]:
    old = {d.device: d for d in before.estimate.devices}
    new = {d.device: d for d in after.estimate.devices}
    names = dict.fromkeys([*old, *new])
    return tuple(DeviceChange(name, old.get(name), new.get(name)) for name in names)


def _total(estimate: DeviceEstimate | None) -> int:
    return 0 if estimate is None else estimate.total_bytes


def option_changes(before: Sequence[str], after: Sequence[str], capabilities: Capabilities) -> tuple[OptionChange, ...]:
    """The options that differ between two commands, in the order of the first."""
    old, new = _by_option(before, capabilities), _by_option(after, capabilities)
    return tuple(
        OptionChange(old.get(name, ()), new.get(name, ()))
        for name in dict.fromkeys([*old, *new])
        if old.get(name, ()) != new.get(name, ())
    )


def _by_option(argv: Sequence[str], capabilities: Capabilities) -> Mapping[str, tuple[str, ...]]:
    """Option (whatever its spelling, opposites included) -> all its words."""
    found: dict[str, tuple[str, ...]] = {}
    for given in parse_argv(argv, capabilities):
        fact = facts().get(given.flag)
        name = given.flag if fact is None else fact.spellings[0]
        found[name] = (*found.get(name, ()), *given.words)
    return found
