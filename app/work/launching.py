"""From a plan to a running server's launch order."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem, Severity
from app.hardware.cpu_choice import cpus_for_threads
from app.hardware.types import CpuInfo
from app.planner.quiet import LOW_PRIORITY
from app.planner.types import MemoryEstimate, Plan

if TYPE_CHECKING:
    from app.engine.locate import EngineBinary
    from app.engine.process import LaunchSpec
else:
    LaunchSpec = later("app.engine.process", "LaunchSpec")

_LEVELS = ("-lv", "--verbosity", "--log-verbosity")
_TELLS_ALL = ("-v", "--verbose", "--log-verbose")
_TELLS_PROMPTS = 5
_THREADS = ("-t", "--threads", "-tb", "--threads-batch")


def launch_spec(
    plan: Plan,
    binary: EngineBinary,
    cpu: CpuInfo,
    paths: AppPaths,
    api_key: str,
    port: int | None = None,
    pinning: str = "hard",
) -> LaunchSpec:
    """Run exactly the plan's command, on the recommended cores, or on more where it has more threads than those.

    The key travels in the environment, not in the command line, which every user of the machine can read; the command
    that is shown and copied spells it out. ``port``: another one than the plan's, this time only.
    ``pinning``: ``hard``, ``soft`` (CPU sets, Windows) or ``off``, where the system decides.
    """
    return LaunchSpec(
        binary_path=binary.path,
        argv=with_port(without_key(plan.argv), port),
        cpus=() if pinning == "off" else engine_cpus(plan, cpu),
        prefers_cpus=pinning == "soft",
        may_be_slowed=has_low_priority(plan.argv),
        paths=paths,
        log_file=paths.logs / "llama-server.log" if keeps_log(plan.argv) else None,
        api_key=api_key,
    )


def engine_cpus(plan: Plan, cpu: CpuInfo) -> tuple[int, ...]:
    """The logical CPUs that the engine gets for this plan, ascending."""
    return cpus_for_threads(cpu, _most_threads(plan.argv))


def _most_threads(argv: tuple[str, ...]) -> int | None:
    """The larger of ``-t`` and ``-tb``; None where the engine decides."""
    told = [int(value) for option, value in pairwise(argv) if option in _THREADS and value.isdecimal()]
    return max(told, default=None)


def has_low_priority(argv: tuple[str, ...]) -> bool:
    """Was the engine told to stand back (``--prio -1``)? Then Windows may slow it down too."""
    told = [value for option, value in pairwise(argv) if option == "--prio"]
    return bool(told) and told[-1] == str(LOW_PRIORITY)


def without_key(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The argv without ``--api-key KEY``."""
    if "--api-key" not in argv:
        return argv
    at = argv.index("--api-key")
    return (*argv[:at], *argv[at + 2 :])


def keeps_log(argv: tuple[str, ...]) -> bool:
    """May the engine's output go into a file? From ``-lv 5`` on it tells prompts in clear (server-context.cpp); then it
    is only shown."""
    if any(word in _TELLS_ALL for word in argv):
        return False
    told = [int(value) for option, value in pairwise(argv) if option in _LEVELS and value.isdecimal()]
    return not told or told[-1] < _TELLS_PROMPTS


def with_port(argv: tuple[str, ...], port: int | None) -> tuple[str, ...]:
    """The argv with another port; None: as it is. The engine takes the last one, so it is put there."""
    return argv if port is None else (*argv, "--port", str(port))


def command_differs(running: Plan, shown: Plan) -> bool:
    """Has the board moved on since this plan was launched?"""
    return replace(running, problems=()).argv != replace(shown, problems=()).argv


def no_longer_fits(now: MemoryEstimate) -> Problem | None:
    """``launch_memory_changed`` for the device that lacks most, with the free memory of this moment; None: it fits."""
    short = [(d.left_bytes, d) for d in now.devices if d.left_bytes is not None and d.left_bytes < 0]
    if not short:
        return None
    left, device = min(short, key=lambda pair: pair[0])
    params = {"device": device.device, "free_bytes": device.free_bytes, "missing_bytes": -left}
    return Problem("launch_memory_changed", Severity.WARNING, params)
