"""One HTTP answer as a stream of bytes, read on a thread of its own so that nobody waits for a silent server.

``http.client`` and not httpx: it hands out large reads (a third of the processor time on a fast line), and its socket
can be shut from another thread, which ends a connection at once.
"""

from __future__ import annotations

import contextlib
import http.client
import queue
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from app.common.problem import Problem, ProblemError, fail
from app.work.downloads.addresses import Address, parse_address, proxy_for, redirected
from app.work.downloads.limits import MOST_HEAD_BYTES, BoundedResponse, HeadTooLargeError, Pace
from app.work.downloads.types import Cancelled, Patience, check_cancelled

_CHUNK = 1 << 20
_WAITING_CHUNKS = 8
_LOOK_S = 0.1
_MOST_REDIRECTS = 10
_REDIRECTS = (301, 302, 303, 307, 308)
_WORTH_RETRYING = (408, 425, 429, 500, 502, 503, 504)
_USER_AGENT = "Lanewise"


class BrokenOffError(Exception):
    """The connection failed in a way that another attempt may mend. ``wait_s``: the server's own wish. ``is_stall``: it
    lasted, but what it brought is as good as nothing."""

    def __init__(self, problem: Problem, wait_s: float | None = None, *, is_stall: bool = False) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.wait_s = wait_s
        self.is_stall = is_stall


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an answer: status (200, 206 or 416), headers in lower case, the host that gave it."""

    status: int
    headers: Mapping[str, str]
    host: str

    @property
    def length(self) -> int | None:
        """Bytes of the body, when told."""
        value = self.headers.get("content-length", "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


class Stream:
    """An answer being read. Use it in a ``with`` block: leaving it shuts the connection at once.

    Raises ``BrokenOffError`` where another attempt may help and ProblemError where none will.
    """

    def __init__(self, url: str, headers: Mapping[str, str], patience: Patience, cancelled: Cancelled) -> None:
        self._address = parse_address(url)
        self._headers = dict(headers)
        self._patience = patience
        self._cancelled = cancelled
        self._queue: queue.Queue[Answer | bytes | Exception | None] = queue.Queue(_WAITING_CHUNKS)
        self._pace = Pace(patience)
        self._closed = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None  # http.client forgets its own as soon as the head has been read
        self._thread = threading.Thread(target=self._read, name="download", daemon=True)

    def __enter__(self) -> Stream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Shut the socket, which wakes the reading thread on most systems; where it does not, and while a name is
        looked up or a connection made, the thread is left to its time-out: it touches nothing but its connection."""
        self._closed.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(queue.Empty):
            while True:  # it may wait for room in the queue
                self._queue.get_nowait()
        self._thread.join(_LOOK_S)

    def head(self) -> Answer:
        """Wait for the head of the answer."""
        while (item := self._next()) == b"":
            continue
        assert isinstance(item, Answer)
        return item

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes; nothing (an empty chunk) ten times a second while the server is silent."""
        while (item := self._next()) is not None:
            assert isinstance(item, bytes)
            yield item

    def _next(self) -> Answer | bytes | None:
        check_cancelled(self._cancelled)
        try:
            item = self._queue.get(timeout=_LOOK_S)
        except queue.Empty:
            if self._pace.hangs():
                raise self._too_slow() from None
            return b""
        if isinstance(item, Exception):
            raise item
        return item

    # On the reading thread.

    def _read(self) -> None:
        try:
            response, address = self._open()
            with response:
                self._put(Answer(response.status, _lower(response), address.host))
                while not self._closed.is_set() and (chunk := self._chunk(response)):
                    self._put(chunk)
            self._put(None)
        except (ProblemError, BrokenOffError) as error:
            self._put(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._put(_explained(error, self._address.host))
        finally:
            if self._connection is not None:
                self._connection.close()

    def _chunk(self, response: http.client.HTTPResponse) -> bytes:
        self._pace.began()
        chunk = response.read1(_CHUNK)
        if not self._pace.got(len(chunk)) and chunk:
            self._put(chunk)
            raise self._too_slow()
        return chunk

    def _too_slow(self) -> BrokenOffError:
        return BrokenOffError(fail("download_slow", host=self._address.host).problem, is_stall=True)

    def _put(self, item: Answer | bytes | Exception | None) -> None:
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=_LOOK_S)
                return
            except queue.Full:
                continue

    def _open(self) -> tuple[http.client.HTTPResponse, Address]:
        """Follow redirects to an answer with a body."""
        address = self._address
        seen = {address.url}
        for _ in range(_MOST_REDIRECTS):
            response = self._ask(address)
            if response.status not in _REDIRECTS:
                _check(response, address)
                return response, address
            address = redirected(address, response.getheader("Location") or "")
            self._address = address
            response.close()
            if self._connection is not None:
                self._connection.close()
            if address.url in seen:
                break
            seen.add(address.url)
        raise fail("download_redirects", host=address.host)

    def _ask(self, address: Address) -> http.client.HTTPResponse:
        connection, target = _connection_to(address, self._patience.connect_s)
        connection.response_class = BoundedResponse
        self._connection = connection
        headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity", **self._headers}
        proxy = proxy_for(address)
        if proxy is not None and proxy.authorization and address.scheme == "http":
            headers["Proxy-Authorization"] = proxy.authorization
        connection.connect()
        self._socket = connection.sock
        if self._closed.is_set():
            raise fail("download_cancelled")
        connection.sock.settimeout(self._patience.silence_s)
        self._pace.began()
        connection.request("GET", target, headers=headers)
        return connection.getresponse()


def _connection_to(address: Address, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is not open yet, and what to ask it for: a proxy wants the whole address."""
    proxy = proxy_for(address)
    host, port = (address.host, address.port) if proxy is None else (proxy.host, proxy.port)
    if address.scheme == "http":
        target = address.target if proxy is None else address.url
        return http.client.HTTPConnection(host, port, timeout=timeout_s), target
    secure = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=ssl.create_default_context())
    if proxy is not None:
        headers = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {}
        secure.set_tunnel(address.host, address.port, headers)
    return secure, address.target


def _lower(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _check(response: http.client.HTTPResponse, address: Address) -> None:
    """Let 200, 206 and 416 pass; everything else is a reason."""
    status = response.status
    if status in (200, 206, 416):
        if (response.getheader("Content-Encoding") or "identity").lower() != "identity":
            raise fail("download_encoded", host=address.host)
        return
    problem = _status_problem(status, address)
    if status == 403 and response.getheader("X-RateLimit-Remaining") == "0":  # how the public API of GitHub says 429
        raise fail("download_too_many", host=address.host)
    if status in _WORTH_RETRYING:
        raise BrokenOffError(problem, retry_after_s(response.getheader("Retry-After"), datetime.now(UTC)))
    raise ProblemError(problem)


def _status_problem(status: int, address: Address) -> Problem:
    name = address.target.split("?", 1)[0].rpartition("/")[2] or address.host
    if status in (404, 410):
        return fail("download_not_found", host=address.host, name=name[:80]).problem
    if status in (401, 403, 451):
        return fail("download_forbidden", host=address.host, name=name[:80], status=status).problem
    if status == 407:
        return fail("download_proxy_login").problem
    if status == 429:
        return fail("download_too_many", host=address.host).problem
    return fail("download_http", host=address.host, status=status).problem


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for (a number or a date); None when it says nothing usable."""
    if not value:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value.strip()[:9])
    try:
        when = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


def _explained(error: Exception, host: str) -> Exception:
    """What a failed connection means, and whether another attempt may help."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return fail("download_certificate", host=host, why=getattr(error, "verify_message", None) or error.reason)
    if isinstance(error, ssl.SSLError):
        return BrokenOffError(fail("download_tls", host=host, why=error.reason or str(error)).problem)
    if isinstance(error, socket.gaierror):
        return BrokenOffError(fail("download_no_such_host", host=host).problem)
    if isinstance(error, TimeoutError):
        return BrokenOffError(fail("download_silent", host=host).problem)
    if isinstance(error, HeadTooLargeError):
        return fail("download_head_too_large", host=host, kib=MOST_HEAD_BYTES >> 10)
    if isinstance(error, OSError) and "Tunnel connection failed" in str(error):
        return fail("download_proxy_refused", host=host, why=str(error).rpartition(": ")[2])
    if isinstance(error, OSError):
        return BrokenOffError(fail("download_unreachable", host=host, why=error.strerror or str(error)).problem)
    return BrokenOffError(fail("download_odd_answer", host=host, why=type(error).__name__).problem)
