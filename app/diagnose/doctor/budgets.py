"""How much a device can really take, judged by the allocation that failed on it. Pure.

A plan said that it fits, and the engine could not allocate: so less was free than the plan believed, or the engine
takes more than it prints. What is certain is that everything allocated so far and the failed buffer together were too
much. The new plan must stay below that, by a margin; where the log does not tell, below the failed plan.
"""

from __future__ import annotations

from dataclasses import replace

from app.common.problem import Problem
from app.common.units import MIB
from app.diagnose.doctor.log_facts import LogFacts
from app.planner.types import RAM, DeviceSet, Plan

_LEAST_MARGIN = 256 * MIB
_MARGIN_SHARE = 0.02
_UNKNOWN_SHARE = 0.06
"""Where no size is known: this part of the plan's bytes has to go, half a GiB at least."""
_UNKNOWN_LEAST = 512 * MIB


def budget_after_failure(plan: Plan, device: str, failure: Problem, log: LogFacts | None) -> int:
    """Bytes that a plan may need on the device, everything included, after an allocation on it has failed."""
    params, estimate = failure.params, plan.estimate.get(device)
    unprinted = estimate.overhead_bytes + estimate.prompt_cache_bytes
    asked = params.get("n_bytes")
    limits = [estimate.total_bytes - max(_UNKNOWN_LEAST, round(estimate.total_bytes * _UNKNOWN_SHARE))]
    so_far = sum(b.n_bytes for b in log.buffers if b.device == device) if log is not None else 0
    is_first = params.get("stage") == "weights" or failure.code == "weights_oom"
    if isinstance(asked, int) and asked > 0 and params.get("stage") != "generating" and (so_far or is_first):
        known = so_far + asked
        limits = [known + unprinted - max(_LEAST_MARGIN, round(known * _MARGIN_SHARE))]
    free = _free_in_log(device, log)
    if free is not None:
        limits.append(free - estimate.reserve_bytes)
    return max(0, min(limits))


def budget_without(plan: Plan, device: str, n_bytes: int) -> int:
    """Bytes that a plan may need so that ``n_bytes`` and half a GiB of air come free on the device."""
    return max(0, plan.estimate.get(device).total_bytes - n_bytes - _UNKNOWN_LEAST)


def with_budget(devices: DeviceSet, device: str, n_bytes: int) -> DeviceSet:
    """The same devices, one of them with room for exactly this much (its reserve stays on top)."""
    gpus = tuple(replace(d, free_bytes=n_bytes + d.reserve_bytes) if d.name == device else d for d in devices.gpus)
    ram = replace(devices.ram, free_bytes=n_bytes + devices.ram.reserve_bytes) if device == RAM else devices.ram
    return replace(devices, gpus=gpus, ram=ram)


def _free_in_log(device: str, log: LogFacts | None) -> int | None:
    """What the engine itself found free before it loaded (llama.cpp:306, needs -lv 4)."""
    used = log.devices.get(device) if log is not None else None
    return None if used is None else used.free_bytes
