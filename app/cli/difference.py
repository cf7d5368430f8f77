"""Two plans side by side, as JSON and as text (``plan --against FILE``)."""

from __future__ import annotations

from app.cli.console import ranges_text, table
from app.cli.plan_json import Json
from app.common.units import MIB, size_text
from app.planner.compare import DeviceChange, Moved, PlanDifference
from app.words import say

_WIDEST = 70


def difference_json(difference: PlanDifference) -> Json:
    """The JSON of the contract (docs/cli.md, ``plan --against``). Bytes and speeds: first the saved plan's."""
    return {
        "same": difference.is_same,
        "moved": [
            {
                "role": moved.role.value,
                "from": moved.before,
                "to": moved.after,
                "blocks": list(moved.blocks),
                "tensors": moved.n_tensors,
                "bytes": moved.n_bytes,
            }
            for moved in difference.moved
        ],
        "devices": [
            {
                "name": change.device,
                "before": None if change.before is None else change.before.total_bytes,
                "after": None if change.after is None else change.after.total_bytes,
            }
            for change in difference.devices
        ],
        "options": [{"before": list(o.before), "after": list(o.after)} for o in difference.options],
        "decode": {"before": difference.decode_before, "after": difference.decode_after},
    }


def difference_text(difference: PlanDifference) -> str:
    """What a person wants to see: cards, bytes, options."""
    if difference.is_same:
        return say("cli.against.same")
    lines = [say("cli.against.title")]
    rows = [_moved_row(moved) for moved in difference.moved]
    rows += [_device_row(change) for change in difference.devices if change.total_bytes]
    lines += table(rows, right=frozenset({2}))
    for option in difference.options:
        lines += [f"  - {_shown(option.before)}"] if option.before else []
        lines += [f"  + {_shown(option.after)}"] if option.after else []
    return "\n".join(lines)


def _moved_row(moved: Moved) -> tuple[str, ...]:
    where = ranges_text(moved.blocks) if moved.blocks else ""
    return (
        f"  {say(f'role.{moved.role.value}')} {where}".rstrip(),
        f"{moved.before} → {moved.after}",
        size_text(moved.n_bytes),
    )


def _device_row(change: DeviceChange) -> tuple[str, ...]:
    return (f"  {change.device}", "", f"{change.total_bytes / MIB:+,.0f} MiB".replace(",", " "))


def _shown(words: tuple[str, ...]) -> str:
    text = " ".join(words)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
