"""A quiet plan: what the engine can be told so that a laptop stays cool, and what that costs.

Three options, all written into the command: half the threads (``-t``), low priority (``--prio -1``: nice 5 and a batch
scheduler on Linux, below normal on Windows, where such threads may also be moved to efficiency cores and slowed down;
common/common.cpp:237-282, ggml-cpu.c:2561-2680) and no busy waiting between two steps (``--poll 0``; the usual 50
keeps every thread spinning, ggml-cpu.c ``ggml_graph_compute_poll_for_work``). A graphics card cannot be told anything.
"""

from __future__ import annotations

from app.common.problem import Problem, Severity

LOW_PRIORITY = -1
"""``GGML_SCHED_PRIO_LOW``."""


def quiet_threads(n_threads: int) -> int:
    """Half of the usual threads, rounded up."""
    return max(1, (n_threads + 1) // 2)


def quiet_problem(n_threads: int, usual: int) -> Problem:
    """The remark of a quiet plan: its speed is not known, since it was never measured with so few threads. Threads that
    the user chose are not halved."""
    if n_threads == usual:
        return Problem("plan_is_quiet_same_threads", Severity.INFO, {"threads": n_threads})
    return Problem("plan_is_quiet", Severity.INFO, {"threads": n_threads, "usual": usual})
