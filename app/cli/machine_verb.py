"""``machine``: what this computer is. ``--json`` is the snapshot that ``--hardware FILE`` takes."""

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
    group.switch("--measure-ram")


def run(options: Namespace) -> int:
    """Print the machine."""
    snapshot = _snapshot(options)
    if options.json:
        print_json(snapshot_to_json(snapshot))
    else:
        from app.cli.machine_text import machine_text

        print_text(machine_text(snapshot))
    return 0


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
    return with_measured_ram(snapshot) if options.measure_ram else snapshot
