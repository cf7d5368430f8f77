"""Speeds that were measured on this computer, and what they make of the speed model. Pure.

A run is kept as the work that it was (bytes per device, hand-overs, a prompt's copies), not as a placement: then runs
of any model and placement calibrate the same few rates (``calibration``). Devices are named by what they are, not by
the engine's numbers, so a run still counts after a card was added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from app.planner.calibration import Calibration, Measurement, calibrate
from app.planner.speed_run import SpeedRun
from app.planner.token_work import PromptWork, TokenWork
from app.planner.types import DeviceSet


def calibration_of(
    runs: Iterable[SpeedRun], machine: str, engine: str, keys: Mapping[str, str], devices: DeviceSet
) -> Calibration | None:
    """Rates of this machine with this engine build; of another build where this one has not been measured; None
    without a run that fits. ``runs``: newest first; ``keys``: device name -> learning key."""
    names = {key: name for name, key in keys.items() if any(d.name == name for d in devices.all)}
    here = [run for run in runs if run.machine == machine]
    own = [run for run in here if run.engine == engine] or here
    usable = [(run, found) for run in own if (found := _measurement(run, names)) is not None]
    if not usable:
        return None
    groups: dict[object, list[tuple[SpeedRun, Measurement]]] = {}
    for run, found in usable:
        groups.setdefault(run.same_work, []).append((run, found))
    decoded = [m for group in groups.values() if (m := _median(group)) is not None]
    prompts = [found for _, found in reversed(usable) if found.prompt is not None and found.prompt_tps]
    calibration = calibrate(devices, [*decoded, *prompts])
    n_runs = sum(1 for run, _ in usable if run.decode_tps)
    return None if calibration is None else replace(calibration, n_measurements=n_runs, n_prompts=len(prompts))


def _measurement(run: SpeedRun, names: Mapping[str, str]) -> Measurement | None:
    """The run in the engine's present names (key -> name); None when it used a device that is not there now."""
    if any(key not in names for key in run.read_bytes):
        return None
    read = {names[key]: n_bytes for key, n_bytes in run.read_bytes.items()}
    work = TokenWork(read, run.ram_weight_bytes, run.hand_overs, run.gpu_blocks)
    prompt = None
    if run.prompt_tokens:
        prompt = PromptWork(
            run.prompt_tokens, run.prompt_copy_bytes, run.prompt_flops, run.prompt_row_bytes, run.prompt_host_flops
        )
    return Measurement(work, run.decode_tps or 0.0, prompt, run.prompt_tps)


def _median(group: Sequence[tuple[SpeedRun, Measurement]]) -> Measurement | None:
    """The middle one of the same work's decode speeds, without its prompt; None when none was measured."""
    measured = [found for _, found in group if found.decode_tps > 0]
    if not measured:
        return None
    from statistics import median_low  # with its fractions and decimals only where runs are known

    middle = median_low([found.decode_tps for found in measured])
    chosen = next(found for found in measured if found.decode_tps == middle)
    return replace(chosen, prompt=None, prompt_tps=None)
