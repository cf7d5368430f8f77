"""Questions about TCP ports: free to listen on? does someone answer?"""

from __future__ import annotations

import errno
import socket
import sys

from app.common.problem import Problem, fail

LOOPBACK = "127.0.0.1"
_WILDCARDS = {"0.0.0.0": LOOPBACK, "": LOOPBACK, "::": "::1"}
_FORBIDDEN = (errno.EACCES, errno.EPERM, 10013)  # 10013: WSAEACCES, a port range that Windows reserved (Hyper-V)


def reachable_host(host: str) -> str:
    """The address to talk to for a server that listens on ``host``: a wildcard is reached on loopback."""
    return _WILDCARDS.get(host, host)


def base_url(host: str, port: int) -> str:
    """``http://127.0.0.1:8080`` for a server on this host and port."""
    name = reachable_host(host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def port_problem(host: str, port: int) -> Problem | None:
    """Why a server could not listen there (``port_in_use``, ``port_forbidden``, ``host_unknown``), or None.

    Port 0 (any free one) is always free.
    """
    if port == 0:
        return None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as listener:
            if sys.platform == "win32":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1)
    except (socket.gaierror, UnicodeError, OverflowError):
        return fail("host_unknown", host=host, port=port).problem
    except OSError as error:
        if error.errno in _FORBIDDEN:
            return fail("port_forbidden", host=host, port=port).problem
        code = "host_unknown" if error.errno == errno.EADDRNOTAVAIL else "port_in_use"
        return fail(code, host=host, port=port).problem
    return None


def port_is_free(host: str, port: int) -> bool:
    """Could a server listen there now?"""
    return port_problem(host, port) is None


def free_port(host: str = LOOPBACK) -> int:
    """A port that is free at this moment; somebody may take it before it is used."""
    with socket.socket() as listener:
        listener.bind((host, 0))
        return int(listener.getsockname()[1])


def accepts_connections(host: str, port: int, timeout_s: float) -> bool:
    """Does anybody accept a TCP connection there?"""
    try:
        with socket.create_connection((host, port), timeout_s):
            return True
    except (OSError, UnicodeError, OverflowError):
        return False


def split_endpoint(endpoint: str) -> tuple[str, int] | None:
    """``("192.168.1.7", 50052)`` of ``192.168.1.7:50052``; None when it is not HOST:PORT."""
    host, colon, port = endpoint.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65536:
        return None
    return host.strip("[]"), int(port)
