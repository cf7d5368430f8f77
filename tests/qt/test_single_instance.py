"""One window for each data folder: what a second start hands over, and what a stranger on the socket achieves."""

import dataclasses
import json
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QTimer
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QWidget

from app.common.paths import app_paths
from app.common.start_options import WindowOptions
from app.session import single_instance
from app.session.single_instance import (
    WindowServer,
    claim_window,
    hand_over,
    has_window,
    message_of,
    read_message,
    socket_name,
)
from app.ui.one_window import OneWindow
from app.ui.start import Starter


@pytest.fixture
def paths():
    return app_paths()


@pytest.fixture
def lock(paths):
    held = claim_window(paths)
    assert held is not None
    yield held
    held.release()


@pytest.fixture
def server(qapp, paths, lock):
    made = WindowServer(paths)
    assert made.is_listening
    made.heard = []
    made.open_requested.connect(made.heard.append)
    yield made
    made.close()
    made.deleteLater()


def in_thread(qtbot, call):
    """Call from another thread, as another process would, while the window's event loop runs; its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    qtbot.waitUntil(lambda: bool(results), timeout=20_000)
    thread.join()
    return results[0]


@pytest.mark.parametrize(
    "name", ["model.gguf", "有 空格/模型 30B.gguf", "x" * 300 + "/m.gguf", "\\\\server\\share\\m.gguf"]
)
def test_that_a_second_start_hands_its_file_over(qtbot, paths, server, name):
    assert in_thread(qtbot, lambda: hand_over(paths, name))
    (heard,) = server.heard
    assert heard == str(Path(name).absolute())


def test_that_a_start_without_a_file_brings_the_window_forward(qtbot, paths, server):
    assert in_thread(qtbot, lambda: hand_over(paths, None))
    assert server.heard == [""]


def test_that_only_one_can_hold_the_lock_and_the_next_gets_it(paths):
    first = claim_window(paths)
    assert first is not None
    assert claim_window(paths) is None
    first.release()
    again = claim_window(paths)
    assert again is not None
    again.release()


def test_that_a_data_folder_that_cannot_be_written_gives_no_lock_and_no_window_to_ask(paths):
    paths = dataclasses.replace(paths, data=Path(__file__) / "below a file")
    assert claim_window(paths) is None
    assert not has_window(paths)


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of Windows is gone with its process: nothing is left over")
def test_that_the_socket_of_a_crashed_window_is_replaced(qtbot, paths, lock):
    dead = QLocalServer()
    assert dead.listen(socket_name(paths))
    Path(socket_name(paths)).rename(Path(socket_name(paths) + ".kept"))
    Path(socket_name(paths)).write_bytes(b"left over")
    server = WindowServer(paths)
    assert server.is_listening
    assert in_thread(qtbot, lambda: hand_over(paths, None))
    server.close()
    server.deleteLater()
    dead.close()


def test_that_a_window_that_does_not_answer_is_given_up(paths, lock):
    assert not hand_over(paths, "m.gguf", patience_s=0.05)


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"{}\n",
        b"[]\n",
        b'{"open": 7}\n',
        b'{"open": "relative.gguf"}\n',
        b'{"open": "/nul\\u0000.gguf"}\n',
        b'{"open": ""}\n',
        b"\xff\xfe\x00\n",
        b"[" * 60_000 + b"\n",
        b"x" * 70_000,
        json.dumps({"open": "/" + "x" * 40_000}).encode() + b"\n",
    ],
)
def test_that_hostile_bytes_open_nothing_and_end_the_connection(qtbot, paths, server, data):
    socket = QLocalSocket()
    socket.connectToServer(socket_name(paths))
    socket.write(data)
    qtbot.waitUntil(lambda: socket.state() is QLocalSocket.LocalSocketState.UnconnectedState, timeout=30_000)
    assert server.heard == []
    assert in_thread(qtbot, lambda: hand_over(paths, None))


def test_that_callers_who_say_nothing_are_let_go_and_do_not_keep_others_out(qtbot, paths, server, monkeypatch):
    monkeypatch.setattr(single_instance, "_CALLER_MS", 30)
    sockets = [QLocalSocket() for _ in range(20)]
    for socket in sockets:
        socket.connectToServer(socket_name(paths))
        socket.write(b'{"open"')
    gone = QLocalSocket.LocalSocketState.UnconnectedState
    qtbot.waitUntil(lambda: all(s.state() is gone for s in sockets), timeout=30_000)
    assert server.heard == []
    monkeypatch.setattr(single_instance, "_CALLER_MS", 3000)
    assert in_thread(qtbot, lambda: hand_over(paths, None))


def test_that_a_message_comes_back_as_it_was_sent():
    path = str(Path("模型 1.gguf").absolute())
    assert read_message(message_of(path).rstrip()) == path
    assert read_message(message_of(None)) == ""
    assert read_message(b'{"close": null}') is None


def test_that_a_long_data_folder_still_gets_a_socket(paths):
    deep = dataclasses.replace(paths, data=paths.data / ("d" * 120))
    assert len(socket_name(deep)) <= 108
    assert socket_name(deep) != socket_name(dataclasses.replace(paths, data=paths.data / ("e" * 120)))


class Session:
    def __init__(self):
        self.opened = []
        self.plan_files = self

    def open_model(self, path):
        self.opened.append(("model", path))

    def open(self, path):
        self.opened.append(("plan", path))


def test_that_the_running_window_opens_the_file_of_a_second_start_and_comes_forward(qtbot, paths):
    window, session = QWidget(), Session()
    qtbot.addWidget(window)
    first = OneWindow(paths, WindowOptions())
    assert not first.was_handed_over
    first.open_in(window, session)
    for name in ("a b.gguf", "方案.json"):
        second = in_thread(qtbot, lambda name=name: OneWindow(paths, WindowOptions(model=name)))
        assert second.was_handed_over
    assert session.opened == [("model", str(Path("a b.gguf").absolute())), ("plan", str(Path("方案.json").absolute()))]
    assert window.isVisible()
    window.hide()
    beside = OneWindow(paths, WindowOptions(model="a.gguf", new_window=True))
    assert not beside.was_handed_over
    beside.close()
    first.close()
    assert not OneWindow(paths, WindowOptions(smoke=True)).was_handed_over


def test_that_a_file_of_a_second_start_waits_for_a_window_that_is_still_starting(qtbot, paths):
    window, session = QWidget(), Session()
    qtbot.addWidget(window)
    first = OneWindow(paths, WindowOptions())
    first.listen()  # the window and its session are not made yet
    second = in_thread(qtbot, lambda: OneWindow(paths, WindowOptions(model="a.gguf")))
    assert second.was_handed_over
    assert session.opened == []
    first.open_in(window, session)
    assert session.opened == [("model", str(Path("a.gguf").absolute()))]
    assert window.isVisible()
    first.close()


def test_that_a_second_start_waits_for_the_first_one_to_listen(qtbot, paths):
    first = OneWindow(paths, WindowOptions())
    QTimer.singleShot(50, first, first.listen)  # by then the second has found the lock taken and nobody listening
    second = in_thread(qtbot, lambda: OneWindow(paths, WindowOptions(model="a.gguf")))
    assert second.was_handed_over
    first.close()


def test_that_a_second_start_takes_the_place_of_a_first_one_that_ends_unheard(qtbot, paths):
    first = OneWindow(paths, WindowOptions())
    QTimer.singleShot(50, first, first.close)
    second = in_thread(qtbot, lambda: OneWindow(paths, WindowOptions(model="a.gguf")))
    assert not second.was_handed_over
    assert second.problems == ()
    assert claim_window(paths) is None  # the second holds it
    second.close()


def test_that_a_window_listens_before_the_slow_part_of_its_start(monkeypatch):
    steps = []

    class One:
        def listen(self):
            steps.append("listen")

    def make(_):
        steps.append("session")
        raise SystemExit

    monkeypatch.setattr("app.ui.start.make_session", make)
    with pytest.raises(SystemExit):
        Starter(QObject(), WindowOptions(), one=One()).begin()
    assert steps == ["listen", "session"]


def test_that_a_start_with_options_of_its_own_opens_a_window_of_its_own():
    assert WindowOptions(model="m.gguf").may_hand_over
    assert not WindowOptions(model="m.gguf", hardware="laptop.json").may_hand_over
    assert not WindowOptions(new_window=True).may_hand_over
