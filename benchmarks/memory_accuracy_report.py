"""The benchmark's figures for people: by architecture, engine and build, and the worst errors explained."""

import statistics
from collections import defaultdict
from collections.abc import Callable

from benchmarks.memory_accuracy_rows import Outcome, Row

_TOTALS = ("total", "total_ik", "series", "card")


def percent(value: float | int | None) -> str:
    """A fraction as a percentage; a dash when it is unknown."""
    return "-" if value is None else f"{100 * value:.2f} %"


def print_report(outcome: Outcome, summary: dict, n_worst: int) -> None:
    """All tables."""
    print(f"{summary['cases']} cases, {summary['judged']} judged, {len(outcome.rows)} figures")
    for what in ("kv", "weights", "total", "total_ik", "series", "card"):
        s = summary[what]
        print(
            f"{what:9} n {s['n']:3}  median {percent(s['median']):>8}  p95 {percent(s['p95']):>8}"
            f"  worst {percent(s['worst']):>9}  p95 too low {percent(s['low_p95']):>8}"
            f"  more than 2 % too low {percent(s['low_over_2_percent']):>8}"
        )
    decided = summary["series"]["decided"]
    print(
        f"series whose facts decide every size: n {decided['n']}  median {percent(decided['median'])}"
        f"  more than 2 % of the card too low {percent(decided['low_over_2_percent'])}"
    )
    print(f"kv within 1 MiB or 1 %: {percent(summary['kv']['within_1_mib_or_1_percent'])}")
    for what in ("compute", "compute_ik"):
        s = summary[what]
        if s["n"]:
            print(f"{what:10} n {s['n']:3}  median {s['median_mib']:.1f} MiB  p95 {s['p95_mib']:.1f} MiB")
    _print_groups(outcome, "architecture", lambda row: row.case.arch)
    _print_groups(outcome, "engine", lambda row: row.case.engine)
    _print_groups(outcome, "build", lambda row: str(row.case.raw.get("build") or row.case.raw.get("date") or "unknown"))
    print_worst(outcome, n_worst)
    print("\nlearned beyond the estimate, MiB (with the weights the facts do not tell)")
    for name, offset in outcome.learned.items():
        print(f"  {offset:9.1f}  {name}")
    print("\nnot judged")
    for case_id, reason in outcome.skipped:
        print(f"  {case_id}: {reason}")


def _print_groups(outcome: Outcome, label: str, key: Callable[[Row], str]) -> None:
    print(f"\nby {label}: what, n, median, worst")
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in outcome.rows:
        groups[key(row), row.what].append(row)
    for (name, what), rows in sorted(groups.items()):
        sizes = [abs(row.error) for row in rows]
        print(
            f"  {name:16} {what:9} {len(rows):3}  {percent(statistics.median(sizes)):>9}  {percent(max(sizes)):>9}"
            f"  median gap {statistics.median(abs(row.gap_mib) for row in rows):7.1f} MiB"
        )


def worst(outcome: Outcome, n: int) -> list[Row]:
    """The totals and steps that are furthest off, as shares of the device's total: a step may be small."""
    judged = [row for row in outcome.rows if row.what in _TOTALS]
    return sorted(judged, key=lambda row: -abs(row.gap_mib) / (row.actual_mib or 1.0))[:n]


def print_worst(outcome: Outcome, n: int) -> None:
    """The worst totals and steps, each with what explains it as far as its case tells."""
    print(f"\nworst {n} totals and steps: share of the device, of the step; gap; what explains it")
    for row in worst(outcome, n):
        of_device = row.gap_mib / (row.actual_mib or 1.0)
        print(
            f"  {percent(of_device):>9} {percent(row.error):>9} {row.gap_mib:9.1f} MiB of {row.actual_mib:8.1f}"
            f"  {row.what:8} {row.device:6} {row.case.id}"
        )
        print(f"            {explain(row, outcome)}")


def _untold_experts(row: Row) -> list[str]:
    """A prompt copies experts from RAM to the first card: their tensors' sizes are part of its compute buffer."""
    if row.case.routed_bytes is None:
        return ["it holds copied experts, whose types are not told"]
    if row.case.routed_is_average:
        return ["it holds copied experts, of which only a mean size over unlike layers is told"]
    return []


def explain(row: Row, outcome: Outcome) -> str:
    """The part of a total that is off, and the facts that the case leaves open."""
    parts = []
    if row.what in ("total", "total_ik"):
        own = [r for r in outcome.rows if r.case is row.case and r.device == row.device]
        found = {r.what: r for r in own if r.what in ("weights", "compute")}
        found |= {r.what: r for r in outcome.rows if r.case is row.case and r.what == "kv" and r.device == "all"}
        by_gap = sorted(found.values(), key=lambda r: -abs(r.gap_mib))
        parts = [f"{r.what} {r.gap_mib:+.0f} MiB ({percent(r.error)})" for r in by_gap if abs(r.gap_mib) >= 1.0][:2]
        copies = row.device.endswith("0") and row.case.run.get("experts_on_cpu") in ("some", "all")
        if copies and by_gap and by_gap[0].what == "compute":
            parts += _untold_experts(row)
    parts += row.notes
    return "; ".join(parts) or "nothing that the case tells"
