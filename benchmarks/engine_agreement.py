"""The memory estimate beside the engine's own dry run, live: architectures x placements x context x KV x micro-batch.

Run: python -m benchmarks.engine_agreement --engine FOLDER [--quick] [--recorded] [--json]
Targets: weights and KV within 1 MiB in all, compute within max(16 MiB, 5 %) in 95 % of the figures; on the twelve
anchor cases each total within 16 MiB. Beside it in the same table: llama-fit-params, the engine's own estimating tool,
which assumes one logit row per token of a micro-batch. ``--recorded`` compares with the answers kept in tests/data.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.common.paths import app_paths
from app.engine.environment import engine_environment
from app.model.reader import read_model
from app.planner.memory import estimate
from tests.tools.dry_run_cases import PLACEMENTS, DryRun, all_cases, anchor_cases, dry_runs
from tests.tools.record_dry_runs import LiveEngine, live_engine
from tests.tools.sparse_models import make_sparse

MIB = 1 << 20


@dataclass(frozen=True)
class Row:
    """One device of one case: our figures and the engine's, MiB; the engine rounds down."""

    run: DryRun
    device: str
    ours: tuple[float, float, float]
    theirs: tuple[int, int, int]

    @property
    def gaps(self) -> tuple[float, float, float]:
        """Weights, KV, compute; 0 where we are within the engine's rounding, above it the estimate is too high."""
        raw = [a - b for a, b in zip(self.ours, self.theirs, strict=True)]
        return tuple(0.0 if 0 <= gap < 1 else gap if gap < 0 else gap - 1 for gap in raw)

    @property
    def is_exact(self) -> bool:
        """Weights and KV within 1 MiB."""
        return all(-1 <= gap <= 0.01 for gap in self.gaps[:2])

    @property
    def is_close(self) -> bool:
        """Compute within max(16 MiB, 5 %)."""
        return abs(self.gaps[2]) <= max(16, 0.05 * self.theirs[2])


def _rows(run: DryRun, model, told: dict[str, tuple[int, int, int]]) -> list[Row]:
    predicted = estimate(model, run.place(model), run.devices, run.settings)
    rows = []
    for device in predicted.devices:
        if device.device in told:
            ours = (device.weights_bytes / MIB, device.kv_bytes / MIB, device.compute_bytes / MIB)
            rows.append(Row(run, device.device, ours, told[device.device]))
    return rows


def _recorded(cases: set[DryRun]) -> Iterator[tuple[DryRun, object, dict]]:
    with tempfile.TemporaryDirectory() as folder:
        models = {}
        for run in dry_runs():
            if run.model not in models:
                path = Path(folder) / f"{run.model}.gguf"
                make_sparse(run.model, path, has_vocabulary=False)
                models[run.model] = read_model(path)
            if run in cases:
                yield run, models[run.model], {name: tuple(mib) for name, mib in run.mib.items()}


def _live(engine: LiveEngine, cases: tuple[DryRun, ...], seconds: list[float]) -> Iterator[tuple[DryRun, object, dict]]:
    for done, run in enumerate(cases):
        model = engine.model(run.model)
        start = time.perf_counter()
        told = engine.told(run)
        seconds.append(time.perf_counter() - start)
        print(f"\r{done + 1} of {len(cases)}", end="", file=sys.stderr, flush=True)
        yield (
            run,
            model,
            {name: (d.weights_bytes // MIB, d.kv_bytes // MIB, d.compute_bytes // MIB) for name, d in told.items()},
        )
    print(file=sys.stderr)


def _fit_params(engine: LiveEngine, run: DryRun) -> int | None:
    """Total MiB on the first card as llama-fit-params says; None when it cannot say."""
    program = engine.binary.fit_params
    if program is None or not run.devices.gpus:
        return None
    argv = [word for word in engine.arguments(run) if word not in ("-kvu", "-no-kvu")]
    done = subprocess.run(
        [program, *argv, "-fitp", "on"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=engine_environment(app_paths().engine_home),
    )
    match = re.search(r"^RPC0 (\d+) (\d+) (\d+)", done.stdout, re.MULTILINE)
    return sum(map(int, match.groups())) if match else None


def _summary(rows: list[Row], peer: list[float], engine_s: list[float], ours_s: float) -> dict[str, object]:
    anchors = set(anchor_cases())
    totals = [abs(sum(row.gaps)) for row in rows if row.run in anchors and row.device == "RPC0"]
    return {
        "combinations": len({row.run for row in rows}),
        "figures": len(rows),
        "weights_and_kv_within_1_mib": sum(row.is_exact for row in rows) / len(rows),
        "compute_within_16_mib_or_5_percent": sum(row.is_close for row in rows) / len(rows),
        "compute_within_1_mib": sum(abs(row.gaps[2]) <= 0.01 for row in rows) / len(rows),
        "worst_compute_gap_mib": round(max(abs(row.gaps[2]) for row in rows), 2),
        "anchors": len(totals),
        "worst_anchor_total_gap_mib": round(max(totals), 2) if totals else None,
        "median_total_gap_of_fit_params_mib": round(statistics.median(peer), 1) if peer else None,
        "engine_dry_run_ms": round(statistics.median(engine_s) * 1000) if engine_s else None,
        "our_estimate_ms": round(ours_s / len({row.run for row in rows}) * 1000, 2),
    }


def _print_tables(rows: list[Row]) -> None:
    for title, key in (("model", lambda row: row.run.model), ("placement", lambda row: PLACEMENTS[row.run.placement])):
        groups = defaultdict(list)
        for row in rows:
            groups[key(row)].append(row)
        print(f"\n{title:55} figures  weights+KV  compute<=1MiB  in tolerance  worst MiB")
        for name, group in groups.items():
            n = len(group)
            exact, close = sum(row.is_exact for row in group), sum(row.is_close for row in group)
            within = sum(abs(row.gaps[2]) <= 0.01 for row in group)
            worst = max(abs(row.gaps[2]) for row in group)
            print(f"{name:55} {n:7} {exact / n:11.1%} {within / n:14.1%} {close / n:13.1%} {worst:10.1f}")


def _case(run: DryRun) -> str:
    kv = "" if run.is_unified else " split"
    return (
        f"{run.model} {run.placement} c{run.n_ctx} ub{run.n_ubatch} {run.cache_type} fa-{run.flash_attn}"
        f" np{run.n_slots}{kv}"
    )


def _print_worst(rows: list[Row]) -> None:
    print("\nworst ten compute figures")
    for row in sorted(rows, key=lambda row: -abs(row.gaps[2]))[:10]:
        print(f"  {row.gaps[2]:+8.2f} of {row.theirs[2]:6} MiB  {row.device:5} {_case(row.run)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path)
    parser.add_argument("--quick", action="store_true", help="every 8th case")
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.engine is None and not options.recorded:
        parser.error("--engine FOLDER or --recorded")
    cases = all_cases()[:: 8 if options.quick else 1]
    rows: list[Row] = []
    engine_s: list[float] = []
    peer: list[float] = []
    ours_s = 0.0

    def compare(run: DryRun, model, told: dict) -> list[Row]:
        nonlocal ours_s
        start = time.perf_counter()
        found = _rows(run, model, told)
        ours_s += time.perf_counter() - start
        rows.extend(found)
        return found

    if options.recorded:
        for run, model, told in _recorded(set(cases)):
            compare(run, model, told)
    else:
        with live_engine(options.engine) as engine:
            for run, model, told in _live(engine, cases, engine_s):
                found = compare(run, model, told)
                if run in anchor_cases() and (tool := _fit_params(engine, run)) is not None:
                    peer.append(abs(tool - sum(found[0].theirs)))
    summary = _summary(rows, peer, engine_s, ours_s)
    if options.json:
        worst = sorted(rows, key=lambda row: -abs(row.gaps[2]))[:10]
        gaps = [{"case": _case(row.run), "device": row.device, "gaps_mib": row.gaps} for row in worst]
        print(json.dumps({**summary, "worst": gaps}, indent=1))
        return 0
    for key, value in summary.items():
        print(f"{key:40} {value:.4f}" if isinstance(value, float) else f"{key:40} {value}")
    _print_tables(rows)
    _print_worst(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
