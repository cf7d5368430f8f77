"""``doctor``: what is wrong with a log, or with this machine and a plan, why, and what changes it."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_json, print_text
from app.cli.doctor_output import doctor_json, doctor_text
from app.cli.inputs import PlanCase, chosen_engine, machine_for, plan_case
from app.common.problem import ProblemError, Severity, fail
from app.diagnose.doctor.examine import examine, has_errors
from app.diagnose.doctor.log_facts import LogFacts
from app.diagnose.doctor.log_rules import as_finding
from app.diagnose.doctor.types import Facts, Finding, MachineState
from app.planner.types import Plan
from app.work.doctor_facts import machine_state
from app.work.doctor_log import facts_of, log_facts_of_file, log_from_stream
from app.work.engines import capabilities_of


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    parser.group("doctor").option("--log", "FILE|-")


def run(options: Namespace) -> int:
    """Print the findings; 1 when any of them is an error."""
    facts, more = _facts(options)
    findings = tuple(sorted((*more, *examine(facts)), key=lambda f: list(Severity).index(f.severity)))
    if options.json:
        print_json(doctor_json(findings))
    else:
        print_text(doctor_text(findings))
    return 1 if has_errors(findings) else 0


def _facts(options: Namespace) -> tuple[Facts, tuple[Finding, ...]]:
    """What the options name. A log alone is judged by its own words: it may be of another machine."""
    log = _log(options.log) if options.log else None
    if not options.model:
        if log is not None and not options.hardware:
            engine = chosen_engine(options) if options.engine else None
            return Facts(log=log, capabilities=capabilities_of(engine)), ()
        engine = chosen_engine(options)
        state = MachineState() if options.hardware else machine_state()
        snapshot = machine_for(options, engine)
        return Facts(snapshot=snapshot, log=log, state=state, capabilities=capabilities_of(engine)), ()
    try:
        case = plan_case(options, "doctor")
    except ProblemError as error:
        if not error.problem.code.startswith("gguf_"):
            raise
        # the engine's log and the file's own fault are two views of one cause: the file's is the nearer one
        return Facts(log=log), (as_finding(error.problem, Severity.ERROR),)
    return _facts_of_plan(options, case, log), ()


def _facts_of_plan(options: Namespace, case: PlanCase, log: LogFacts | None) -> Facts:
    facts = Facts(
        snapshot=case.hardware,
        inputs=case.inputs,
        plan=case.plan,
        state=MachineState() if options.hardware else machine_state(),
        capabilities=capabilities_of(case.engine),
    )
    if log is None:
        return facts
    return replace(facts, log=log, log_is_of_plan=_is_of(log, case.plan))


def _is_of(log: LogFacts, plan: Plan) -> bool:
    """Was this log written by this plan, as far as context and devices tell?"""
    cards = {device.name for device in plan.devices.gpus}
    return log.n_ctx == plan.n_ctx and bool(log.devices) and set(log.devices) == cards


def _log(name: str) -> LogFacts:
    if name != "-":
        return log_facts_of_file(Path(name))
    raw = getattr(sys.stdin, "buffer", None)
    if raw is None:
        raise fail("doctor_log_no_stdin")
    return facts_of(log_from_stream(raw))
