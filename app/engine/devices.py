"""Asks llama-server which devices it can use: the only list whose names ``-dev`` and ``-ot`` accept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.common.paths import AppPaths, app_paths
from app.common.problem import ProblemError, fail
from app.common.units import MIB
from app.engine.environment import engine_environment
from app.engine.failure import explain_exit
from app.engine.launcher import run_tool
from app.engine.locate import EngineBinary
from app.engine.ports import accepts_connections, split_endpoint
from app.hardware.devices import EngineDevice

_LINE = re.compile(r"^  (\S+): (.*) \((\d{1,12}) MiB, (\d{1,12}) MiB free\)$")
_RPC_NAME = re.compile(r"RPC\d+")
_TIMEOUT_S = 60.0  # the first CUDA start on a machine compiles nothing but may wake a sleeping GPU
_RPC_TIMEOUT_S = 20.0
_CONNECT_TIMEOUT_S = 3.0


def parse_devices(text: str) -> tuple[EngineDevice, ...]:
    """The devices of ``--list-devices`` output (common/arg.cpp:1165), in the engine's order.

    An RPC device is called ``RPC<n>`` with n counting over all servers, but its buffer ``RPC<k>[host:port]`` with k
    counting over that server's own devices (ggml-rpc.cpp:1094 and :2355). A device that reports 0 MiB of memory does
    not say how much it has: unknown.
    """
    devices: list[EngineDevice] = []
    seen: dict[str, int] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        name, about = match[1], match[2]
        buffer_name = name
        if _RPC_NAME.fullmatch(name):
            buffer_name = f"RPC{seen.setdefault(about, 0)}[{about}]"
            seen[about] += 1
        total, free = int(match[3]) * MIB, int(match[4]) * MIB
        devices.append(EngineDevice(name, about, total or None, free if total else None, buffer_name))
    return tuple(devices)


def list_devices(
    binary: EngineBinary, rpc_servers: Sequence[str] = (), paths: AppPaths | None = None
) -> tuple[EngineDevice, ...]:
    """What the engine can use now, with the memory that is free now. Raises ProblemError.

    ``rpc_unreachable``: nobody listens at one of ``rpc_servers`` (the engine itself would abort, ggml-rpc.cpp:547).
    ``rpc_not_answering``: somebody does, but is no RPC server that this engine understands (it waits for ever, or
    aborts). ``engine_broken`` and its kin: the engine did not answer.
    """
    check_rpc_servers(rpc_servers)
    home = (paths or app_paths()).engine_home
    rpc = ["--rpc", ",".join(rpc_servers)] if rpc_servers else []
    timeout_s = _RPC_TIMEOUT_S if rpc else _TIMEOUT_S
    try:
        output = run_tool([binary.path, *rpc, "--list-devices"], engine_environment(home), timeout_s)
    except OSError as error:
        raise fail("engine_broken", path=binary.path, why=error.strerror or str(error)) from error
    problem = explain_exit(output.code, output.lines)
    if rpc and (output.code is None or (problem is not None and problem.code == "rpc_lost")):
        raise fail("rpc_not_answering", problem.evidence if problem else (), endpoint=", ".join(rpc_servers))
    if output.code is None:
        raise fail("engine_broken", path=binary.path, why="no answer")
    if problem is not None:
        raise ProblemError(problem)
    return parse_devices(output.stdout)


def check_rpc_servers(rpc_servers: Sequence[str]) -> None:
    """Raise ``rpc_unreachable`` for the first server at which nobody listens."""
    for endpoint in rpc_servers:
        address = split_endpoint(endpoint)
        if address is None or not accepts_connections(*address, timeout_s=_CONNECT_TIMEOUT_S):
            raise fail("rpc_unreachable", endpoint=endpoint)
