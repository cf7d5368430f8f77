"""The app's memory estimate beside public logs: KV, weights, compute and totals per device, and whole cards in series.

Run: python benchmarks/memory_accuracy.py CASES.json [--json] [--worst N], or with -m benchmarks.memory_accuracy.
The file's form: each case has facts, run, measured figures (MiB) and what its ``judge`` says can be judged. Targets:
KV within 1 MiB or 1 % in 95 %; mainline totals per device: median <= 1 %, p95 <= 4 %; series of one card: median step
error <= 2 %; more than 2 % too low in at most 5 %.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # when run as a file, its own folder is all that Python looks in

from app.common.units import MIB
from app.planner.kv import kv_bytes_by_block
from app.planner.overhead import overhead_estimate_bytes
from app.planner.types import RAM, DeviceEstimate, DeviceKind, MemoryEstimate
from benchmarks.case_model import layer_facts, model_of
from benchmarks.case_run import settings_of
from benchmarks.cases import Case, load_cases
from benchmarks.memory_accuracy_report import print_report
from benchmarks.memory_accuracy_rows import UNREADABLE, Outcome, Row, device_of, mapping, number, pool_mib, predict
from benchmarks.memory_accuracy_series import judge_series


def judge_all(cases: Sequence[Case]) -> Outcome:
    """Judges what each case says can be judged."""
    outcome = Outcome(n_cases=len(cases))
    series: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        try:
            rows = [row for row in _judge_case(case) if row.is_number]
        except UNREADABLE as error:
            outcome.skipped.append((case.id, f"the case cannot be read: {error!r}"))
            continue
        outcome.rows += rows
        if case.judge.get("card") == "series":
            series[str(case.judge.get("series"))].append(case)
        elif not rows:
            outcome.skipped.append((case.id, _reason(case)))
    for name, members in series.items():
        try:
            judge_series(name, members, outcome)
        except UNREADABLE as error:
            outcome.skipped += [(case.id, f"series {name} cannot be read: {error!r}") for case in members]
    return outcome


def _reason(case: Case) -> str:
    why = case.judge.get("why")
    if isinstance(why, dict) and why:
        return "; ".join(f"{what}: {reason}" for what, reason in why.items())
    return str(why) if why else "no printed figure that the facts and the run decide"


def _judge_case(case: Case) -> list[Row]:
    wanted = {what for what in ("kv", "compute", "weights", "total") if case.judge.get(what)}
    if {"kv", "compute"} <= wanted:
        wanted.add("total")
    if not wanted and case.judge.get("card") != "absolute":
        return []
    rows: list[Row] = []
    predicted, has_compute = predict(case)
    if not has_compute:
        wanted -= {"compute", "total"}
    if "kv" in wanted:
        rows += _kv_rows(case, predicted)
    for name, printed in case.printed.items():
        ours = device_of(predicted, name)
        if ours is not None:
            rows += _device_rows(case, name, mapping(printed), ours, wanted)
    if case.judge.get("card") == "absolute":
        rows += _absolute_rows(case, predicted)
    return rows


def _kv_rows(case: Case, predicted: MemoryEstimate) -> list[Row]:
    actual = number(case.measured.get("kv_all_devices"))
    if actual is None:
        return []
    total = sum(d.kv_bytes for d in predicted.devices)
    if not case.measured.get("kv_includes_state"):
        total -= _state_bytes(case)
    return [Row(case, "all", "kv", total / MIB, actual)]


def _state_bytes(case: Case) -> int:
    """Recurrent state inside our KV figure."""
    if not any(layer.recurrent for layer in layer_facts(case)):
        return 0
    model = model_of(case)
    sizes = kv_bytes_by_block(model, settings_of(case).kv)
    return sum(n for block, n in sizes.items() if model.layers[block].recurrent)


def _device_rows(case: Case, name: str, printed: Mapping, ours: DeviceEstimate, wanted: set[str]) -> list[Row]:
    rows = []
    model_mib, kv_mib, compute_mib = (number(printed.get(key)) for key in ("model", "kv", "compute"))
    is_span = bool(case.measured.get("host_model_is_span" if name == RAM else "device_model_is_span"))
    if "compute" in wanted and compute_mib is not None and (name == RAM or case.homes_are_known):
        rows.append(Row(case, name, "compute", ours.compute_bytes / MIB, compute_mib))
    if name == RAM or not case.homes_are_known:
        return rows
    decided = "weights" in wanted and not is_span and _decided(case)
    if decided and model_mib is not None:
        rows.append(Row(case, name, "weights", ours.weights_bytes / MIB, model_mib))
    if "total" in wanted and not is_span and model_mib is not None and compute_mib is not None:
        weights = ours.weights_bytes / MIB if decided else model_mib
        total = weights + (ours.kv_bytes + ours.compute_bytes) / MIB
        actual = model_mib + (kv_mib or 0.0) + compute_mib
        rows.append(Row(case, name, "total_ik" if case.is_ik else "total", total, actual))
    return rows


def _decided(case: Case) -> bool:
    """Do the facts say how large the weights are: the routed experts and the rest, or one GPU that holds all of it?"""
    return case.routed_bytes is not None and case.rest_bytes is not None


def _absolute_rows(case: Case, predicted: MemoryEstimate) -> list[Row]:
    """The whole card less what it held before: our total, the printed weights where the placement is not known."""
    rows = []
    baseline = number(case.measured.get("baseline")) or 0.0
    is_placed = case.run.get("overrides") is not None and _decided(case)
    for name, told in mapping(case.measured.get("card_total")).items():
        ours, card = device_of(predicted, name), number(told)
        printed = number(mapping(case.printed.get(name)).get("model"))
        if ours is None or card is None or (printed is None and not _decided(case)):
            continue
        weights = ours.weights_bytes / MIB if printed is None or is_placed else printed
        total = weights + (ours.total_bytes - ours.weights_bytes) / MIB + _overhead_mib(case, name)
        rows.append(Row(case, name, "card", total, card - baseline))
    return rows


def _overhead_mib(case: Case, device: str) -> float:
    """What the app assumes for a card's own needs until it has measured them; nothing in the engine's own sums."""
    if "engine allocations" in str(case.measured.get("card_basis")):
        return 0.0
    size = case.card_mib(device)
    total = None if size is None else round(size * MIB)
    return overhead_estimate_bytes(device, DeviceKind.GPU, total) / MIB + pool_mib(case, device)


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
    decided = [row for row in of("series") if not row.case.routed_is_average]
    decided_low = [replace(row, scale_mib=None) for row in decided]
    of_decided = {
        **_errors(decided),
        **{key: value for key, value in _errors(decided_low).items() if key.startswith("low_")},
    }
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
        "series": {**_errors(of("series")), **low, "of_the_card": of_the_card, "decided": of_decided},
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="how many of the worst errors to explain")
    options = parser.parse_args()
    outcome = judge_all(load_cases(options.cases))
    summary = summary_of(outcome)
    if options.json:
        print(json.dumps(summary, indent=1))
    else:
        print_report(outcome, summary, max(0, options.worst))
    return 0


if __name__ == "__main__":
    sys.exit(main())
