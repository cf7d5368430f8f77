"""The memory estimate beside the real engine's own dry run, live: models x placements x context x micro-batch.

Run: python -m benchmarks.memory_vs_engine --engine FOLDER [--quick] [--json]
Weights and KV must agree to 1 MiB; compute within max(16 MiB, 5 %). The alternative in the same table is
llama-fit-params, the engine's own estimating tool, which assumes one logit row per micro-batch token.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from app.common.paths import app_paths
from app.engine.environment import engine_environment
from app.engine.locate import engine_at
from app.engine.probe import dry_run
from app.engine.rpc import RpcServer
from app.model.reader import read_model
from app.planner.memory import estimate
from app.planner.overrides import compile_overrides, ot_argument
from app.planner.types import Device, DeviceKind, DeviceSet
from tests.tools.dry_run_cases import RAM_DEVICE, DryRun, dry_runs
from tests.tools.sparse_models import make_sparse

MIB = 1 << 20


def _arguments(run: DryRun, model_path: str, devices: DeviceSet, endpoint: str) -> list[str]:
    model = read_model(model_path)
    placement = run.place(model)
    rules = compile_overrides(model, placement, devices)
    argv = ["-m", model_path, "-c", str(run.n_ctx), "-ub", str(run.n_ubatch), "-np", str(run.n_slots)]
    argv += ["-ctk", run.cache_type, "-ctv", run.cache_type, "-fa", run.flash_attn, "-nr", "-lm", "none"]
    argv += ["-kvu"] if run.n_slots > 1 else []
    argv += ["-nkvo"] if run.placement == "N" else []
    if run.placement == "E":
        return [*argv, "-dev", "none", "-ngl", "0"]
    argv += ["--rpc", endpoint, "-ngl", str(placement.n_gpu_layers)]
    return [*argv, "-ot", ot_argument(rules)] if rules else argv


def _fit_params_total(program: str, argv: list[str]) -> int | None:
    """MiB on the device as llama-fit-params says; None when it takes one of the options not at all."""
    argv = [a for a in argv if a != "-kvu"]
    done = subprocess.run(
        [program, *argv, "-fitp", "on"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=engine_environment(app_paths().engine_home),
    )
    match = re.search(r"^RPC0 (\d+) (\d+) (\d+)", done.stdout, re.MULTILINE)
    return sum(map(int, match.groups())) if match else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--quick", action="store_true", help="every 8th case")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    binary = engine_at(Path(options.engine))
    rows = []
    with tempfile.TemporaryDirectory() as folder, RpcServer(binary, app_paths()) as server:
        buffer_name = f"RPC0[{server.endpoint}]"
        gpu = Device("RPC0", DeviceKind.RPC, 64 << 30, 64 << 30, buffer_name=buffer_name)
        devices = DeviceSet((gpu,), replace(RAM_DEVICE, free_bytes=64 << 30), rpc_servers=(server.endpoint,))
        cases = dry_runs()[:: 8 if options.quick else 1]
        for run in cases:
            path = Path(folder) / f"{run.model}.gguf"
            if not path.exists():
                make_sparse(run.model, path)
            active = DeviceSet((), devices.ram) if run.placement == "E" else devices
            argv = _arguments(run, str(path), devices, server.endpoint)
            told = {d.device: d for d in dry_run(binary, tuple(argv), app_paths(), timeout_s=60)}
            model = read_model(path)
            predicted = estimate(model, run.place(model), active, run.settings)
            tool = _fit_params_total(binary.fit_params, argv) if binary.fit_params and run.placement != "E" else None
            rows += _rows(run, predicted, told, tool)
            print(f"\r{len(rows)} rows", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return _report(rows, options.json)


def _rows(run, predicted, told, tool):
    found = []
    for device in predicted.devices:
        engine = told.get(device.device)
        if engine is None:
            continue
        ours = (device.weights_bytes, device.kv_bytes, device.compute_bytes)
        theirs = (engine.weights_bytes, engine.kv_bytes, engine.compute_bytes)
        gaps = [(a - b) / MIB for a, b in zip(ours, theirs, strict=True)]
        total = sum(theirs) / MIB
        found.append(
            {
                "case": f"{run.model} {run.placement} c{run.n_ctx} ub{run.n_ubatch} {run.cache_type}"
                f" fa-{run.flash_attn}",
                "device": device.device,
                "gaps_mib": [round(g, 2) for g in gaps],
                "compute_mib": engine.compute_bytes / MIB,
                "total_gap_mib": round(sum(gaps), 2),
                "fit_params_gap_mib": None if tool is None or device.device == "RAM" else round(tool - total, 2),
            }
        )
    return found


def _report(rows, as_json):
    exact = sum(1 for r in rows if -0.01 <= r["gaps_mib"][0] < 1.01 and -0.01 <= r["gaps_mib"][1] < 1.01)
    close = sum(1 for r in rows if abs(r["gaps_mib"][2]) <= max(16, 0.05 * r["compute_mib"]))
    ours = [abs(r["total_gap_mib"]) for r in rows if r["fit_params_gap_mib"] is not None]
    tool = [abs(r["fit_params_gap_mib"]) for r in rows if r["fit_params_gap_mib"] is not None]
    summary = {
        "rows": len(rows),
        "weights_and_kv_within_1_mib": exact / len(rows),
        "compute_within_16_mib_or_5_percent": close / len(rows),
        "median_total_gap_mib": statistics.median(ours) if ours else None,
        "median_total_gap_mib_fit_params": statistics.median(tool) if tool else None,
    }
    if as_json:
        print(json.dumps({**summary, "worst": sorted(rows, key=lambda r: -abs(r["total_gap_mib"]))[:10]}, indent=1))
    else:
        for key, value in summary.items():
            print(f"{key:40} {value if isinstance(value, int) or value is None else round(value, 3)}")
        for row in sorted(rows, key=lambda r: -abs(r["total_gap_mib"]))[:10]:
            print(f"  {row['total_gap_mib']:8.1f} MiB  {row['device']:5} {row['case']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
