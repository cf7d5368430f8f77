"""One window for each user and data folder: a second start hands its file over to the first and ends.

Who holds ``window.lock`` is the window; the system lets go of it when that process ends, however it ends, so a crash
leaves nothing that would mislead the next start. The lock costs a millisecond; Qt's network part (20 ms of a start) is
imported only where somebody else holds it, and by the window itself after its first paint.

What comes in over the socket is hostile: one line of JSON of at most 64 KiB, a few callers, a few seconds each.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.paths import AppPaths
from app.common.problem import Problem, Severity
from app.engine.filelock import FileLock

if TYPE_CHECKING:
    from PySide6.QtNetwork import QLocalSocket

_LOCK_NAME = "window.lock"
_SOCKET_NAME = "window.sock"
_LONGEST_SOCKET_PATH = 100
"""sun_path holds 108 bytes on Linux, 104 on macOS."""
_MOST_BYTES = 64 * 1024
_LONGEST_PATH = 32_767
"""Windows' own limit, in characters."""
_MOST_CALLERS = 8
_CALLER_MS = 3000
_ANSWER = b"ok\n"
_HAND_OVER_S = 20.0
"""The first window may still be starting: it holds the lock a moment before it listens, and answers once it is up."""
_TRY_MS = 300
_LOOK_MS = 20
_PAUSE_S = 0.005


def claim_window(paths: AppPaths) -> FileLock | None:
    """The lock of this data folder's window; None when another window holds it, or where no lock can be made."""
    lock = FileLock(paths.data / _LOCK_NAME)
    try:
        return lock if lock.try_acquire() else None
    except OSError:
        return None


def has_window(paths: AppPaths) -> bool:
    """Has there ever been a window here? Without a lock file nobody can be asked."""
    return (paths.data / _LOCK_NAME).is_file()


def socket_name(paths: AppPaths) -> str:
    """Where the window listens: a pipe's name on Windows, else a file in the data folder, which is the user's own; in
    the system's folder for running programs where that path would be too long for a socket."""
    import hashlib

    folder = os.path.abspath(paths.data)
    digest = hashlib.sha256(os.path.normcase(folder).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    if sys.platform == "win32":
        return f"lanewise-{digest}"
    path = os.path.join(folder, _SOCKET_NAME)
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    import tempfile

    return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), f"lanewise-{digest}")


def message_of(path: str | None) -> bytes:
    """What is sent: the file to open, as a path that means the same in another working folder; None: come forward."""
    return json.dumps({"open": None if path is None else os.path.abspath(path)}).encode("ascii") + b"\n"


def read_message(data: bytes) -> str | None:
    """The file to open, '' when the window should only come forward, None when this is no message of ours."""
    try:
        message = json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "open" not in message:
        return None
    path = message["open"]
    if path is None:
        return ""
    if not isinstance(path, str) or not path or "\0" in path or len(path) > _LONGEST_PATH or not os.path.isabs(path):
        return None
    return path


def hand_over(
    paths: AppPaths,
    path: str | None,
    patience_s: float = _HAND_OVER_S,
    is_alone: Callable[[], bool] = lambda: False,
) -> bool:
    """Ask the running window to open ``path`` (None: to come forward); False when nobody answered in time, or as soon
    as ``is_alone`` says after a try in vain that there is no other window any more."""
    from PySide6.QtNetwork import QLocalSocket

    _let_others_come_forward()
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        socket = QLocalSocket()
        name = socket_name(paths)
        if _is_ours(name):
            socket.connectToServer(name)
        if socket.waitForConnected(_TRY_MS) and _say(socket, message_of(path), deadline):
            return True
        if is_alone():
            break
        time.sleep(_TRY_MS / 1000)
    return False


def _is_ours(name: str) -> bool:
    """In a temporary folder that all users share, somebody else may have put a socket of this name there first."""
    if sys.platform == "win32":
        return True
    try:
        return os.stat(name).st_uid == os.getuid()
    except OSError:
        return False


def _say(socket: QLocalSocket, message: bytes, deadline: float) -> bool:
    socket.write(message)
    socket.flush()
    answer = b""
    while len(answer) < len(_ANSWER) and time.monotonic() < deadline:
        socket.waitForReadyRead(_LOOK_MS)  # keeps Python to itself: in slices, so that other threads go on
        answer += bytes(socket.read(len(_ANSWER)).data())
        if not answer and socket.state() is not socket.LocalSocketState.ConnectedState:
            break
        time.sleep(_PAUSE_S)
    socket.abort()
    return answer == _ANSWER


def _let_others_come_forward() -> None:
    """Windows lets only the program in front pass that place on (ASFW_ANY): the one just double-clicked is it."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(ctypes.c_uint32(0xFFFFFFFF))


class WindowServer(QObject):
    """Listens for later starts. Signal ``open_requested`` with a path, '' for "come forward"."""

    open_requested = Signal(str)

    def __init__(self, paths: AppPaths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        from PySide6.QtNetwork import QLocalServer

        self._callers: set[_Caller] = set()
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.setMaxPendingConnections(_MOST_CALLERS)
        self._server.newConnection.connect(self._on_connection)
        name = socket_name(paths)
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # not ours: then listening fails too, and each start has its window
                os.unlink(name)  # we hold the lock, so whoever listened there has crashed
        self.is_listening = self._server.listen(name)

    @Slot()
    def _on_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            if len(self._callers) >= _MOST_CALLERS:
                socket.abort()
                socket.deleteLater()
                continue
            caller = _Caller(socket, self)
            caller.said.connect(self.open_requested)
            caller.over.connect(self._on_over)
            self._callers.add(caller)
            caller.read()

    @Slot(object)
    def _on_over(self, caller: _Caller) -> None:
        self._callers.discard(caller)
        caller.deleteLater()

    def close(self) -> None:
        """Nobody is listened to any more."""
        self._server.close()
        for caller in tuple(self._callers):
            caller.end()


class _Caller(QObject):
    """One connection: a line is read, answered, and the connection closed. ``over`` comes once, whatever happens."""

    said = Signal(str)
    over = Signal(object)

    def __init__(self, socket: QLocalSocket, parent: QObject) -> None:
        super().__init__(parent)
        self._socket = socket
        socket.setParent(self)
        socket.setReadBufferSize(_MOST_BYTES + 1)
        self._data = b""
        self._is_over = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.end)
        self._timer.start(_CALLER_MS)
        socket.readyRead.connect(self.read)
        socket.disconnected.connect(self.end)

    @Slot()
    def read(self) -> None:
        """Take what has come so far."""
        if self._is_over:
            return
        self._data += bytes(self._socket.read(_MOST_BYTES + 1 - len(self._data)).data())
        line, end, _ = self._data.partition(b"\n")
        if not end:
            if len(self._data) > _MOST_BYTES:
                self.end()
            return
        path = read_message(line)
        if path is not None:
            self._socket.write(_ANSWER)
            self._socket.flush()
            self.said.emit(path)
            self._socket.disconnectFromServer()
        self.end()

    @Slot()
    def end(self) -> None:
        """Close the connection."""
        if self._is_over:
            return
        self._is_over = True
        self._timer.stop()
        if self._socket.bytesToWrite() == 0:
            self._socket.close()
        self.over.emit(self)


def silent_window() -> Problem:
    """The other window holds the lock but does not answer: this one was opened beside it."""
    return Problem("window_silent", Severity.WARNING)
