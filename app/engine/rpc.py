"""ggml-rpc-server on this machine: a device that the engine treats like a graphics card.

For trying Lanewise on a machine without one, and for tests; with a memory limit it is a card that runs full.
"""

from __future__ import annotations

import threading
from types import TracebackType

from app.common.paths import AppPaths
from app.common.problem import ProblemError, fail
from app.engine.child import Child, ChildSpec, iter_lines
from app.engine.environment import engine_environment
from app.engine.launcher import launch
from app.engine.locate import EngineBinary
from app.engine.mailbox import Mailbox
from app.engine.ports import LOOPBACK, accepts_connections, free_port

_TRIES = 3
_LOOK_S = 0.05
_CONNECT_TIMEOUT_S = 1.0
_KEPT_LINES = 20


class RpcServer:
    """Runs ggml-rpc-server on a free loopback port as long as the ``with`` block lasts.

    ``address_space_bytes`` limits its address space (Linux): allocations beyond fail as on a full card. The limit
    must leave room for the program itself, about 200 MiB. Raises ProblemError ``rpc_server_missing`` and
    ``rpc_server_failed``. It ends with this process at the latest.
    """

    def __init__(self, binary: EngineBinary, paths: AppPaths, address_space_bytes: int | None = None) -> None:
        if binary.rpc_server is None:
            raise fail("rpc_server_missing")
        self._program = binary.rpc_server
        self._env = engine_environment(paths.engine_home)
        self._address_space_bytes = address_space_bytes
        self._child: Child | None = None
        self._threads: list[threading.Thread] = []
        self._mail = Mailbox()
        self.port = 0

    @property
    def endpoint(self) -> str:
        """What ``--rpc`` wants."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Its process, None while it does not run."""
        return None if self._child is None else self._child.pid

    def __enter__(self) -> RpcServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it accepts connections. Another program may take the port meanwhile: three tries."""
        problem: ProblemError | None = None
        for _ in range(_TRIES):
            self.port = free_port()
            try:
                self._start_once()
            except ProblemError as error:
                problem = error
            else:
                return
        assert problem is not None
        raise problem

    def stop(self) -> None:
        """End it at once; it holds nothing that must be saved."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill_tree()
        for thread in self._threads:
            thread.join()
        child.reap()

    def _start_once(self) -> None:
        argv = (self._program, "-H", LOOPBACK, "-p", str(self.port))
        self._mail = Mailbox()
        # It answers a client that has been killed without asking for the error (ggml-rpc/transport.cpp:552, no
        # MSG_NOSIGNAL): the signal would end it, and every later client would find nobody.
        limit = self._address_space_bytes
        try:
            child = launch(ChildSpec(argv, self._env, address_space_bytes=limit, ignores_sigpipe=True))
        except OSError as error:
            raise fail("rpc_server_failed", why=error.strerror or str(error)) from error
        self._child = child
        self._threads = [
            threading.Thread(target=target, args=(child, self._mail), name="rpc-server", daemon=True)
            for target in (_read, _await_exit)
        ]
        for thread in self._threads:
            thread.start()
        while not accepts_connections(LOOPBACK, self.port, _CONNECT_TIMEOUT_S):
            self._mail.wait(_LOOK_S)
            if self._mail.has_exited:
                self.stop()
                lines = self._mail.take_lines()[-_KEPT_LINES:]
                raise fail("rpc_server_failed", evidence=tuple(lines), why=lines[-1] if lines else None)


def _read(child: Child, mail: Mailbox) -> None:
    with child.stdout as stream:
        for line in iter_lines(stream):
            mail.put_line(line)


def _await_exit(child: Child, mail: Mailbox) -> None:
    child.wait_exit()
    mail.tell_exit()
