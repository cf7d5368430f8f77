"""The app's speed model beside public tables of measured placements: errors, and the regret of its first choice.

Run: python benchmarks/speed_model.py TABLES.json [--json], or with -m benchmarks.speed_model from the root.
On tables of kind placement with at least 4 rows, calibrated by one row (the one in the middle by expert layers in RAM):
the error of every other row's decode, and what our first choice among the rows that the memory model says fit gives
away. The trivial rule beside it takes the fewest expert layers in RAM. Targets: median error <= 10 %, mean regret
<= 3 % and below the trivial rule's, no spilled pick. Other kinds are reported apart.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # when run as a file, its own folder is all that Python looks in

from app.planner.calibration import Measurement, calibrate, rates_of, token_seconds
from app.planner.token_work import TokenWork
from app.planner.types import DeviceSet
from benchmarks.speed_tables import Host, Table

_LEAST_ROWS = 4
_UNREADABLE = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
"""What a table that lacks something raises; one such table must not end the run over the others, and it is listed."""


@dataclass(frozen=True)
class Row:
    """One judged row. ``error`` is signed: above 0 the prediction is too fast."""

    table: str
    kind: str
    row: int
    predicted_tps: float
    measured_tps: float

    @property
    def error(self) -> float:
        return self.predicted_tps / self.measured_tps - 1


@dataclass(frozen=True)
class Choice:
    """What was picked in one table: our row and the trivial rule's, with the share of the best row's speed lost."""

    table: str
    picked: int
    regret: float
    is_spilled: bool
    trivial: int
    trivial_regret: float
    trivial_is_spilled: bool
    best: int


@dataclass
class Outcome:
    n_tables: int = 0
    judged: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    unjudged_choices: list[tuple[str, str]] = field(default_factory=list)


def tables_of(data: object) -> list:
    """The tables of a file: a list, or an object that has one under ``tables``; anything else holds none."""
    found = data.get("tables") if isinstance(data, dict) else data
    return found if isinstance(found, list) else []


def judge_all(tables: Sequence[object]) -> Outcome:
    """Judges every table, each host of a table by itself; what is no table is listed."""
    outcome = Outcome(n_tables=len(tables))
    for number, raw in enumerate(tables):
        if not isinstance(raw, dict):
            outcome.skipped.append((f"number {number}", "no table"))
            continue
        table = Table(raw)
        before = len(outcome.judged)
        reasons = []
        try:
            for host in table.hosts():
                reason = _judge(table, host, outcome)
                if reason:
                    reasons.append(reason)
        except _UNREADABLE as error:
            reasons.append(str(error.args[0]) if isinstance(error, LookupError) and error.args else repr(error))
        if len(outcome.judged) == before:
            outcome.skipped.append((table.id, "; ".join(dict.fromkeys(reasons)) or "no column of decode speeds"))
    return outcome


def _judge(table: Table, host: Host, outcome: Outcome) -> str | None:
    """Adds the rows of one host; the reason when it cannot be judged."""
    usable = table.usable(host.target)
    kind = str(table.raw.get("kind"))
    if len(usable) < 2 or (kind == "placement" and len(table.rows) < _LEAST_ROWS):
        return f"{host.target}: {len(usable)} usable rows of {len(table.rows)}"
    if not table.placements:
        return "the rows' placements are not told"
    if kind not in ("placement", "depth", "kv"):
        return f"kind {kind}: nothing in its rows that the speed model depends on"
    devices = table.devices(host)
    works = {row: table.work(row, devices) for row in table.measured(host.target)}
    if kind != "placement" and len({_cost(w) for w in works.values()}) < 2:
        return f"kind {kind}: nothing in its rows that the speed model depends on"
    middle = calibrating_row(usable, works)
    tps = {row: float(table.tps(row, host.target) or 0) for row in works}
    predicted = predict(devices, works, middle, tps[middle])
    name = table.id if len(table.hosts()) == 1 else f"{table.id} {host.target}"
    outcome.judged.append(name)
    outcome.rows += [Row(name, kind, row, predicted[row], tps[row]) for row in usable if row != middle]
    if kind == "placement":
        _choose(name, table, devices, predicted, tps, outcome)
    return None


def _cost(work: TokenWork) -> tuple:
    return (tuple(sorted(work.read_bytes.items())), work.hand_overs)


def calibrating_row(usable: Sequence[int], works: Mapping[int, TokenWork]) -> int:
    """The row in the middle by bytes read from RAM: what a user who tries one ordinary placement would have."""
    ordered = sorted(usable, key=lambda row: (works[row].ram_weight_bytes, row))
    return ordered[len(ordered) // 2]


def predict(devices: DeviceSet, works: Mapping[int, TokenWork], row: int, tps: float) -> dict[int, float]:
    """Decode tok/s of all rows after one of them has been measured."""
    rates = rates_of(devices, calibrate(devices, [Measurement(works[row], tps)]))
    return {each: 1 / sum((token_seconds(work, rates) or {"": float("inf")}).values()) for each, work in works.items()}


def _choose(
    name: str,
    table: Table,
    devices: DeviceSet,
    predicted: Mapping[int, float],
    tps: Mapping[int, float],
    outcome: Outcome,
) -> None:
    """Our first choice: the fastest predicted of the rows that fit, the later (larger context) of equals.

    Rows that differ in their depth alone are one placement: it is judged at the deepest, and spilled if any row is.
    """
    if any(d.free_bytes is None for d in devices.gpus):
        outcome.unjudged_choices.append((name, "the card's memory is not told"))
        return
    deepest = max(table.depth(row) for row in tps)
    rows = [row for row in tps if table.depth(row) == deepest]
    spilled = {row for row in rows if any(_same_placement(table, row, other) for other in table.spilled)}
    good = [row for row in rows if row not in spilled]
    fitting = [row for row in rows if _fits(table, row, devices)]
    if not good or not fitting:
        reason = "every row spilled" if not good else "no row fits by the memory model"
        outcome.unjudged_choices.append((name, reason))
        return
    best = max(good, key=lambda row: tps[row])
    works = {row: table.work(row, devices) for row in rows}
    picked = max(fitting, key=lambda row: (round(predicted[row], 2), row))
    trivial = min(rows, key=lambda row: (works[row].ram_weight_bytes, row))
    outcome.choices.append(
        Choice(
            name,
            picked,
            max(0.0, 1 - tps[picked] / tps[best]),
            picked in spilled,
            trivial,
            max(0.0, 1 - tps[trivial] / tps[best]),
            trivial in spilled,
            best,
        )
    )


def _same_placement(table: Table, row: int, other: int) -> bool:
    return table.placements[row] == table.placements[other]


def _fits(table: Table, row: int, devices: DeviceSet) -> bool:
    predicted = table.memory(row, devices)
    return all(predicted.get(d.name).fits for d in devices.gpus)


def summary(outcome: Outcome) -> dict:
    """The figures of the contract, and the other kinds apart."""
    placement = [row for row in outcome.rows if row.kind == "placement"]
    regrets = [choice.regret for choice in outcome.choices]
    trivial = [choice.trivial_regret for choice in outcome.choices]
    return {
        "tables": outcome.n_tables,
        "judged": len({row.table for row in placement}),
        "skipped": [{"table": name, "why": why} for name, why in outcome.skipped],
        "median_error": _median([abs(row.error) for row in placement]),
        "mean_regret": _mean(regrets),
        "worst_regret": max(regrets, default=None),
        "trivial_mean_regret": _mean(trivial),
        "spilled_picks": sum(choice.is_spilled for choice in outcome.choices),
        "trivial_spilled_picks": sum(choice.trivial_is_spilled for choice in outcome.choices),
        "choices": [vars(choice) for choice in outcome.choices],
        "regret_not_judged": [{"table": name, "why": why} for name, why in outcome.unjudged_choices],
        "other_kinds": {
            kind: {"rows": len(errors), "median_error": _median(errors)}
            for kind in sorted({row.kind for row in outcome.rows} - {"placement"})
            if (errors := [abs(row.error) for row in outcome.rows if row.kind == kind])
        },
        "rows": [
            {
                "table": row.table,
                "kind": row.kind,
                "row": row.row,
                "predicted_tps": round(row.predicted_tps, 2),
                "measured_tps": row.measured_tps,
                "error": round(row.error, 4),
            }
            for row in outcome.rows
        ],
    }


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _print(outcome: Outcome, told: Mapping) -> None:
    for key in ("tables", "judged", "median_error", "mean_regret", "worst_regret", "trivial_mean_regret",
                "spilled_picks", "trivial_spilled_picks"):  # fmt: skip
        value = told[key]
        print(f"{key:24} {value:.4f}" if isinstance(value, float) else f"{key:24} {value}")
    print("\nmedian error, rows | our regret | trivial rule's regret | picked, trivial, best row")
    choices = {choice.table: choice for choice in outcome.choices}
    for name in dict.fromkeys(row.table for row in outcome.rows if row.kind == "placement"):
        errors = [abs(row.error) for row in outcome.rows if row.table == name]
        choice = choices.get(name)
        tail = "-" if choice is None else (
            f"{choice.regret:6.1%}{' SPILLED' if choice.is_spilled else ''} {choice.trivial_regret:6.1%}"
            f"{' spilled' if choice.trivial_is_spilled else ''}  {choice.picked}, {choice.trivial}, {choice.best}"
        )  # fmt: skip
        print(f"  {name:38} {statistics.median(errors):6.1%} {len(errors):3} | {tail}")
    for kind, figures in told["other_kinds"].items():
        print(f"  kind {kind}: median error {figures['median_error']:.1%} of {figures['rows']} rows")
    for each in (*told["skipped"], *told["regret_not_judged"]):
        print(f"  not judged: {each['table']}: {each['why']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = json.loads(Path(options.tables).read_text("utf-8"))
    outcome = judge_all(tables_of(data))
    told = summary(outcome)
    if options.json:
        print(json.dumps(told, indent=1))
    else:
        _print(outcome, told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
