"""A web server on loopback that serves bytes as badly as the test wants: cuts, lies, redirects, throttles."""

import hashlib
import re
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """One file. ``cuts``: after how many bytes of an answer the connection breaks, one entry per request. ``trickle``:
    byte after byte until it is set."""

    data: bytes = b""
    etag: str | None = '"1"'
    last_modified: str | None = None
    ranges: bool = True
    cuts: deque = field(default_factory=deque)
    statuses: deque = field(default_factory=deque)
    location: str | None = None
    told_length: int | None = None
    length: bool = True
    content_type: str = "application/octet-stream"
    headers: dict = field(default_factory=dict)
    hold: threading.Event | None = None
    hold_after: int = 0
    trickle: threading.Event | None = None

    @property
    def sha256(self):
        return hashlib.sha256(self.data).hexdigest()


class FileServer:
    """``files`` by path; ``asked`` remembers (path, Range, If-Range) of every request, ``heads`` all its headers."""

    def __init__(self):
        self.files = {}
        self.asked = []
        self.heads = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer._answer(self)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def url(self, path):
        return f"{self.base}{path}"

    def put(self, path, data=b"", **more):
        self.files[path] = Served(data, **more)
        return self.files[path]

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        for served in self.files.values():
            for event in (served.hold, served.trickle):
                if event is not None:
                    event.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler):
        handler.close_connection = True
        path = handler.path
        self.heads.append({name.lower(): value for name, value in handler.headers.items()})
        self.asked.append((path, handler.headers.get("Range"), handler.headers.get("If-Range")))
        served = self.files.get(path) or self.files.get(path.partition("?")[0])
        status = 404 if served is None else served.statuses.popleft() if served.statuses else 200
        if served is None or status >= 300:
            self._refuse(handler, served, status)
            return
        begin = self._begin(handler, served)
        if begin is not None and begin >= len(served.data):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(served.data)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        self._send(handler, served, begin)

    @staticmethod
    def _begin(handler, served):
        """Where the answer begins; None: the whole file."""
        wanted = re.fullmatch(r"bytes=(\d+)-\d*", handler.headers.get("Range") or "")
        if not wanted or not served.ranges:
            return None
        condition = handler.headers.get("If-Range")
        if condition is not None and condition not in (served.etag, served.last_modified):
            return None
        return int(wanted[1])

    @staticmethod
    def _refuse(handler, served, status):
        handler.send_response(status)
        if served is not None and served.location is not None:
            handler.send_header("Location", served.location)
        for name, value in (served.headers if served else {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    @staticmethod
    def _send(handler, served, begin):
        body = served.data[begin or 0 :]
        handler.send_response(200 if begin is None else 206)
        handler.send_header("Content-Type", served.content_type)
        if begin is not None:
            handler.send_header("Content-Range", f"bytes {begin}-{len(served.data) - 1}/{len(served.data)}")
        if served.length:
            handler.send_header("Content-Length", str(served.told_length or len(body)))
        for name, value in (("ETag", served.etag), ("Last-Modified", served.last_modified), *served.headers.items()):
            if value is not None:
                handler.send_header(name, value)
        handler.end_headers()
        cut = served.cuts.popleft() if served.cuts else len(body)
        try:
            if served.hold is not None:
                handler.wfile.write(body[: served.hold_after])
                handler.wfile.flush()
                served.hold.wait(30)
                body = body[served.hold_after :]
            while served.trickle is not None and body and not served.trickle.wait(0.005):
                handler.wfile.write(body[:1])
                body = body[1:]
            handler.wfile.write(body[:cut])
        except OSError:
            return  # the client has gone
