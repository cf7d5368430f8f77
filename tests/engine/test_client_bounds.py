"""Whoever answers on the server's port: an answer without end, or one that unpacks to a thousand times its length, is
no answer, and takes no memory."""

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from app.common.problem import ProblemError
from app.engine import client
from app.engine.client import ServerClient

_PACKED = gzip.compress(b"[" + b" " * (64 << 20) + b"]")


class _Hostile(BaseHTTPRequestHandler):
    """``/health`` and ``/slots`` go on for ever, ``/props`` is packed, the chat's stream too."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        if self.path == "/props":
            self._begin({"Content-Encoding": "gzip", "Content-Length": str(len(_PACKED))})
            self.wfile.write(_PACKED)
            return
        self._begin({"Transfer-Encoding": "chunked"})
        try:
            while not self.server.is_over.is_set():
                self.wfile.write(b"10000\r\n" + b"[" * 0x10000 + b"\r\n")
        except OSError:
            self.close_connection = True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._begin({"Content-Encoding": "gzip", "Content-Length": str(len(_PACKED))})
        self.wfile.write(_PACKED)

    def _begin(self, headers):
        self.server.wanted.append(self.headers["Accept-Encoding"])
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def _hostile_server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hostile)
    server.is_over, server.wanted = threading.Event(), []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with ServerClient(f"http://127.0.0.1:{server.server_port}", "key") as asked:
            yield server, asked
    finally:
        server.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_that_an_answer_without_end_is_none_and_readiness_needs_no_body(monkeypatch):
    monkeypatch.setattr(client, "_MOST_BYTES", 1 << 20)
    with _hostile_server() as (_, asked):
        assert asked.health() == 200
        with pytest.raises(ProblemError) as told:
            asked.slots(0.0)
        assert told.value.problem.code == "server_reply_broken"
        assert "does not end" in str(told.value.problem.params["why"])


def test_that_nothing_is_unpacked_and_nobody_is_asked_to_pack():
    with _hostile_server() as (server, asked):
        with pytest.raises(ProblemError) as told:
            asked.props()
        assert told.value.problem.code == "server_reply_broken"
        assert asked.stream_chat([], lambda _: None, threading.Event()).finish_reason == "interrupted"
        assert server.wanted == ["identity", "identity"]
