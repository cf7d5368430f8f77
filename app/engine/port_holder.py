"""Who listens on a port, as far as the system tells this user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # ships no types

from app.common.paths import AppPaths
from app.engine.leftovers import RunningServer, known_servers
from app.engine.ports import port_is_free

_PORTS = 65536


@dataclass(frozen=True, slots=True)
class PortHolder:
    """The program on a port. ``name`` None: the system does not tell it. ``server``: it is a server that a Lanewise
    started, by its file, its pid and its start time."""

    pid: int
    name: str | None
    server: RunningServer | None = None


@dataclass(frozen=True, slots=True)
class Listener:
    """One listening socket: its process and its port. None: the system does not tell this user; Windows says 0 then."""

    pid: int | None
    port: int


def port_holder(port: int, paths: AppPaths) -> PortHolder | None:
    """Who listens on this TCP port of this computer; None where nobody does or the system does not tell."""
    pid = next((one.pid for one in listeners() if one.port == port and one.pid is not None), None)
    if pid is None:
        return None
    server = next((one for one in known_servers(paths) if one.pid == pid), None)
    return PortHolder(pid, _name(pid), server)


def listeners(read: Callable[[], Iterable[object]] | None = None) -> tuple[Listener, ...]:
    """All listening TCP sockets that the system tells this user of. Nothing is raised."""
    try:
        told = list(read() if read is not None else psutil.net_connections("tcp"))
    except (psutil.Error, OSError, RuntimeError):
        return ()
    found = []
    for one in told:
        address = getattr(one, "laddr", None)
        if getattr(one, "status", None) == psutil.CONN_LISTEN and address:
            found.append(Listener(getattr(one, "pid", None) or None, int(address.port)))
    return tuple(found)


def next_free_port(host: str, port: int, tries: int = 64) -> int | None:
    """The next port above that a server could listen on now; None where all of them are taken."""
    above = range(port + 1, min(port + 1 + tries, _PORTS))
    return next((other for other in above if port_is_free(host, other)), None)


def _name(pid: int) -> str | None:
    try:
        return str(psutil.Process(pid).name()) or None
    except psutil.Error:
        return None
