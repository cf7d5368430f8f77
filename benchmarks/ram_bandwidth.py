"""RAM read bandwidth five times over, beside other ways to measure it on the same machine in the same run.

Run: python -m benchmarks.ram_bandwidth [--runs 5] [--json]
Lanewise: a thread pinned to each recommended core, reading (app/hardware/bandwidth.py). Beside it, each run right after
ours: numpy.copyto on one thread (the bytes read; it also writes as many), and where they are installed mbw (MEMCPY, one
thread, likewise) and sysbench (reading with as many threads; its blocks of 64 MiB are shared by all of them, so large
caches flatter it). spread = (largest - smallest) / smallest. Target: ours stays within 10 % over five runs.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import numpy

from app.hardware.bandwidth import cache_bytes, measure_ram_read_gbs, reading_cpus
from app.hardware.probe import probe
from app.hardware.types import CpuInfo

_COPY_BYTES = 512 << 20


def ours(cpu: CpuInfo) -> Callable[[], float]:
    """The measurement of the product."""
    return lambda: measure_ram_read_gbs(reading_cpus(cpu), caches=cache_bytes(cpu))


def copyto() -> Callable[[], float]:
    """numpy.copyto from one large array to another, the best of five."""
    source = numpy.ones(_COPY_BYTES // 8, dtype=numpy.uint64)
    target = numpy.empty_like(source)

    def run() -> float:
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            numpy.copyto(target, source)
            best = min(best, time.perf_counter() - begin)
        return source.nbytes / best / 1e9

    return run


def mbw() -> Callable[[], float] | None:
    """The best MEMCPY line of ``mbw``; MiB/s there."""
    program = shutil.which("mbw")
    if program is None:
        return None

    def run() -> float:
        told = _output([program, "-n", "5", "-t", "0", "256"])
        return max(float(rate) for rate in re.findall(r"Copy: ([\d.]+) MiB/s", told)) * (1 << 20) / 1e9

    return run


def sysbench(threads: int) -> Callable[[], float] | None:
    """``sysbench memory`` reading; MiB/s there."""
    program = shutil.which("sysbench")
    if program is None:
        return None
    options = ["--memory-oper=read", "--memory-block-size=64M", "--memory-total-size=100T", "--time=1"]

    def run() -> float:
        told = _output([program, "memory", *options, f"--threads={threads}", "run"])
        found = re.search(r"\(([\d.]+) MiB/sec\)", told)
        assert found is not None, told
        return float(found.group(1)) * (1 << 20) / 1e9

    return run


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    snapshot = probe()
    cpus = reading_cpus(snapshot.cpu)
    ways = {
        "lanewise": ours(snapshot.cpu),
        "numpy.copyto": copyto(),
        "mbw": mbw(),
        "sysbench": sysbench(len(cpus)),
    }
    runs: dict[str, list[float]] = {name: [] for name, way in ways.items() if way is not None}
    seconds: list[float] = []
    for _ in range(options.runs):
        for name, values in runs.items():
            way = ways[name]
            assert way is not None
            begin = time.perf_counter()
            values.append(way())
            if name == "lanewise":
                seconds.append(time.perf_counter() - begin)
    spread = {name: (max(values) - min(values)) / min(values) for name, values in runs.items()}
    if options.json:
        told = {"cpus": cpus, "theoretical_gbs": snapshot.memory.theoretical_gbs, "seconds": seconds}
        print(json.dumps({**told, "gbs": runs, "spread": spread}))
    else:
        print(f"{snapshot.cpu.name}, cores {cpus}, theory {snapshot.memory.theoretical_gbs or 'unknown'} GB/s")
        for name, values in runs.items():
            print(f"{name:14}" + " ".join(f"{v:7.1f}" for v in values) + f"  spread {spread[name]:6.1%}")
        print(f"one measurement of ours takes {min(seconds):.2f} to {max(seconds):.2f} s")
    return 0 if spread["lanewise"] <= 0.10 else 1


if __name__ == "__main__":
    sys.exit(main())
