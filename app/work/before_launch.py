"""Just before a launch: does the plan still fit, is its port free, does something else speak to the engine?

Nothing is changed here: what stands in the way becomes a question with answers, and the user decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from app.common.paths import AppPaths
from app.common.problem import ParamValue, Problem, Severity
from app.common.units import size_text
from app.diagnose.doctor.fixes import make_room
from app.diagnose.doctor.types import Facts, Fix
from app.engine.leftovers import RunningServer
from app.engine.port_holder import PortHolder, next_free_port, port_holder
from app.engine.ports import LOOPBACK, port_problem
from app.hardware.gpu_users import GpuUser, read_gpu_users
from app.hardware.types import HardwareSnapshot
from app.planner.flags import OPTIONS
from app.planner.plan import PlanInputs
from app.planner.types import RAM, Plan
from app.work.launching import no_longer_fits
from app.work.outside_settings import read_by_the_engine

COMMIT = "commit_too_small"
"""The system would refuse to promise the memory although enough is free."""

_MOST_USERS = 3
_OVERRIDES = ("override_tensor", "cpu_moe", "n_cpu_moe")


@dataclass(frozen=True, slots=True)
class LaunchAnswer:
    """One way on. ``code``: ``other_port`` (``port``), ``end_server``, ``fix`` (another plan), ``anyway``."""

    code: str
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    fix: Fix | None = None
    server: RunningServer | None = None


@dataclass(frozen=True, slots=True)
class LaunchQuestion:
    """What stands in the way of a launch, and what can be done about it, the best first. Giving up is always one."""

    problem: Problem
    answers: tuple[LaunchAnswer, ...]


def fits_now(plan: Plan) -> bool:
    """Nothing is known that speaks against the plan's memory."""
    return plan.estimate.fits is not False and all(problem.code != COMMIT for problem in plan.problems)


@dataclass(frozen=True, slots=True)
class LaunchLook:
    """What a look found: a question, or None when nothing is in the way; ``remarks`` are only told."""

    question: LaunchQuestion | None
    remarks: tuple[Problem, ...] = ()


def look_before_launch(
    plan: Plan,
    inputs: PlanInputs | None,
    snapshot: HardwareSnapshot,
    paths: AppPaths,
    *,
    fitted: bool | None,
    port: int | None = None,
    users: Callable[[], tuple[GpuUser, ...]] | None = None,
) -> LaunchLook:
    """Look now; may take a second, so never in the window's thread.

    ``plan`` was made with the free memory of this moment; ``fitted``: it did fit before (False: it did not either;
    None: the user has answered that it may be too large). ``port`` instead of the plan's.
    """
    if fitted is not None:
        question = memory_question(plan, inputs, snapshot, users or (lambda: read_gpu_users(snapshot.gpus)))
        if question is not None:
            return LaunchLook(question if fitted else _never_fitted(question))
    question = port_question(plan, paths, port)
    return LaunchLook(question, () if question is not None else outside_remarks(plan))


def memory_question(
    plan: Plan, inputs: PlanInputs | None, snapshot: HardwareSnapshot, users: Callable[[], tuple[GpuUser, ...]]
) -> LaunchQuestion | None:
    """Free memory has shrunk below what the plan needs: who has it, and the least costly plan that fits now."""
    problem = no_longer_fits(plan.estimate)
    if problem is None:
        promised = next((p for p in plan.problems if p.code == COMMIT), None)
        return None if promised is None else LaunchQuestion(promised, (LaunchAnswer("anyway"),))
    device = str(problem.params["device"])
    holders = () if device == RAM else _programs_on(device, snapshot, users())
    if holders:
        problem = replace(
            problem, code="launch_memory_taken", params={**problem.params, "programs": ", ".join(holders)}
        )
    fix = make_room(Facts(inputs=inputs, plan=plan))
    answers = [] if fix is None else [LaunchAnswer("fix", fix=fix)]
    return LaunchQuestion(problem, (*answers, LaunchAnswer("anyway")))


def _never_fitted(question: LaunchQuestion) -> LaunchQuestion:
    """The same question where no other program is to blame."""
    problem = question.problem
    return question if problem.code == COMMIT else replace(question, problem=replace(problem, code="launch_over"))


def _programs_on(device: str, snapshot: HardwareSnapshot, users: tuple[GpuUser, ...]) -> tuple[str, ...]:
    """'chrome.exe 1.2 GiB', the largest first; programs that nobody names are not told."""
    at = next((i for i, gpu in enumerate(snapshot.gpus) if gpu.engine_name == device), None)
    named = [user for user in users if user.gpu == at and user.name is not None]
    return tuple(f"{user.name} {size_text(user.dedicated_bytes)}" for user in named[:_MOST_USERS])


def port_question(plan: Plan, paths: AppPaths, port: int | None = None) -> LaunchQuestion | None:
    """The port is taken or reserved: by whom, and which one is free. None: it can be used."""
    host = _value(plan.argv, "--host") or LOOPBACK
    told = _value(plan.argv, "--port") or ""
    wanted = port if port is not None else int(told) if told.isascii() and told.isdecimal() else 0
    problem = port_problem(host, wanted)
    if problem is None or problem.code == "host_unknown":
        return None  # an address that is none is the launch's own error: no other port would help
    holder = port_holder(wanted, paths) if problem.code == "port_in_use" else None
    answers = []
    if holder is not None and holder.server is not None:
        answers.append(LaunchAnswer("end_server", {"pid": holder.pid}, server=holder.server))
    free = next_free_port(host, wanted)
    if free is not None:
        answers.append(LaunchAnswer("other_port", {"port": free}))
    return LaunchQuestion(port_taken(problem, holder), tuple(answers))


def port_taken(problem: Problem, holder: PortHolder | None) -> Problem:
    """The problem with the name of the program that has the port, where it is known."""
    if holder is None or problem.code != "port_in_use":
        return problem
    code = "port_in_use_by" if holder.server is None else "port_in_use_by_ours"
    return replace(problem, code=code, params={**problem.params, "pid": holder.pid, "name": holder.name})


def outside_remarks(plan: Plan) -> tuple[Problem, ...]:
    """A file of this system that llama-server reads before the command line, although we start it without the user's
    own: what it sets that the plan does not say is told."""
    found: dict[str, list[str]] = {}
    for given in read_by_the_engine():
        option = OPTIONS.get(given.setting or "")
        spellings = (given.flag,) if option is None else option.spellings
        # Of overrides the first hit wins, and a file's stand before ours (common/arg.cpp:723).
        if given.setting in _OVERRIDES or not any(spelling in plan.argv for spelling in spellings):
            found.setdefault(given.source, []).append(given.flag)
    return tuple(
        Problem("outside_config_read", Severity.WARNING, {"path": path, "options": ", ".join(dict.fromkeys(flags))})
        for path, flags in found.items()
    )


def _value(argv: tuple[str, ...], option: str) -> str | None:
    """The value of the last occurrence, as the engine reads it."""
    at = [i for i in range(len(argv) - 1) if argv[i] == option]
    return argv[at[-1] + 1] if at else None
