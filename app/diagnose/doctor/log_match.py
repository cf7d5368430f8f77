"""Is a log of the model that is open? A change of this plan cures nothing of another one's run. Pure."""

from __future__ import annotations

import re

from app.common.problem import ParamValue, Severity
from app.diagnose.doctor.log_facts import ModelSeen
from app.diagnose.doctor.types import Facts, Finding
from app.model.types import ModelInfo

_SEPARATORS = re.compile(r"[\\/]")
_MOST_OVER = 1.25
"""One buffer that is so much larger than everything the plan has on that device was not asked for by this plan: the
estimate is within a few percent (docs/architecture.md)."""


def of_another(facts: Facts, failure: Finding | None) -> Finding | None:
    """What tells that the log is not of the plan's model; None where it may be, or nothing is there to compare."""
    if facts.log is None or facts.inputs is None or facts.plan is None:
        return None
    model = facts.inputs.model
    if facts.log.models:
        if any(_is(seen, model) for seen in facts.log.models):
            return None
        params: dict[str, ParamValue] = {"model": file_name(facts.log.models[0].path), "open": file_name(model.path)}
        return Finding("log_other_model", Severity.INFO, params)
    return None if facts.log_is_of_plan or failure is None else _too_large(facts, failure)


def file_name(path: str) -> str:
    """The name at the end of a path of any system."""
    return _SEPARATORS.split(path)[-1]


def _is(seen: ModelSeen, model: ModelInfo) -> bool:
    """The same file, or one of the same build: a renamed file and another quantisation have as many tensors."""
    if file_name(seen.path).casefold() == file_name(model.path).casefold():
        return True
    return seen.n_tensors == len(model.tensors)


def _too_large(facts: Facts, failure: Finding) -> Finding | None:
    """The log names no model: the memory that it asked for in vain is compared with all that the plan has there."""
    assert facts.plan is not None
    assert facts.inputs is not None
    asked, device = failure.params.get("n_bytes"), failure.params.get("device")
    if device is None and len(facts.plan.devices.gpus) == 1:
        device = facts.plan.devices.gpus[0].name
    estimate = next((d for d in facts.plan.estimate.devices if d.device == device), None)
    if not isinstance(asked, int) or estimate is None or asked <= estimate.total_bytes * _MOST_OVER:
        return None
    params: dict[str, ParamValue] = {
        "device": estimate.device,
        "n_bytes": asked,
        "planned": estimate.total_bytes,
        "open": file_name(facts.inputs.model.path),
    }
    return Finding("log_other_run", Severity.INFO, params)
