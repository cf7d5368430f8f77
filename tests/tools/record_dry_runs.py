"""Asks a real llama-server for every case and keeps its answers as test data.

    python -m tests.tools.record_dry_runs ENGINE_FOLDER

Takes about four minutes; two ggml-rpc-servers stand in for cards.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from app.common.paths import app_paths
from app.engine.locate import EngineBinary, engine_at
from app.engine.probe import DryRunDevice, dry_run
from app.engine.rpc import RpcServer
from app.model.reader import read_model
from app.model.types import ModelInfo
from app.planner.overrides import compile_overrides, ot_argument
from app.planner.types import DeviceSet
from tests.tools.dry_run_cases import DATA, DryRun, all_cases
from tests.tools.sparse_models import make_sparse

MIB = 1 << 20


class LiveEngine:
    """An engine with two stand-in cards and the sparse models, made when first needed."""

    def __init__(self, binary: EngineBinary, folder: Path, endpoints: tuple[str, str]) -> None:
        self.binary = binary
        self.endpoints = endpoints
        self._folder = folder
        self._models: dict[str, ModelInfo] = {}

    def model(self, name: str) -> ModelInfo:
        """The sparse model of that name, read from its file."""
        if name not in self._models:
            path = self._folder / f"{name}.gguf"
            make_sparse(name, path)
            self._models[name] = read_model(path)
        return self._models[name]

    def arguments(self, run: DryRun) -> list[str]:
        """The command line of a case, after the program's name."""
        model = self.model(run.model)
        placement = run.place(model)
        argv = ["-m", model.path, "-c", str(run.n_ctx), "-ub", str(run.n_ubatch), "-np", str(run.n_slots)]
        argv += ["-ctk", run.cache_type, "-ctv", run.cache_type, "-fa", run.flash_attn, "-nr", "-lm", "none"]
        if run.n_slots > 1:
            argv.append("-kvu" if run.is_unified else "-no-kvu")
        argv += ["-nkvo"] if run.placement == "N" else []
        if not run.devices.gpus:
            return [*argv, "-dev", "none", "-ngl", "0"]
        argv += ["--rpc", ",".join(self.endpoints[: len(run.devices.gpus)]), "-ngl", str(placement.n_gpu_layers)]
        if len(run.devices.gpus) > 1:
            argv += ["-ts", ",".join(str(n) for _, n in placement.runs)]
        rules = compile_overrides(model, placement, self._named(run.devices))
        return [*argv, "-ot", ot_argument(rules)] if rules else argv

    def _named(self, devices: DeviceSet) -> DeviceSet:
        named = [
            replace(d, buffer_name=f"RPC0[{endpoint}]")
            for d, endpoint in zip(devices.gpus, self.endpoints, strict=False)
        ]
        return replace(devices, gpus=tuple(named), ram=replace(devices.ram, free_bytes=1 << 50))

    def told(self, run: DryRun) -> dict[str, DryRunDevice]:
        """What the engine says for this case: device -> figures."""
        answer = dry_run(self.binary, self.arguments(run), app_paths(), timeout_s=120)
        return {device.device: device for device in answer}


@contextmanager
def live_engine(folder: Path) -> Iterator[LiveEngine]:
    """The engine in this folder, its stand-in cards running."""
    binary = engine_at(folder)
    with (
        tempfile.TemporaryDirectory() as models,
        RpcServer(binary, app_paths()) as first,
        RpcServer(binary, app_paths()) as second,
    ):
        yield LiveEngine(binary, Path(models), (first.endpoint, second.endpoint))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    options = parser.parse_args()
    rows = []
    cases = all_cases()
    with live_engine(options.engine) as engine:
        for run in cases:
            mib = {
                name: [d.weights_bytes // MIB, d.kv_bytes // MIB, d.compute_bytes // MIB]
                for name, d in engine.told(run).items()
            }
            rows.append({**asdict(run), "mib": mib})
            print(f"\r{len(rows)} of {len(cases)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    DATA.write_text('{\n "rows": [\n' + lines + "\n ]\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
