"""A plan for people: model, verdict, a table of devices, layers, overrides, problems, command."""

from __future__ import annotations

from collections.abc import Iterable

from app.cli.console import problem_line, table
from app.cli.inputs import PlanCase
from app.cli.inspect_output import model_line
from app.cli.plan_json import homes_json
from app.common.units import MIB, size_text
from app.model.types import ModelInfo
from app.planner.placement import locations
from app.planner.second_gpu import second_gpu
from app.planner.types import RAM, DeviceEstimate, KvHome, Plan
from app.settings.settings import default_shell
from app.words import say
from app.words.catalogue import number_text
from app.work.card_answer import second_gpu_text
from app.work.exporting import command_text

_FIGURES = ("weights", "kv", "compute", "overhead", "reserve", "needed", "free")


def plan_text(case: PlanCase, *, with_tensors: bool) -> str:
    """The whole plan as text."""
    model, plan = case.model, case.plan
    lines = [model_line(model), verdict(plan, has_errors=case.has_errors), speed_line(plan), ""]
    lines += device_table(plan.estimate.devices)
    lines += learned_lines(plan)
    lines += ["", homes_line(model, plan)]
    lines += _override_lines(plan)
    if case.problems:
        lines += ["", *map(problem_line, case.problems)]
    if with_tensors:
        rows = [(name, device) for name, device in locations(model, plan.placement).items()]
        lines += ["", say("cli.tensors"), *(f"  {line}" for line in table(rows))]
    lines += _second_gpu_lines(case)
    command = command_text(case.program, plan.argv, default_shell())
    return "\n".join([*lines, "", say("cli.command"), f"  {command}"])


def _second_gpu_lines(case: PlanCase) -> list[str]:
    """Is the second GPU worth it, where there are two."""
    answer = None if case.inputs is None else second_gpu(case.inputs, case.plan)
    if answer is None:
        return []
    return ["", say("second_gpu.line", text=second_gpu_text(answer))]


def verdict(plan: Plan, *, has_errors: bool) -> str:
    """One sentence: does it fit, and with how much to spare where it is tightest."""
    devices = plan.estimate.devices
    if plan.estimate.fits is False:
        return say("cli.verdict.over_full", devices=", ".join(d.device for d in devices if d.fits is False))
    if has_errors:
        return say("cli.verdict.errors")
    shared = next((problem for problem in plan.problems if problem.code == "memory_shared"), None)
    if shared is not None:
        return say("cli.verdict.shared", **shared.params)
    if plan.estimate.fits is None:
        return say("cli.verdict.unknown", devices=", ".join(d.device for d in devices if d.fits is None))
    gpus = [d for d in devices if d.device != RAM]
    parts = [say("cli.verdict.left", device=d.device, left=d.left_bytes) for d in (*gpus, plan.estimate.get(RAM))]
    return say("cli.verdict.fits", left=say("cli.comma").join(parts))


def speed_line(plan: Plan) -> str:
    """Predicted decode speed with what limits it, or what is needed to predict it."""
    speed = plan.speed
    context = number_text(plan.n_ctx)
    if speed.decode_tps is None:
        unknown = [d for d in plan.devices.all if not d.bandwidth_gbs and plan.estimate.get(d.name).weights_bytes]
        if not unknown or unknown[0].is_ram:
            return say("cli.speed.unknown_ram")
        return say("cli.speed.unknown_gpu", device=unknown[0].name)
    limit = say(f"cli.limit.{speed.limited_by}") if speed.limited_by else say("cli.limit.none")
    kind = say("plan.kind.calibrated_from", n=speed.n_runs) if speed.n_runs else say("plan.kind.estimated")
    line = say("cli.speed.known", tps=round(speed.decode_tps, 1), context=context, limit=limit, kind=kind)
    if speed.prompt_tps is None:
        return line
    return say("ui.sentences", first=line, second=say("cli.speed.prompt", tps=round(speed.prompt_tps)))


def device_table(devices: Iterable[DeviceEstimate]) -> list[str]:
    """MiB per device, right-aligned, with the answer in words."""
    rows = [("MiB", *(say(f"cli.column.{figure}") for figure in _FIGURES), "")]
    rows += [
        (
            d.device,
            _mib(d.weights_bytes),
            _mib(d.kv_bytes),
            _mib(d.compute_bytes),
            _mib(d.overhead_bytes + d.prompt_cache_bytes + d.segments_bytes),
            _mib(d.reserve_bytes),
            _mib(d.total_bytes + d.reserve_bytes),
            _mib(d.free_bytes),
            _answer(d),
        )
        for d in devices
    ]
    return table(rows, right=frozenset(range(1, len(_FIGURES) + 1)))


def learned_lines(plan: Plan) -> list[str]:
    """Which of the figures were learned on this machine, and from what."""
    lines = []
    for d in plan.estimate.devices:
        if d.overhead_kind == "calibrated" and d.overhead_bytes:
            lines.append(say("learned.overhead", device=d.device, size=d.overhead_bytes, n=d.overhead_launches))
        if d.formula is not None:
            change = d.weights_bytes + d.kv_bytes + d.compute_bytes - d.formula.total
            lines.append(say("learned.corrected", device=d.device, size=abs(change), sign="+" if change >= 0 else "−"))
    return lines


def _mib(n_bytes: int | None) -> str:
    """Whole MiB with thin groups; needs are rounded up by nobody, so sums may differ in the last digit."""
    return "—" if n_bytes is None else f"{n_bytes / MIB:,.0f}".replace(",", " ")


def _answer(device: DeviceEstimate) -> str:
    if device.fits is None:
        return say("cli.fits.unknown")
    if device.fits:
        return say("cli.fits.yes")
    return say("cli.fits.no", missing=-(device.left_bytes or 0))


def homes_line(model: ModelInfo, plan: Plan) -> str:
    """Which layers are at home where; the unit behind the last layer is the output."""
    parts = []
    for run in homes_json(plan.placement):
        first, last = run["first"], run["last"]
        has_output = last == model.block_count
        if first == model.block_count:
            parts.append(say("cli.homes.output", device=run["device"]))
            continue
        code = "cli.homes.with_output" if has_output else "cli.homes.run"
        parts.append(say(code, device=run["device"], first=first, last=last - 1 if has_output else last))
    line = say("cli.homes", runs=say("cli.comma").join(parts))
    return line + say("cli.homes.kv_in_ram") if plan.placement.kv_home is KvHome.RAM else line


def _override_lines(plan: Plan) -> list[str]:
    if not plan.overrides:
        return []
    rows = [
        (
            f"  {rule.device}",
            say("cli.override.tensors", n=rule.n_tensors),
            size_text(rule.n_bytes),
            rule.pattern,
        )
        for rule in plan.overrides
    ]
    return [say("cli.overrides"), *table(rows, right=frozenset({1, 2}))]
