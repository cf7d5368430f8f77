"""Our plan beside the engine's own fit: header-faithful models x budgets x contexts, both confirmed by the engine.

Run: python benchmarks/against_fit.py --engine FOLDER [--quick] [--json], or with -m benchmarks.against_fit.
The device is a ggml-rpc-server; the fit's target leaves it the same budget as our plan has. What is compared needs no
speed model: MiB read from RAM per token = weights in RAM (routed experts x used / count) + KV held in RAM at half the
context. Weights and totals of both final commands come from the server's own dry run. Targets: ours <= fit's in every
cell, over budget in none.
"""

import argparse
import json
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # when run as a file, its own folder is all that Python looks in

from app.common.paths import app_paths
from app.common.units import GIB, MIB
from app.engine.capabilities import FALLBACK
from app.engine.environment import engine_environment
from app.engine.locate import EngineBinary, engine_at
from app.engine.probe import dry_run
from app.engine.rpc import RpcServer
from app.model.reader import read_model
from app.model.types import ModelInfo
from app.planner.placement import home_of, homes, locations
from app.planner.plan import PlanInputs, kv_settings, make_plan
from app.planner.token_work import kv_read_bytes, ram_bytes_per_token
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Placement, Wishes
from tests.tools.sparse_models import make_sparse

MODELS = ("qwen3-30b", "qwen1.5-moe", "deepseek-v2-lite", "gpt-oss-20b")
BUDGETS_GIB = (4, 6, 8, 10, 12, 16, 20)
CONTEXTS = (8192, 65536)
BEST_KNOWN = {
    ("qwen3-30b", 8, 8192): 637,
    ("qwen3-30b", 12, 8192): 381,
    ("qwen1.5-moe", 8, 8192): 153,
    ("deepseek-v2-lite", 8, 8192): 179,
    ("gpt-oss-20b", 8, 8192): 388,
}
_EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""What ``--cpu-moe`` and ``--n-cpu-moe`` stand for (common.h:1224)."""
_EQUAL_MIB = 0.5
_FLOOR_MIB = 2.0
"""Below this nothing but the embedding's row is read from RAM: everything is on the device."""


@dataclass(frozen=True)
class Side:
    """One planner's answer: what it reads from RAM, what the engine says that it needs, how its rules look."""

    read_mib: float
    device_mib: int
    n_gpu_layers: int
    rules: str
    kv_in_ram: bool
    seconds: float


def read_from_ram_mib(model: ModelInfo, placement: Placement, n_ctx: int) -> float:
    """MiB that a token reads from RAM at half the context."""
    cached = kv_read_bytes(model, kv_settings(model, Wishes(n_ctx=n_ctx)), n_ctx // 2)
    return ram_bytes_per_token(model, placement, cached) / MIB


def placement_of(model: ModelInfo, devices: DeviceSet, argv: Sequence[str]) -> Placement:
    """What the engine makes of ``-ngl``, ``-ot`` or its short forms, and ``-nkvo``; the first rule that hits wins."""
    told = dict(pairwise(argv))
    n_units, said = model.block_count + 1, told.get("-ngl", "all")
    units = n_units if said in ("all", "auto") or int(said) < 0 else min(int(said), n_units)
    kv_home = KvHome.RAM if "-nkvo" in argv or "--no-kv-offload" in argv else KvHome.HOME
    base = Placement(model.block_count, ((devices.gpus[0].name, units),), {}, kv_home)
    rules = [rule.rpartition("=") for rule in told.get("-ot", "").split(",") if rule]
    if "--cpu-moe" in argv:
        rules.append((_EXPERTS, "=", "CPU"))
    rules += [(rf"blk\.{block}{_EXPERTS}", "=", "CPU") for block in range(int(told.get("--n-cpu-moe", 0)))]
    compiled = [(re.compile(pattern), RAM if buffer == "CPU" else devices.gpus[0].name) for pattern, _, buffer in rules]
    unit_homes = homes(base)
    overrides = {}
    for tensor in model.tensors:
        target = next((device for pattern, device in compiled if pattern.search(tensor.name)), None)
        if target is not None and target != home_of(tensor, unit_homes):
            overrides[tensor.name] = target
    return replace(base, overrides=overrides)


def confirm(binary: EngineBinary, argv: Sequence[str], model: ModelInfo, placement: Placement) -> int:
    """MiB that the server says the device would hold; its weights must be those of the placement."""
    told = {d.device: d for d in dry_run(binary, tuple(argv), app_paths(), timeout_s=120)}
    device = told.get("RPC0")
    if device is None:
        return 0
    where = locations(model, placement)
    weights = sum(t.n_bytes for t in model.tensors if where.get(t.name) == "RPC0")
    if model.has_tied_output and placement.home_of_unit(placement.block_count) != RAM:
        weights += sum(t.n_bytes for t in model.tensors if t.name == "token_embd.weight")
    if abs(weights - device.weights_bytes) > 2 * MIB:
        raise RuntimeError(f"the engine places {device.weights_bytes // MIB} MiB, the command says {weights // MIB}")
    return (device.weights_bytes + device.kv_bytes + device.compute_bytes) // MIB


def fit_words(binary: EngineBinary, path: str, endpoint: str, n_ctx: int, margin_mib: int) -> list[str]:
    """``-c -ngl -ot`` as llama-fit-params prints them."""
    if binary.fit_params is None:
        raise FileNotFoundError("llama-fit-params lies not beside the server")
    argv = [binary.fit_params, "-m", path, "--rpc", endpoint, "-dev", "RPC0", "-c", str(n_ctx), "-np", "1"]
    done = subprocess.run(
        [*argv, "-fitt", str(margin_mib)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=engine_environment(app_paths().engine_home),
    )
    return shlex.split(next(line for line in reversed(done.stdout.splitlines()) if line.startswith("-c ")))


def ours(binary: EngineBinary, model: ModelInfo, devices: DeviceSet, n_ctx: int) -> Side:
    started = time.perf_counter()
    plan = make_plan(PlanInputs(model, devices, Wishes(n_ctx=n_ctx), FALLBACK, n_threads=2))
    seconds = time.perf_counter() - started
    argv = list(plan.argv)
    placement = placement_of(model, devices, argv)
    if locations(model, placement) != locations(model, plan.placement):
        raise RuntimeError("the command says something else than the plan")
    held = confirm(binary, argv, model, placement)
    read = read_from_ram_mib(model, placement, n_ctx)
    return Side(
        read, held, placement.n_gpu_layers, _rules(argv), placement.kv_home is KvHome.RAM, seconds
    )  # fmt: skip


def engine_fit(binary: EngineBinary, model: ModelInfo, devices: DeviceSet, n_ctx: int, margin_mib: int) -> Side:
    endpoint = devices.rpc_servers[0]
    started = time.perf_counter()
    words = fit_words(binary, model.path, endpoint, n_ctx, margin_mib)
    seconds = time.perf_counter() - started
    placement = placement_of(model, devices, words)
    argv = ["-m", model.path, "--rpc", endpoint, "-dev", "RPC0", "-np", "1", *words]
    held = confirm(binary, argv, model, placement)
    read = read_from_ram_mib(model, placement, n_ctx)
    return Side(read, held, placement.n_gpu_layers, _rules(words), False, seconds)


def _rules(argv: Sequence[str]) -> str:
    if "--n-cpu-moe" in argv:
        return f"--n-cpu-moe {argv[argv.index('--n-cpu-moe') + 1]}"
    return argv[argv.index("-ot") + 1] if "-ot" in argv else "--cpu-moe" if "--cpu-moe" in argv else ""


def devices_with(budget_mib: int, endpoint: str) -> DeviceSet:
    """One RPC device with this much free, nothing reserved, and RAM enough for all."""
    held = budget_mib * MIB
    gpu = Device("RPC0", DeviceKind.RPC, held, held, buffer_name=f"RPC0[{endpoint}]")
    return DeviceSet((gpu,), Device(RAM, DeviceKind.RAM, 64 * GIB, 60 * GIB), rpc_servers=(endpoint,))


def row_of(name: str, budget_gib: int, n_ctx: int, mine: Side, theirs: Side) -> dict:
    return {
        "model": name,
        "budget_gib": budget_gib,
        "context": n_ctx,
        "ours_read_mib": round(mine.read_mib, 1),
        "fit_read_mib": round(theirs.read_mib, 1),
        "best_known_mib": BEST_KNOWN.get((name, budget_gib, n_ctx)),
        "ours_device_mib": mine.device_mib,
        "fit_device_mib": theirs.device_mib,
        "ours_over_budget": mine.device_mib > budget_gib * 1024,
        "fit_over_budget": theirs.device_mib > budget_gib * 1024,
        "ours_n_gpu_layers": mine.n_gpu_layers,
        "fit_n_gpu_layers": theirs.n_gpu_layers,
        "ours_kv_in_ram": mine.kv_in_ram,
        "ours_rule_characters": len(mine.rules),
        "fit_rule_characters": len(theirs.rules),
        "ours_seconds": round(mine.seconds, 3),
        "fit_seconds": round(theirs.seconds, 3),
    }


def summary(rows: Sequence[dict]) -> dict:
    """The figures of the contract. Contested: not everything fits on the device in the engine's fit or in ours."""
    contested = [r for r in rows if max(r["ours_read_mib"], r["fit_read_mib"]) > _FLOOR_MIB]
    gains = [1 - r["ours_read_mib"] / r["fit_read_mib"] for r in contested if r["fit_read_mib"]]
    with_rules = [r for r in rows if r["ours_rule_characters"] and r["fit_rule_characters"]]
    known = [r for r in rows if r["best_known_mib"]]
    return {
        "cells": len(rows),
        "contested": len(contested),
        "over_budget": sum(r["ours_over_budget"] for r in rows),
        "fit_over_budget": sum(r["fit_over_budget"] for r in rows),
        "ram_bytes_worse": sum(r["ours_read_mib"] > r["fit_read_mib"] + _EQUAL_MIB for r in rows),
        "median_gain_contested": statistics.median(gains) if gains else None,
        "worst_above_best_known": max((r["ours_read_mib"] / r["best_known_mib"] - 1 for r in known), default=None),
        "median_rule_characters": _median(r["ours_rule_characters"] for r in with_rules),
        "median_fit_rule_characters": _median(r["fit_rule_characters"] for r in with_rules),
        "median_seconds": _median(r["ours_seconds"] for r in rows),
        "median_fit_seconds": _median(r["fit_seconds"] for r in rows),
        "rows": list(rows),
    }


def _median(values):
    values = list(values)
    return statistics.median(values) if values else None


def run(binary: EngineBinary, folder: Path, quick: bool) -> list[dict]:
    rows = []
    with RpcServer(binary, app_paths()) as server:
        for name in MODELS:
            path = folder / f"{name}.gguf"
            if not path.exists():
                make_sparse(name, path)
            model = read_model(path)
            probe = ("-m", str(path), "--rpc", server.endpoint, "-dev", "RPC0", "-ngl", "0", "-c", "512")
            free = next(d.free_bytes for d in dry_run(binary, probe, app_paths()) if d.device == "RPC0") or 0
            for budget in BUDGETS_GIB[:: 3 if quick else 1]:
                for n_ctx in CONTEXTS:
                    devices = devices_with(budget * 1024, server.endpoint)
                    margin = free // MIB - budget * 1024
                    if margin < 0:
                        continue  # this machine has not as much memory as the budget
                    theirs = engine_fit(binary, model, devices, n_ctx, margin)
                    rows.append(row_of(name, budget, n_ctx, ours(binary, model, devices, n_ctx), theirs))
                    print(f"\r{len(rows)} cells", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def _print(told: dict) -> None:
    for key, value in told.items():
        if key != "rows":
            print(f"{key:28} {value if not isinstance(value, float) else round(value, 4)}")
    print("\nmodel, GiB, context | MiB from RAM per token: ours, fit | MiB on the device: ours, fit | -ngl: ours, fit")
    for r in told["rows"]:
        worse = " WORSE" if r["ours_read_mib"] > r["fit_read_mib"] + _EQUAL_MIB else ""
        over = " OVER" if r["ours_over_budget"] else ""
        read = f"{r['ours_read_mib']:8.1f} {r['fit_read_mib']:8.1f}{worse}"
        print(
            f"  {r['model']:17} {r['budget_gib']:3} {r['context']:6} | {read} "
            f"| {r['ours_device_mib']:6} {r['fit_device_mib']:6}{over} | "
            f"{r['ours_n_gpu_layers']}{' -nkvo' if r['ours_kv_in_ram'] else ''}, {r['fit_n_gpu_layers']}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True, help="folder of llama-server, llama-fit-params and ggml-rpc-server")
    parser.add_argument("--models", help="keep the made models here instead of in a folder that is removed")
    parser.add_argument("--quick", action="store_true", help="budgets 4, 10 and 20 GiB only")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    binary = engine_at(Path(options.engine))
    with tempfile.TemporaryDirectory() as folder:
        told = summary(run(binary, Path(options.models or folder), options.quick))
    if options.json:
        print(json.dumps(told, indent=1))
    else:
        _print(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
