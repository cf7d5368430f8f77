"""Asks a real llama-server for every case and keeps its answers as test data.

    python -m tests.tools.record_dry_runs ENGINE_FOLDER

Takes some five minutes; two ggml-rpc-servers stand in for cards.
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

from app.common.paths import AppPaths
from app.common.problem import ProblemError
from app.engine.locate import EngineBinary, engine_at
from app.engine.probe import DryRunDevice, dry_run
from app.engine.rpc import RpcServer
from app.model.reader import read_model
from app.model.types import ModelInfo
from app.planner.overrides import compile_overrides, ot_argument
from app.planner.types import DeviceSet
from tests.tools.dry_run_cases import DATA, DryRun, all_cases, dry_runs
from tests.tools.sparse_models import make_sparse

MIB = 1 << 20


class LiveEngine:
    """An engine with two stand-in cards and the sparse models, made when first needed."""

    def __init__(self, binary: EngineBinary, folder: Path, cards: tuple[RpcServer, RpcServer], paths: AppPaths) -> None:
        self.binary = binary
        self._folder = folder
        self._cards = cards
        self._paths = paths
        self._models: dict[str, ModelInfo] = {}

    @property
    def endpoints(self) -> tuple[str, ...]:
        """What ``--rpc`` wants for the cards."""
        return tuple(card.endpoint for card in self._cards)

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
        try:
            answer = dry_run(self.binary, self.arguments(run), self._paths, timeout_s=120)
        except ProblemError as error:
            if error.problem.code != "rpc_unreachable":
                raise
            for card in self._cards:  # something on this machine ended a stand-in card: once more with new ones
                card.stop()
                card.start()
            answer = dry_run(self.binary, self.arguments(run), self._paths, timeout_s=120)
        return {device.device: device for device in answer}


@contextmanager
def live_engine(folder: Path) -> Iterator[LiveEngine]:
    """The engine in this folder, its stand-in cards running."""
    binary = engine_at(folder)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        paths = AppPaths(base / "config", base / "data", base / "cache")
        with RpcServer(binary, paths) as first, RpcServer(binary, paths) as second:
            yield LiveEngine(binary, base, (first, second), paths)


def _write(rows: dict[DryRun, dict[str, list[int]]]) -> None:
    lines = ",\n".join("  " + json.dumps({**asdict(run), "mib": mib}) for run, mib in rows.items())
    DATA.write_text('{\n "rows": [\n' + lines + "\n ]\n}\n", encoding="utf-8")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("--missing", action="store_true", help="ask only for cases that are not recorded yet")
    options = parser.parse_args()
    known = {run: run.mib for run in dry_runs()} if options.missing else {}
    rows: dict[DryRun, dict[str, list[int]]] = {}
    cases = all_cases()
    with live_engine(options.engine) as engine:
        for run in cases:
            rows[run] = known.get(run) or {
                name: [d.weights_bytes // MIB, d.kv_bytes // MIB, d.compute_bytes // MIB]
                for name, d in engine.told(run).items()
            }
            print(f"\r{len(rows)} of {len(cases)}", end="", file=sys.stderr, flush=True)
            if len(rows) % 50 == 0:
                _write({**known, **rows})
    print(file=sys.stderr)
    _write(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
