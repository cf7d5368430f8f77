"""``machine``: what this computer is. ``--json`` is the snapshot that ``--hardware FILE`` takes, and more."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from app.cli.arguments import VerbParser
from app.cli.console import print_json, print_text
from app.cli.values import endpoint
from app.hardware.snapshot_file import load_snapshot, snapshot_to_json
from app.hardware.types import HardwareSnapshot


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    group = parser.group("devices")
    group.option("--rpc", "HOST:PORT", endpoint, repeatable=True)
    group.switch("--measure", "--measure-ram")
    group.option("--compare", "FILE")


def run(options: Namespace) -> int:
    """Print the machine, or set it beside another one (exit code 1 when they differ)."""
    other = None if options.compare is None else load_snapshot(Path(options.compare))
    snapshot = _snapshot(options)
    if other is not None:
        return _compare(options, snapshot, other)
    from app.cli.machine_text import facts_json, machine_text
    from app.work.machine_verdict import judge_machine

    judgement = judge_machine(snapshot)
    if options.json:
        print_json({**snapshot_to_json(snapshot), **facts_json(snapshot, judgement)})
    else:
        print_text(machine_text(snapshot, judgement, is_here=options.hardware is None))
        if options.hardware is None:
            _print_users(snapshot)
    return 0


def _print_users(snapshot: HardwareSnapshot) -> None:
    """Who uses the VRAM at this moment; nothing where nobody does or nothing tells."""
    from app.hardware.gpu_users import read_gpu_users
    from app.words import say

    users = read_gpu_users(snapshot.gpus)
    if users:
        print_text("")
    for user in users:
        gpu = snapshot.gpus[user.gpu]
        params = {"gpu": gpu.engine_name or gpu.name, "name": user.name, "pid": user.pid, "size": user.dedicated_bytes}
        print_text(say("machine.vram_user", **params))


def _compare(options: Namespace, snapshot: HardwareSnapshot, other: HardwareSnapshot) -> int:
    from app.cli.machine_text import compare_text, fact_json, verdict_text
    from app.words import say
    from app.work.machine_compare import compare_machines
    from app.work.machine_verdict import judge_machine

    rows = compare_machines(snapshot, other)
    verdicts = (
        verdict_text(snapshot, judge_machine(snapshot)),
        verdict_text(other, judge_machine(other)),
    )
    here = say("compare_machines.here") if options.hardware is None else Path(options.hardware).name
    if options.json:
        told = [
            {
                "group": row.group,
                "key": row.key,
                "label": row.label,
                "differs": row.differs,
                "left": fact_json(row.left),
                "right": fact_json(row.right),
            }
            for row in rows
        ]
        print_json({"left": options.hardware, "right": options.compare, "verdicts": list(verdicts), "rows": told})
    else:
        print_text(compare_text((here, Path(options.compare).name), rows, verdicts))
    return 1 if any(row.differs for row in rows) else 0


def _snapshot(options: Namespace) -> HardwareSnapshot:
    """A saved machine as it is, or a look at this one."""
    if options.hardware is not None:
        return load_snapshot(Path(options.hardware))
    from app.cli.inputs import chosen_engine
    from app.engine.devices import check_rpc_servers
    from app.work.machine import look_at_machine, with_measured_ram

    engine = chosen_engine(options)
    check_rpc_servers(options.rpc)
    snapshot = look_at_machine(None if engine is None else engine.binary, tuple(options.rpc))
    return with_measured_ram(snapshot) if options.measure else snapshot
