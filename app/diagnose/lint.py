"""Somebody's llama-server command against one file and one engine: what it does, what it does not, how to write it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity
from app.diagnose.lint_rules import RuleReport, check_rules
from app.planner.command_import import ImportedCommand
from app.planner.command_plan import ImportResult, devices_for, placement_for, plan_of_command
from app.planner.flag_table import REPLACED, Given, current_spelling, facts, is_ik, nearest_flag
from app.planner.flags import takes_on_off
from app.planner.placement import homes
from app.planner.plan import AUTO_SLOTS, PlanInputs
from app.planner.tensor_rules import MOST_RULES, rules_of
from app.planner.types import DeviceSet, Plan

_RULE_SETTINGS = frozenset({"override_tensor", "cpu_moe", "n_cpu_moe", "n_cpu_ffn"})
_MOST_GUESSES = 50
_REPEATABLE = _RULE_SETTINGS | {None}
_MEMORY = frozenset({"over_full_gpu", "over_full_ram"})
_ABOUT_PLAN = _MEMORY | {"import_prompt_cache", "v_type_needs_fa", "kv_type_row", "ctx_above_trained"}


@dataclass(frozen=True, slots=True)
class LintReport:
    """``rules`` in the engine's order (those of variables and configuration files first); ``problems`` worst first,
    those of the rules included; ``converted``: the command as we would write it; ``plan``: what it then is; ``meant``:
    what that was made of."""

    rules: tuple[RuleReport, ...]
    problems: tuple[Problem, ...]
    converted: tuple[str, ...]
    plan: Plan
    meant: ImportResult

    @property
    def has_errors(self) -> bool:
        """Would the engine refuse the command, or would it not do what it says?"""
        return any(p.severity is Severity.ERROR for p in self.problems)


def lint(command: ImportedCommand, inputs: PlanInputs, around: Sequence[Given] = ()) -> LintReport:
    """Check a command. ``around``: options that configuration files and variables of this machine set, in their order;
    the engine applies them before the command line, so their rules come first."""
    devices, device_problems = devices_for(command, inputs.devices)
    bare, _ = placement_for(replace(command, rules=()), inputs.model, devices)
    outside = rules_of(around)[:MOST_RULES]
    checked = check_rules((*outside, *command.rules), inputs.model, devices, homes(bare))
    own = check_rules(command.rules, inputs.model, devices, homes(bare)) if outside else checked
    meant = plan_of_command(replace(command, rules=own.repaired), inputs, repair=True)
    plan = meant.plan
    found = [
        *command.problems,
        *device_problems,
        *(problem for report in checked.reports for problem in report.problems),
        *_flag_problems(command, inputs.capabilities),
        *_rpc_problems(command),
        *_fit_problems(command),
        *_context_problems(command, inputs),
        *_around_problems(command, around),
        *_device_problems(command, devices),
        *_plan_problems(plan),
    ]
    order = list(Severity)
    problems = tuple(sorted(_unique(found), key=lambda p: order.index(p.severity)))
    return LintReport(checked.reports, problems, plan.argv, plan, meant)


def _unique(problems: Iterable[Problem]) -> list[Problem]:
    return list({_key(problem): problem for problem in problems}.values())


def _key(problem: Problem) -> tuple[object, ...]:
    return (problem.code, problem.severity, tuple(sorted(problem.params.items())), problem.evidence)


def _flag_problems(command: ImportedCommand, capabilities: Capabilities) -> Iterator[Problem]:
    """Options that this build does not have, or that it reads differently; options given twice."""
    seen: set[str] = set()
    n_lacking = 0
    for option in command.given:
        if not option.flag or option.source != "command":
            continue
        if not capabilities.has(option.flag):
            n_lacking += 1
            yield _lacking(option, capabilities, may_guess=n_lacking <= _MOST_GUESSES)
        elif option.flag in ("-fa", "--flash-attn") and takes_on_off(capabilities) and not option.values:
            yield Problem("lint_fa_needs_value", Severity.ERROR, {"flag": option.flag})
        elif option.flag in ("-fa", "--flash-attn") and not takes_on_off(capabilities) and option.values:
            yield Problem("lint_fa_takes_no_value", Severity.ERROR, {"flag": option.flag, "value": option.value})
        name = option.setting or option.flag
        if name in seen and option.setting not in _REPEATABLE:
            yield Problem("lint_given_twice", Severity.WARNING, {"flag": option.flag, "value": " ".join(option.values)})
        seen.add(name)


def _lacking(option: Given, capabilities: Capabilities, *, may_guess: bool) -> Problem:
    """An option that makes the engine stop at once, with what to write instead; a guess costs a third of a ms."""
    flag = option.flag
    new = REPLACED.get(flag)
    fact = facts().get(flag)
    params: dict[str, ParamValue] = {"flag": flag}
    if new and capabilities.has(new[0]):
        words = new if len(new) > 1 or not option.values else (*new, *option.values)
        return Problem("lint_flag_replaced", Severity.ERROR, {**params, "new": " ".join(words)})
    sibling = current_spelling(flag, capabilities)
    if sibling is not None:
        return Problem("lint_flag_replaced", Severity.ERROR, {**params, "new": " ".join((sibling, *option.values))})
    old = _older_spelling(option, capabilities)
    if old is not None:
        return Problem("lint_flag_replaced", Severity.ERROR, {**params, "new": old})
    if fact is not None and fact.is_ik and not is_ik(capabilities.flags):
        return Problem("lint_flag_of_ik", Severity.ERROR, params)
    if fact is not None and (fact.is_older or new == ()):
        return Problem("lint_flag_gone", Severity.ERROR, params)
    near = nearest_flag(flag, capabilities) if may_guess else None
    if near is not None and fact is None:
        return Problem("lint_flag_near", Severity.ERROR, {**params, "near": near})
    return Problem("lint_flag_unknown" if fact is None else "lint_flag_missing", Severity.ERROR, params)


def _older_spelling(option: Given, capabilities: Capabilities) -> str | None:
    """``-lm none`` for a build from before it."""
    old = {"none": "--no-mmap", "mmap": "--mmap", "mlock": "--mlock", "mmap+mlock": "--mlock"}.get(option.value)
    return old if option.setting == "load_mode" and old is not None and capabilities.has(old) else None


def _rpc_problems(command: ImportedCommand) -> Iterator[Problem]:
    """RPC devices are registered when ``--rpc`` is read; what names one must come later (common/arg.cpp:2683)."""
    settings = [g.setting for g in command.given]
    names_one = [g for g in command.given if g.setting in ("override_tensor", "device") and "RPC" in " ".join(g.values)]
    if not names_one:
        return
    if "rpc" not in settings or settings.index("rpc") > command.given.index(names_one[0]):
        yield Problem("lint_rpc_late", Severity.ERROR, {"flag": names_one[0].flag})


def _fit_problems(command: ImportedCommand) -> Iterator[Problem]:
    """Automatic fitting gives up its placement when any of it is said (common/fit.cpp:463-485)."""
    if not command.fit or command.fit_places or command.device_names == ():
        return
    said = command.last("n_gpu_layers") if command.n_gpu_layers is not None else None
    if said is None and any(command.tensor_split):
        said = command.last("tensor_split")
    if said is None:
        said = next((g for g in command.given if g.setting in _RULE_SETTINGS), None) or command.last("split_mode")
    if said is None:
        return
    explicit = command.last("fit") is not None
    code = "lint_fit_gives_up" if explicit else "lint_fit_left_on"
    yield Problem(code, Severity.WARNING if explicit else Severity.INFO, {"flag": said.flag})


def _context_problems(command: ImportedCommand, inputs: PlanInputs) -> Iterator[Problem]:
    trained = inputs.model.context_length
    if command.n_ctx is None:
        code = "lint_no_context_fit" if command.fit and not command.fit_places else "lint_no_context"
        yield Problem(code, Severity.WARNING, {"trained": trained})
    elif command.n_ctx == 0:
        yield Problem("lint_context_full", Severity.INFO, {"trained": trained})
    n_slots = command.wishes.n_slots
    n_ctx = command.n_ctx or trained
    if n_slots is None:
        yield Problem("lint_slots_auto", Severity.INFO, {"n": AUTO_SLOTS})
    elif n_slots > 1 and command.wishes.kv_unified is False and n_ctx:
        params: dict[str, ParamValue] = {"n": n_slots, "n_ctx": n_ctx, "each": n_ctx // n_slots}
        yield Problem("lint_context_divided", Severity.WARNING, params)
    if command.downloads is not None:
        yield Problem("lint_downloads", Severity.INFO, {"model": command.downloads})


def _around_problems(command: ImportedCommand, around: Sequence[Given]) -> Iterator[Problem]:
    """Settings from outside the command line: rules come first and win, others hold where the command says nothing."""
    said = {g.setting or g.flag for g in command.given}
    for option in around:
        params: dict[str, ParamValue] = {"source": option.source, "setting": " ".join(option.words)}
        if option.setting in _RULE_SETTINGS:
            yield Problem("lint_outside_rules", Severity.WARNING, params)
        elif (option.setting or option.flag) not in said:
            yield Problem("lint_outside_setting", Severity.WARNING, params)


def _device_problems(command: ImportedCommand, devices: DeviceSet) -> Iterator[Problem]:
    said = command.last("n_gpu_layers")
    if not devices.gpus and said is not None and command.n_gpu_layers != 0 and command.device_names != ():
        yield Problem("lint_no_gpu", Severity.WARNING, {"flag": " ".join(said.words)})
    counted = next((g for g in command.given if g.setting == "n_cpu_moe"), None)
    if counted is not None and len(devices.gpus) > 1:
        code = "lint_ncmoe_spread" if command.is_ik else "lint_ncmoe_first_card"
        yield Problem(code, Severity.INFO, {"flag": " ".join(counted.words), "device": devices.gpus[0].name})


def _plan_problems(plan: Plan) -> Iterator[Problem]:
    """What the plan says about the command's own figures. Too little memory here does not make the command wrong."""
    for problem in plan.problems:
        if problem.code in _MEMORY:
            yield replace(problem, severity=Severity.WARNING)
        elif problem.code in _ABOUT_PLAN:
            yield problem
