"""Whole cards in series: the first rows of one host and file teach what nobody prints, the others are predicted.

The rule for what is learned is the app's own for launches of one card: the largest of what was seen.
"""

from app.common.units import MIB
from app.model.types import Role
from benchmarks.cases import Case
from benchmarks.memory_accuracy_rows import UNREADABLE, Outcome, Row, device_of, mapping, number, pool_mib, predict

_STEP_FLOOR = 0.02
"""A step smaller than this share of the card (the same load again) is compared with the card, not with itself."""
_FULL = 0.97
_NEARLY_FULL = 0.92
"""Shares of a card's memory: where more than the first was asked for and the total is at least the second, the total
tells the card's size (drivers then move buffers to RAM)."""


def judge_series(name: str, members: list[Case], outcome: Outcome) -> None:
    """Judge the rows of one host and file after those that it is calibrated on."""
    n = max(1, int(number(members[0].judge.get("calibrate_rows")) or 1))
    predicted = {}
    for case in members:
        try:
            predicted[case.id] = _Known(case)
        except UNREADABLE as error:
            outcome.skipped.append((case.id, f"series {name}: the case cannot be read: {error!r}"))
    learning = [case for case in members[:n] if case.id in predicted]
    rest = [case for case in members[n:] if case.id in predicted]
    outcome.skipped += [(case.id, f"series {name}: a row it is calibrated on") for case in learning]
    if not rest or not learning:
        reason = "no row besides those it is calibrated on" if not rest else "no row to calibrate on"
        outcome.skipped += [(case.id, f"series {name}: {reason}") for case in rest]
        return
    devices = dict.fromkeys(device for case in members for device in mapping(case.measured.get("card_total")))
    has_baselines = all(predicted[case.id].has_baseline for case in (*learning, *rest))
    for device in devices:
        _judge_device(name, device, [predicted[case.id] for case in learning], rest, predicted, has_baselines, outcome)


class _Known:
    """One row of a series: our estimate of it, made once."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.estimate, _ = predict(case)
        self.baseline = number(case.measured.get("baseline"))

    @property
    def has_baseline(self) -> bool:
        """What the card held before counts where it stays there: Windows moves it away under pressure (WDDM)."""
        return self.baseline is not None and "windows" not in str(self.case.raw.get("os")).lower()

    def card(self, device: str, *, less_baseline: bool) -> float | None:
        """MiB on the whole card, less what others held before where that counts."""
        total = number(mapping(self.case.measured.get("card_total")).get(device))
        return total if total is None or not less_baseline else total - (self.baseline or 0.0)

    def total(self, device: str) -> float | None:
        """Our total in MiB, with the pool where the figure is a card's and not the engine's own sum."""
        ours = device_of(self.estimate, device)
        if ours is None:
            return None
        is_engines_sum = "engine allocations" in str(self.case.measured.get("card_basis"))
        return ours.total_bytes / MIB + (0.0 if is_engines_sum else pool_mib(self.case, device))

    def experts(self, device: str) -> int:
        """Expert layers on the device, as its weights tell."""
        told = self.case.routed_bytes
        ours = device_of(self.estimate, device)
        if not told or ours is None:
            return 0
        on_device = ours.weights_by_role.get(Role.ROUTED_EXPERT, 0)
        return round(on_device * len(told) / sum(told)) if sum(told) else 0


def _judge_device(
    name: str,
    device: str,
    learning: list[_Known],
    rest: list[Case],
    known: dict[str, _Known],
    less_baseline: bool,
    outcome: Outcome,
) -> None:
    pairs = [(row.card(device, less_baseline=less_baseline), row.total(device)) for row in learning]
    seen = [(card, total) for card, total in pairs if card is not None and total is not None]
    if not seen:
        outcome.skipped += [(case.id, f"series {name}: no figure of {device} to calibrate on") for case in rest]
        return
    offset = max(card - total for card, total in seen)
    base = sum(card for card, _ in seen) / len(seen)
    outcome.learned[f"{name} {device}"] = offset
    for case in rest:
        row = known[case.id]
        card, total = row.card(device, less_baseline=less_baseline), row.total(device)
        if card is None or total is None:
            outcome.skipped.append((case.id, f"series {name}: no figure of {device}"))
            continue
        full = _is_full(row, device, total + offset + (row.baseline or 0.0) * less_baseline)
        if full:
            outcome.skipped.append((case.id, f"series {name}: {full}"))
            continue
        step = abs(card - base)
        scale = step if step >= _STEP_FLOOR * card else card
        notes = _notes(row, learning, device, is_same=step < _STEP_FLOOR * card)
        outcome.rows.append(Row(case, device, "series", total + offset, card, scale, notes))


def _is_full(row: _Known, device: str, predicted_mib: float) -> str | None:
    """Why a full card cannot be judged: its total is its size, whatever was asked for. ``predicted_mib``: with what
    others held."""
    size, total = row.case.card_mib(device), row.card(device, less_baseline=False)
    if size is None or total is None or predicted_mib <= max(total, _FULL * size) or total < _NEARLY_FULL * size:
        return None
    return f"the card is full ({total:.0f} of {size:.0f} MiB), its total does not tell the demand"


def _notes(row: _Known, learning: list[_Known], device: str, *, is_same: bool) -> tuple[str, ...]:
    """What of the step the facts leave open."""
    case, notes = row.case, []
    moved = abs(row.experts(device) - learning[0].experts(device))
    if moved and case.routed_is_average and len(set(case.routed_bytes or ())) == 1:
        notes.append(f"{moved} expert layers moved, of which only a mean size is told")
    if case.n_mtp and case.run.get("mtp"):
        notes.append("the MTP layer's size and its context's buffers are not told")
    precision = number(case.measured.get("card_precision_mib"))
    if precision and precision >= 10:
        notes.append(f"the card's figures are rounded to {precision:.0f} MiB")
    if is_same:
        notes.append("the same load again: the difference is other programs'")
    if case.build is None and not case.is_ik:
        notes.append("no build told: taken as an old one")
    return tuple(notes)
