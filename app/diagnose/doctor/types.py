"""The values of the doctor: the facts that it is given, and what it finds. All frozen; unknown is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity
from app.diagnose.doctor.log_facts import LogFacts
from app.hardware.types import HardwareSnapshot
from app.monitor.sample import Sample
from app.planner.plan import PlanInputs
from app.planner.types import MemoryEstimate, Placement, Plan, Wishes


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer that was seen: why it ended (``stop``, ``length``), its characters and tokens.

    ``is_limited``: the question itself named a limit of tokens (``max_tokens``), so that "length" need not be the
    context.
    """

    finish_reason: str | None
    answer_characters: int
    reasoning_characters: int
    prompt_tokens: int | None = None
    decoded_tokens: int | None = None
    n_ctx: int | None = None
    is_limited: bool | None = None


@dataclass(frozen=True, slots=True)
class MachineState:
    """The system at this moment. ``memlock_limit_bytes``: what one process may lock (RLIMIT_MEMLOCK)."""

    ram_available_bytes: int | None = None
    swap_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    commit_left_bytes: int | None = None
    memlock_limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known; every part may be missing.

    ``log_is_of_plan``: the log was written by a run of this plan, so that the two can be compared.
    ``exit_code``: how the engine ended, None while it runs or where nobody knows. ``end_was_asked``: by the user.
    ``reason``: what the process's owner already made of the end. ``samples``: the last minute before the end, or now.
    """

    snapshot: HardwareSnapshot | None = None
    inputs: PlanInputs | None = None
    plan: Plan | None = None
    log: LogFacts | None = None
    log_is_of_plan: bool = False
    exit_code: int | None = None
    end_was_asked: bool = False
    reason: Problem | None = None
    samples: tuple[Sample, ...] = ()
    state: MachineState = field(default_factory=MachineState)
    answer: Answer | None = None
    capabilities: Capabilities | None = None
    engine_problems: tuple[Problem, ...] = ()
    """What is known of the engine in use before it runs: it does not answer, lacks the model's architecture."""
    tried: frozenset[tuple[str, ...]] = frozenset()
    """Commands that have failed already: no fix may lead to one of them again."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A changed plan that cures a finding. ``code`` is ``fix.<code>`` of the words.

    ``plan`` is the plan it leads to, which fits by the memory model; ``changes`` are the options of ``plan`` that
    differ (docs/cli.md). ``placement`` None: the preset makes it from the wishes. ``port``: another one for the server.
    ``place``: the moves (``--place`` of ``plan``) that lead from the plan as it was to this one, where moves alone do.
    """

    code: str
    params: Mapping[str, ParamValue]
    wishes: Wishes
    placement: Placement | None
    plan: Plan
    before: MemoryEstimate
    changes: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None
    place: tuple[str, ...] = ()


_OF_THE_ENGINE = frozenset(
    {
        "engine_missing", "engine_not_found", "engine_broken", "engine_wrong_platform", "engine_cpu_unsupported",
        "engine_dll_missing", "engine_dll_wrong", "engine_backends_missing", "engine_missing_file", "engine_removed",
        "engine_too_old", "engine_cpu_only", "engine_cuda_no_card", "engine_no_cuda_runtime",
        "engine_lacks_architecture", "unknown_arch", "engine_does_not_see_gpu", "no_usable_gpu",
        "gpu_backend_not_loaded", "gpu_driver_too_old", "backend_other_build",
    }
)  # fmt: skip
"""The program itself is wrong, incomplete or not for this machine or model."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause. ``code``: ``problem.<code>`` of the words says what happened, ``doctor.check.<check>`` how to see it
    for oneself. ``evidence``: lines of the log and measured figures, as they stand. ``when_s``: seconds before the
    newest sample."""

    code: str
    severity: Severity
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    check: str | None = None
    fix: Fix | None = None
    when_s: float | None = None

    @property
    def is_cured_by_engine(self) -> bool:
        """Would another llama-server be the way on?"""
        return self.code in _OF_THE_ENGINE

    @property
    def problem(self) -> Problem:
        """The finding as the value that every other part of the program knows."""
        return Problem(self.code, self.severity, self.params, self.evidence)
