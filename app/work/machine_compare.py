"""Two machines, fact by fact: what is the same, what differs, and what only one of them has."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import zip_longest

from app.hardware.types import GpuInfo, HardwareSnapshot
from app.work.machine_facts import Fact, FactGroup, machine_groups

_ALWAYS_OTHER = ("taken_at",)
"""Facts of the look, not of the machine."""


@dataclass(frozen=True, slots=True)
class CompareRow:
    """``left`` and ``right``: the fact on each machine; None where it has no such fact (a card less)."""

    group: str
    key: str
    label: str
    left: Fact | None
    right: Fact | None

    @property
    def differs(self) -> bool:
        """Do the values, as people read them, differ? Two unknown ones do not."""
        left, right = (fact.value if fact is not None else None for fact in (self.left, self.right))
        return left != right and self.key not in _ALWAYS_OTHER


def compare_machines(left: HardwareSnapshot, right: HardwareSnapshot) -> tuple[CompareRow, ...]:
    """Every fact of either machine, in the order of the page; cards are paired by name, then by order."""
    pairs = _paired(left.gpus, right.gpus)
    first = machine_groups(_with_gpus(left, [pair[0] for pair in pairs]), is_here=False)
    second = machine_groups(_with_gpus(right, [pair[1] for pair in pairs]), is_here=False)
    theirs = {group.key: group for group in second}
    rows: list[CompareRow] = []
    for group in first:
        rows += _rows(group, theirs.pop(group.key, None))
    for left_over in theirs.values():
        rows += [CompareRow(_title(left_over), f.key, f.label, None, f) for f in left_over.facts]
    return tuple(rows)


def _rows(mine: FactGroup, theirs: FactGroup | None) -> list[CompareRow]:
    others = {fact.key: fact for fact in theirs.facts} if theirs is not None else {}
    title = _title(mine) if theirs is None or mine.title == theirs.title else f"{mine.title} / {theirs.title}"
    rows = [CompareRow(title, f.key, f.label, f, others.pop(f.key, None)) for f in mine.facts]
    return rows + [CompareRow(title, f.key, f.label, None, f) for f in others.values()]


def _title(group: FactGroup) -> str:
    return group.title


def _paired(left: tuple[GpuInfo, ...], right: tuple[GpuInfo, ...]) -> list[tuple[GpuInfo | None, GpuInfo | None]]:
    rest = list(right)
    pairs: list[tuple[GpuInfo | None, GpuInfo | None]] = []
    unpaired: list[GpuInfo] = []
    for gpu in left:
        same = next((other for other in rest if other.name.casefold() == gpu.name.casefold()), None)
        if same is None:
            unpaired.append(gpu)
        else:
            rest.remove(same)
            pairs.append((gpu, same))
    return pairs + list(zip_longest(unpaired, rest))


def _with_gpus(snapshot: HardwareSnapshot, gpus: list[GpuInfo | None]) -> HardwareSnapshot:
    """The snapshot with its cards in the order of the pairs, the sources moved along; missing ones only at the end."""
    kept = [gpu for gpu in gpus if gpu is not None]
    sources = {key: value for key, value in snapshot.sources.items() if not key.startswith("gpus.")}
    for new, gpu in enumerate(kept):
        old = next(i for i, known in enumerate(snapshot.gpus) if known is gpu)
        for key, value in snapshot.sources.items():
            if key == f"gpus.{old}" or key.startswith(f"gpus.{old}."):
                sources[f"gpus.{new}{key.removeprefix(f'gpus.{old}')}"] = value
    return dataclasses.replace(snapshot, gpus=tuple(kept), sources=sources)
