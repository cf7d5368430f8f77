"""The app's memory estimate beside public logs: KV, weights, compute and totals per device, and whole cards in series.

Run: python benchmarks/memory_accuracy.py CASES.json [--json], or with -m benchmarks.memory_accuracy from the root.
The file's form: each case has facts, run, measured figures (MiB) and what its ``judge`` says can be judged. Targets:
KV within 1 MiB or 1 % in 95 %; mainline totals per device: median <= 1 %, p95 <= 4 %; series of one card: median step
error <= 2 %; more than 2 % too low in at most 5 %.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # when run as a file, its own folder is all that Python looks in

from app.common.units import MIB
from app.model.types import ModelInfo, Role
from app.planner.kv import kv_bytes_by_block
from app.planner.memory import estimate
from app.planner.overhead import overhead_estimate_bytes
from app.planner.placement import kv_device, locations
from app.planner.types import RAM, DeviceEstimate, DeviceKind, MemoryEstimate
from benchmarks.case_model import layer_facts, model_of
from benchmarks.case_run import devices_of, placement_of, settings_of
from benchmarks.cases import Case, load_cases

_STEP_FLOOR = 0.02
"""A step smaller than this share of the card (the same load again) is compared with the card, not with itself."""


_UNREADABLE = (TypeError, ValueError, LookupError, ArithmeticError, re.error)
"""What a case that lacks something raises; one such case must not end the run over the others, and it is listed."""


@dataclass(frozen=True)
class Row:
    """One judged figure. ``error`` is signed: above 0 the estimate is too high."""

    case: Case
    device: str
    what: str
    predicted_mib: float
    actual_mib: float
    scale_mib: float | None = None

    @property
    def error(self) -> float:
        return (self.predicted_mib - self.actual_mib) / (self.scale_mib or self.actual_mib or 1.0)

    @property
    def gap_mib(self) -> float:
        return self.predicted_mib - self.actual_mib


@dataclass
class Outcome:
    """All rows, why the rest was left out (case id, reason), and MiB beyond our total learned from each series."""

    n_cases: int = 0
    rows: list[Row] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    learned: dict[str, float] = field(default_factory=dict)


def predict(case: Case) -> tuple[MemoryEstimate, bool]:
    """The app's estimate of one case, and whether it has compute buffers: those need the model's shapes.

    An architecture that the planner has no graph for is taken as an ordinary transformer.
    """
    if case.is_ik:
        return _estimate(case, model_of(case)), True
    for is_plain in (False, True):
        try:
            if case.has_shapes:
                return _estimate(case, model_of(case, is_plain=is_plain)), True
        except (LookupError, ArithmeticError):
            continue
    return _without_compute(case), False


def _estimate(case: Case, model: ModelInfo) -> MemoryEstimate:
    devices = devices_of(case)
    return estimate(model, placement_of(case, model, devices), devices, settings_of(case))


def _without_compute(case: Case) -> MemoryEstimate:
    """Weights and KV only: the facts lack the shapes that a graph needs, as some series of one host and file do."""
    model, devices, settings = model_of(case), devices_of(case), settings_of(case)
    placement = placement_of(case, model, devices)
    where = locations(model, placement)
    weights, kv = {d.name: 0 for d in devices.all}, {d.name: 0 for d in devices.all}
    for tensor in model.tensors:
        if tensor.name in where:
            weights[where[tensor.name]] += tensor.n_bytes
    for block, n_bytes in kv_bytes_by_block(model, settings.kv).items():
        kv[kv_device(placement, block)] += n_bytes
    return MemoryEstimate(
        tuple(
            DeviceEstimate(d.name, d.kind, {Role.OTHER: weights[d.name]}, kv[d.name], 0, 0, 0, 0, None, None)
            for d in devices.all
        )
    )


def judge_all(cases: Sequence[Case]) -> Outcome:
    """Judges what each case says can be judged."""
    outcome = Outcome(n_cases=len(cases))
    series: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        before = len(outcome.rows)
        try:
            _judge_case(case, outcome)
        except _UNREADABLE as error:
            outcome.skipped.append((case.id, f"the case cannot be read: {error!r}"))
            continue
        if case.judge.get("card") == "series":
            series[str(case.judge.get("series"))].append(case)
        elif len(outcome.rows) == before:
            outcome.skipped.append((case.id, _reason(case)))
    for name, members in series.items():
        try:
            _judge_series(name, members, outcome)
        except _UNREADABLE as error:
            outcome.skipped += [(case.id, f"series {name} cannot be read: {error!r}") for case in members]
    return outcome


def _reason(case: Case) -> str:
    why = case.judge.get("why")
    if isinstance(why, dict) and why:
        return "; ".join(f"{what}: {reason}" for what, reason in why.items())
    return str(why) if why else "no printed figure that the facts and the run decide"


def _judge_case(case: Case, outcome: Outcome) -> None:
    wanted = {what for what in ("kv", "compute", "weights", "total") if case.judge.get(what)}
    if {"kv", "compute"} <= wanted:
        wanted.add("total")
    if not wanted and case.judge.get("card") != "absolute":
        return
    predicted, has_compute = predict(case)
    if not has_compute:
        wanted -= {"compute", "total"}
    if "kv" in wanted:
        outcome.rows += _kv_rows(case, predicted)
    for name, printed in case.printed.items():
        ours = _device(predicted, name)
        if ours is not None:
            outcome.rows += _device_rows(case, name, printed, ours, wanted)
    if case.judge.get("card") == "absolute":
        outcome.rows += _absolute_rows(case, predicted)


def _device(predicted: MemoryEstimate, name: str) -> DeviceEstimate | None:
    return next((d for d in predicted.devices if d.device == name), None)


def _kv_rows(case: Case, predicted: MemoryEstimate) -> list[Row]:
    actual = case.measured.get("kv_all_devices")
    if actual is None:
        return []
    total = sum(d.kv_bytes for d in predicted.devices)
    if not case.measured.get("kv_includes_state"):
        total -= _state_bytes(case)
    return [Row(case, "all", "kv", total / MIB, float(actual))]


def _state_bytes(case: Case) -> int:
    """Recurrent state inside our KV figure."""
    if not any(layer.recurrent for layer in layer_facts(case)):
        return 0
    model = model_of(case)
    sizes = kv_bytes_by_block(model, settings_of(case).kv)
    return sum(n for block, n in sizes.items() if model.layers[block].recurrent)


def _device_rows(case: Case, name: str, printed: dict, ours: DeviceEstimate, wanted: set[str]) -> list[Row]:
    rows = []
    model_mib, kv_mib, compute_mib = (printed.get(key) for key in ("model", "kv", "compute"))
    is_span = bool(case.measured.get("host_model_is_span" if name == RAM else "device_model_is_span"))
    if "compute" in wanted and compute_mib is not None and (name == RAM or case.homes_are_known):
        rows.append(Row(case, name, "compute", ours.compute_bytes / MIB, float(compute_mib)))
    if name == RAM or not case.homes_are_known:
        return rows
    decided = "weights" in wanted and not is_span and _decided(case)
    if decided and model_mib is not None:
        rows.append(Row(case, name, "weights", ours.weights_bytes / MIB, float(model_mib)))
    if "total" in wanted and not is_span and None not in (model_mib, compute_mib):
        weights = ours.weights_bytes / MIB if decided else float(model_mib)
        total = weights + (ours.kv_bytes + ours.compute_bytes) / MIB
        actual = float(model_mib) + float(kv_mib or 0) + float(compute_mib)
        rows.append(Row(case, name, "total_ik" if case.is_ik else "total", total, actual))
    return rows


def _decided(case: Case) -> bool:
    """Do the facts say how large the weights are: the routed experts and the rest, or one GPU that holds all of it?"""
    return case.routed_bytes is not None and case.rest_bytes is not None


def _absolute_rows(case: Case, predicted: MemoryEstimate) -> list[Row]:
    """The whole card less what it held before: our total, the printed weights where the placement is not known."""
    rows = []
    baseline = float(case.measured.get("baseline") or 0)
    for name, card in (case.measured.get("card_total") or {}).items():
        ours = _device(predicted, name)
        if ours is None or card is None:
            continue
        printed = case.printed.get(name, {}).get("model")
        weights = ours.weights_bytes / MIB if printed is None or _decided(case) else float(printed)
        total = weights + (ours.total_bytes - ours.weights_bytes) / MIB + _overhead_mib(case, name)
        rows.append(Row(case, name, "card", total, float(card) - baseline))
    return rows


def _overhead_mib(case: Case, device: str) -> float:
    """What the app assumes for a card's own needs until it has measured them."""
    size = case.card_mib(device)
    total = None if size is None else round(size * MIB)
    return overhead_estimate_bytes(device, DeviceKind.GPU, total) / MIB


def _judge_series(name: str, members: list[Case], outcome: Outcome) -> None:
    """Rows of one host and file: learn what the engine never prints on the first ones, predict the others' steps."""
    n = int(members[0].judge.get("calibrate_rows") or 1)
    learning, rest = members[:n], members[n:]
    if not rest:
        outcome.skipped += [(case.id, f"series {name}: no row besides those it is calibrated on") for case in members]
        return
    ours = {case.id: predict(case)[0] for case in members}
    for device in members[0].measured.get("card_total") or {}:
        known = [(_card(c, device), _total(ours[c.id], device)) for c in learning]
        offsets = [card - total for card, total in known if card is not None and total is not None]
        if not offsets:
            continue
        offset = statistics.fmean(offsets)
        base = statistics.fmean(card for card, _ in known if card is not None)
        outcome.learned[f"{name} {device}"] = offset
        for case in rest:
            card, total = _card(case, device), _total(ours[case.id], device)
            if card is None or total is None:
                outcome.skipped.append((case.id, f"series {name}: no figure of {device}"))
                continue
            step = abs(card - base)
            scale = step if step >= _STEP_FLOOR * card else card
            outcome.rows.append(Row(case, device, "series", total + offset, card, scale))
    outcome.skipped += [(case.id, f"series {name}: a row it is calibrated on") for case in learning]


def _card(case: Case, device: str) -> float | None:
    value = (case.measured.get("card_total") or {}).get(device)
    return None if value is None else float(value)


def _total(predicted: MemoryEstimate, device: str) -> float | None:
    ours = _device(predicted, device)
    return None if ours is None else ours.total_bytes / MIB


# --- summaries --------------------------------------------------------------------------------------------------------


def percentile(values: Iterable[float], share: float) -> float | None:
    """Linear interpolation between the ranks; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _errors(rows: Iterable[Row]) -> dict[str, float | int | None]:
    """Sizes of the errors as fractions, and how far too low the 95th percentile is."""
    errors = [row.error for row in rows]
    sizes = [abs(e) for e in errors]
    return {
        "n": len(errors),
        "median": percentile(sizes, 0.5),
        "p95": percentile(sizes, 0.95),
        "worst": max(sizes, default=None),
        "low_p95": percentile([max(0.0, -e) for e in errors], 0.95),
        "low_over_2_percent": sum(1 for e in errors if e < -0.02) / len(errors) if errors else None,
    }


def summary_of(outcome: Outcome) -> dict:
    """The figures of the whole file, as ``--json`` prints them."""

    def of(what: str, keep: Callable[[Row], bool] = lambda _: True) -> list[Row]:
        return [row for row in outcome.rows if row.what == what and keep(row)]

    kv, compute = of("kv"), of("compute", lambda row: not row.case.is_ik)
    close = [row for row in kv if abs(row.gap_mib) <= 1.0 or abs(row.error) <= 0.01]
    of_the_card = _errors([replace(row, scale_mib=None) for row in of("series")])
    low = {key: of_the_card[key] for key in ("low_p95", "low_over_2_percent")}  # what overflows is the card, not a step
    return {
        "cases": outcome.n_cases,
        "judged": len({row.case.id for row in outcome.rows}),
        "skipped": [{"id": case_id, "reason": reason} for case_id, reason in outcome.skipped],
        "kv": {**_errors(kv), "within_1_mib_or_1_percent": len(close) / len(kv) if kv else None},
        "weights": _errors(of("weights", lambda row: not row.case.judge.get("weights_circular"))),
        "total": _errors(of("total")),
        "total_ik": _errors(of("total_ik")),
        "compute": _gaps(compute),
        "compute_ik": _gaps(of("compute", lambda row: row.case.is_ik)),
        "series": {**_errors(of("series")), **low, "of_the_card": of_the_card},
        "card": _errors(of("card")),
        "rows": [
            {
                "id": row.case.id,
                "device": "HOST" if row.device == RAM else row.device,
                "what": row.what,
                "predicted_mib": round(row.predicted_mib, 2),
                "actual_mib": round(row.actual_mib, 2),
                "error": round(row.error, 5),
            }
            for row in outcome.rows
        ],
    }


def _gaps(rows: Sequence[Row]) -> dict[str, float | int | None]:
    gaps = [abs(row.gap_mib) for row in rows]
    return {"n": len(gaps), "median_mib": percentile(gaps, 0.5), "p95_mib": percentile(gaps, 0.95)}


def _percent(value: float | int | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _print_groups(outcome: Outcome, label: str, key: Callable[[Row], str]) -> None:
    print(f"\nby {label}: what, n, median, worst")
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in outcome.rows:
        groups[key(row), row.what].append(row)
    for (name, what), rows in sorted(groups.items()):
        sizes = [abs(row.error) for row in rows]
        print(
            f"  {name:16} {what:9} {len(rows):3}  {_percent(statistics.median(sizes)):>9}  {_percent(max(sizes)):>9}"
            f"  median gap {statistics.median(abs(row.gap_mib) for row in rows):7.1f} MiB"
        )


def _print(outcome: Outcome, summary: dict) -> None:
    print(f"{summary['cases']} cases, {summary['judged']} judged, {len(outcome.rows)} figures")
    for what in ("kv", "weights", "total", "total_ik", "series", "card"):
        s = summary[what]
        print(
            f"{what:9} n {s['n']:3}  median {_percent(s['median']):>8}  p95 {_percent(s['p95']):>8}"
            f"  worst {_percent(s['worst']):>9}  p95 too low {_percent(s['low_p95']):>8}"
            f"  more than 2 % too low {_percent(s['low_over_2_percent']):>8}"
        )
    print(f"kv within 1 MiB or 1 %: {_percent(summary['kv']['within_1_mib_or_1_percent'])}")
    for what in ("compute", "compute_ik"):
        s = summary[what]
        if s["n"]:
            print(f"{what:10} n {s['n']:3}  median {s['median_mib']:.1f} MiB  p95 {s['p95_mib']:.1f} MiB")
    _print_groups(outcome, "architecture", lambda row: row.case.arch)
    _print_groups(outcome, "engine", lambda row: row.case.engine)
    _print_groups(outcome, "build", lambda row: str(row.case.raw.get("build") or row.case.raw.get("date") or "unknown"))
    print("\nworst ten totals and steps")
    judged = [row for row in outcome.rows if row.what in ("total", "total_ik", "series", "card")]
    for row in sorted(judged, key=lambda row: -abs(row.error))[:10]:
        print(
            f"  {_percent(row.error):>9}  {row.gap_mib:9.1f} MiB of {row.actual_mib:9.1f}"
            f"  {row.what:9} {row.device:6} {row.case.id}"
        )
    print("\nlearned beyond the estimate, MiB (with the weights the facts do not tell)")
    for name, offset in outcome.learned.items():
        print(f"  {offset:9.1f}  {name}")
    print("\nnot judged")
    for case_id, reason in outcome.skipped:
        print(f"  {case_id}: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    outcome = judge_all(load_cases(options.cases))
    summary = summary_of(outcome)
    if options.json:
        print(json.dumps(summary, indent=1))
    else:
        _print(outcome, summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
