"""What watching a server costs: processor time of the monitor's thread at 2 Hz, in percent of one core.

    python -m benchmarks.monitor_cost [--json] [--seconds S] [--nvml]

All samplers of a launch run against a process that sleeps: CPU, RAM, process, the engine's buffers, and with ``--nvml``
one card of a stand-in for the NVML binding (a real one where there is one). A bare loop that only reads
``psutil.cpu_times(percpu=True)`` and ``psutil.virtual_memory()`` as often stands beside it, in the same run. Target:
less than 1 percent of one core.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import psutil

from app.common.problem import ProblemError
from app.hardware.gpus_nvml import NvmlSession, open_nvml
from app.hardware.probe import probe
from app.monitor.loop import MonitorLoop
from app.monitor.nvml import NvmlSampler
from app.monitor.ring import RingBuffer
from app.monitor.sample import Sampler
from app.work.watching import PERIOD_S, samplers_for
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml

TARGET_PERCENT = 1.0


def cost_of(samplers: tuple[Sampler, ...], seconds: float) -> tuple[float, int]:
    """(percent of one core, samples) of a monitor loop with these samplers."""
    ring = RingBuffer(600)
    loop = MonitorLoop(samplers, PERIOD_S, ring.append)
    start = time.process_time()
    loop.start()
    threading.Event().wait(seconds)
    loop.stop()
    return 100 * (time.process_time() - start) / seconds, ring.written


def bare_cost(seconds: float) -> float:
    """Percent of one core for two psutil calls as often."""
    start, until = time.process_time(), time.monotonic() + seconds
    while time.monotonic() < until:
        psutil.cpu_times(percpu=True)
        psutil.virtual_memory()
        time.sleep(PERIOD_S)
    return 100 * (time.process_time() - start) / seconds


def session_opener() -> tuple[Callable[[], NvmlSession], str]:
    """A real NVML where there is a driver, else the stand-in."""
    try:
        open_nvml().close()
    except ProblemError:
        return (lambda: NvmlSession(FakeNvml(RTX_4080_LAPTOP))), "stand-in"
    return open_nvml, "real"


def main() -> int:
    """Measure, print, and end with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--nvml", action="store_true")
    options = parser.parse_args()
    nvml = "none"
    server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        samplers = samplers_for(probe(), server.pid, None, None, lambda: ())
        if options.nvml:
            opener, nvml = session_opener()
            samplers = (*samplers, NvmlSampler(("GPU-aaaa",), open_session=opener, pid=server.pid))
        percent, samples = cost_of(samplers, options.seconds)
    finally:
        server.kill()
        server.wait()
    bare = bare_cost(options.seconds)
    result = {
        "percent_of_one_core": round(percent, 3),
        "samples": samples,
        "ms_per_sample": round(percent / 100 * options.seconds / samples * 1000, 2),
        "bare_psutil_percent": round(bare, 3),
        "ratio": round(percent / bare, 2) if bare else None,
        "nvml": nvml,
        "target_percent": TARGET_PERCENT,
    }
    print(json.dumps(result) if options.json else "\n".join(f"{key}: {value}" for key, value in result.items()))
    return 0 if percent < TARGET_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
