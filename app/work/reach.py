"""Who can reach a server that listens on an address."""

from __future__ import annotations

import ipaddress

from app.common.problem import Problem, Severity


def is_loopback(host: str) -> bool:
    """Does a server that listens there answer this computer only? A path that ends in ``.sock`` is a socket of the file
    system (server-http.cpp)."""
    if host == "localhost" or host.endswith(".sock"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen_problems(host: str) -> tuple[Problem, ...]:
    """The warning ``paste_listens`` for a command whose server other computers can reach."""
    return () if is_loopback(host) else (Problem("paste_listens", Severity.WARNING, {"host": host}),)
