"""``verify``: the engine's own figures for a plan, by a dry run that reads no weights."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_error, print_json, print_problems, print_text, table
from app.cli.inputs import plan_case
from app.cli.learning import context_of, learn, learning_store
from app.cli.plan_json import Json, figures_json, figures_kind
from app.common.paths import app_paths
from app.common.problem import Problem, Severity
from app.common.units import size_text
from app.words import say
from app.work.learned_memory import from_verification, learn_figures
from app.work.verifying import Verification, VerifiedDevice, verify_plan


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)


def run(options: Namespace) -> int:
    """Print both sides; 1 when they differ, when an override was not confirmed, or when there is no engine to ask."""
    case = plan_case(options, "verify")
    print_problems(case.problems, least=Severity.ERROR)
    if case.engine is None:
        print_error(Problem("verify_without_engine"))
        return 1
    result = verify_plan(case.plan, case.engine.binary, app_paths())
    context = context_of(case, options)
    has_learned = context is not None and learn(
        lambda: learn_figures(learning_store(), context, from_verification(result))
    )
    if options.json:
        kind = "engine-checked" if result.agrees else figures_kind(case.plan)
        print_json({**verification_json(result), "figures": kind, "learned": has_learned})
    else:
        print_text(verification_text(result))
        if has_learned:
            print_text(say("cli.verify.learned"))
    return 0 if result.agrees else 1


def verification_json(result: Verification) -> Json:
    """The JSON of the contract (docs/cli.md, "verify --json")."""
    return {
        "devices": [
            {
                "name": device.name,
                "ours": figures_json(device.ours),
                "engine": None if device.engine is None else figures_json(device.engine),
                "difference": device.difference,
                "agrees": device.agrees,
            }
            for device in result.devices
        ],
        "draft": [{"name": d.name, "ours": d.ours, "engine": d.engine, "agrees": d.agrees} for d in result.draft],
        "overrides_confirmed": not result.unconfirmed,
        "seconds": round(result.seconds, 3),
    }


def verification_text(result: Verification) -> str:
    """A table: each figure as planned and as the engine says."""
    rows = [("", "", say("cli.column.plan"), say("cli.column.engine"), "")]
    for device in result.devices:
        rows += _device_rows(device)
    rows += [
        (
            draft.name,
            say("board.part.draft"),
            size_text(draft.ours),
            size_text(draft.engine),
            say("cli.agrees.yes") if draft.agrees else say("cli.agrees.no"),
        )
        for draft in result.draft
    ]
    overrides = (
        say("cli.verify.overrides", n=len(result.unconfirmed), tensor=result.unconfirmed[0])
        if result.unconfirmed
        else say("cli.verify.overrides_confirmed")
    )
    took = say("cli.verify.took", seconds=round(result.seconds, 2))
    return "\n".join([*table(rows, right=frozenset({2, 3})), "", overrides, took])


def _device_rows(device: VerifiedDevice) -> list[tuple[str, str, str, str, str]]:
    ours, theirs = device.ours, device.engine
    figures: tuple[tuple[str, int, int | None], ...] = (
        ("weights", ours.weights, None if theirs is None else theirs.weights),
        ("kv", ours.kv, None if theirs is None else theirs.kv),
        ("compute", ours.compute, None if theirs is None else theirs.compute),
    )
    answer = say("cli.agrees.yes") if device.agrees else say("cli.agrees.no")
    return [
        (
            device.name if what == "weights" else "",
            say(f"cli.column.{what}"),
            size_text(planned),
            size_text(told),
            answer if what == "weights" else "",
        )
        for what, planned, told in figures
    ]
