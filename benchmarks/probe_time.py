"""How long a whole look at this machine takes, beside ``psutil`` with ``py-cpuinfo``, in one run.

    python -m benchmarks.probe_time [--json] [--runs N]

Both in a fresh process each time (imports counted), and ours again in a process that has looked before. The other one
tells the name of the processor, its counts, the RAM and no graphics card, no core kinds, no memory modules. Target: the
first look within 300 ms (median), not counting the start of Python itself.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

TARGET_MS = 300.0
ROOT = Path(__file__).resolve().parents[1]
OURS = """
import time
start = time.perf_counter()
from app.hardware.probe import probe
probe()
first = time.perf_counter() - start
start = time.perf_counter()
probe()
print(first * 1000, (time.perf_counter() - start) * 1000)
"""
OTHER = """
import time
if __name__ == "__main__":
    start = time.perf_counter()
    import cpuinfo, psutil
    cpuinfo.get_cpu_info()
    psutil.virtual_memory(), psutil.cpu_count(), psutil.cpu_count(logical=False), psutil.cpu_freq()
    print((time.perf_counter() - start) * 1000)
"""


def times_of(code: str, runs: int) -> list[list[float]]:
    """The figures that each fresh process prints."""
    command = [sys.executable, "-c", code]
    return [
        [
            float(text)
            for text in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        ]
        for _ in range(runs)
    ]


def main() -> int:
    """Measure, print, and end with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    ours, other = times_of(OURS, options.runs), times_of(OTHER, options.runs)
    first, again = (statistics.median(row[i] for row in ours) for i in (0, 1))
    theirs = statistics.median(row[0] for row in other)
    result = {
        "first_ms": round(first, 1),
        "again_ms": round(again, 1),
        "psutil_and_cpuinfo_ms": round(theirs, 1),
        "ratio": round(first / theirs, 3),
        "target_ms": TARGET_MS,
    }
    if options.json:
        print(json.dumps(result))
    else:
        print(f"first look {first:.0f} ms, again {again:.0f} ms; psutil + py-cpuinfo {theirs:.0f} ms")
        print(f"ratio {first / theirs:.2f}")
        print(f"target: at most {TARGET_MS:.0f} ms")
    return 0 if first <= TARGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
