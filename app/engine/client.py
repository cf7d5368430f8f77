"""Talks to a running llama-server. Its answers are treated as hostile: everything is bounded and checked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

from app.common.problem import ProblemError, fail
from app.engine.slotrate import SlotSample, parse_slots
from app.engine.sse import ChatDone, ChatEvent, parse_chat_chunk, sse_data

# httpx takes 0.1 s to import, so each method imports it: only when a server is really spoken to.

_TIMEOUT_S = 10.0
_COMPLETION_TIMEOUT_S = 600.0
_LONGEST_REASON = 300
_MOST_MODELS = 100
_MOST_BYTES = 16 << 20
"""Of an answer that is no stream; what all slots say of long prompts is some hundred kilobytes."""
_MOST_TOKENS = 1 << 31


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of ``/completion``. Speeds in tok/s, None when the server did not tell."""

    text: str
    tokens: tuple[int, ...]
    predicted_tps: float | None
    prompt_tps: float | None


class ServerClient:
    """One server's HTTP interface. Use as a context manager, or call ``close``. May be used from several threads."""

    def __init__(self, url: str, api_key: str | None, keep_alive: bool = True) -> None:
        """``keep_alive`` False: no connection stays open between calls; a server that ends would wait for it."""
        import httpx

        self.url = url.rstrip("/")
        # a packed answer may be a thousand times as long as what comes over the line; the engine packs none
        self._headers = {"Accept-Encoding": "identity"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"
        # trust_env off: a proxy of the environment must not see prompts, nor break loopback.
        limits = httpx.Limits() if keep_alive else httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.Client(
            base_url=self.url, headers=self._headers, timeout=_TIMEOUT_S, trust_env=False, limits=limits
        )

    def __enter__(self) -> ServerClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def health(self) -> int | None:
        """HTTP status of ``/health``: 503 while loading, 200 when ready, None when nobody answers."""
        import httpx

        try:
            with self._http.stream("GET", "/health") as response:
                return response.status_code
        except httpx.HTTPError:
            return None

    def props(self) -> Mapping[str, object]:
        """``GET /props``: model path, slots, chat template. Raises ProblemError."""
        data = self._json("GET", "/props", None, _TIMEOUT_S)
        if not isinstance(data, dict):
            raise self._broken("/props is no object")
        return data

    def models(self) -> tuple[str, ...]:
        """``GET /v1/models``: the names the server goes by, as OpenAI's clients ask for them. Raises ProblemError."""
        data = self._json("GET", "/v1/models", None, _TIMEOUT_S)
        listed = data.get("data") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            raise self._broken("/v1/models has no list")
        names = (entry.get("id") for entry in listed[:_MOST_MODELS] if isinstance(entry, dict))
        return tuple(name[:_LONGEST_REASON] for name in names if isinstance(name, str))

    def has_page(self) -> bool:
        """Does the server show a page of its own to a browser? A build may come without, or it is switched off.
        Raises ProblemError when nobody answers."""
        import httpx

        try:
            with self._http.stream("GET", "/", headers={"Accept": "text/html"}) as response:
                return response.status_code == 200
        except httpx.HTTPError as error:
            raise fail("server_unreachable", url=self.url, why=_reason(error)) from error

    def slots(self, at_s: float) -> tuple[SlotSample, ...]:
        """``GET /slots``: what every slot does now; ``at_s`` is the time to write down. Raises ProblemError."""
        data = self._json("GET", "/slots", None, _TIMEOUT_S)
        if not isinstance(data, list):
            raise self._broken("/slots is no list")
        return parse_slots(data, at_s)

    def completion(
        self, prompt: str, n_predict: int, seed: int, temperature: float = 0.0, return_tokens: bool = True
    ) -> Completion:
        """``POST /completion``: always ``n_predict`` tokens, end-of-text ignored. Raises ProblemError."""
        body: dict[str, object] = {
            "prompt": prompt,
            "n_predict": n_predict,
            "seed": seed,
            "temperature": temperature,
            "return_tokens": return_tokens,
            "ignore_eos": True,
            "cache_prompt": False,
        }
        data = self._json("POST", "/completion", body, _COMPLETION_TIMEOUT_S)
        if not isinstance(data, dict):
            raise self._broken("/completion is no object")
        tokens = data.get("tokens")
        timings = data.get("timings")
        timings = timings if isinstance(timings, dict) else {}
        return Completion(
            text=str(data.get("content", "")),
            tokens=tuple(t for t in tokens if isinstance(t, int)) if isinstance(tokens, list) else (),
            predicted_tps=_number(timings.get("predicted_per_second")),
            prompt_tps=_number(timings.get("prompt_per_second")),
        )

    def stream_chat(
        self,
        messages: Sequence[Mapping[str, object]],
        on_event: Callable[[ChatEvent], None],
        stop_event: threading.Event,
        max_tokens: int | None = None,
    ) -> ChatDone:
        """Stream an answer; blocks until its end, sending every event to ``on_event`` (on this thread), the end too.

        Setting ``stop_event`` closes the connection at once, also while the prompt is still being read or queued; the
        server then stops generating, and the end has the reason ``cancelled``. Raises ProblemError.
        """
        body: dict[str, object] = {
            "messages": list(messages),
            "stream": True,
            "timings_per_token": True,
            "return_progress": True,
            "cache_prompt": True,
        }
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        done: ChatDone | None = None
        for event in self._chat_events(body, stop_event):
            if isinstance(event, ChatDone):
                done = event
            else:
                on_event(event)
        if done is None:
            done = ChatDone("cancelled" if stop_event.is_set() else "interrupted")
        on_event(done)
        return done

    def fill_context(
        self,
        tokens: Sequence[int],
        n_predict: int,
        on_event: Callable[[ChatEvent], None],
        stop_event: threading.Event,
    ) -> bool:
        """``POST /completion`` with token numbers instead of text, nothing of it kept by the server's prompt cache.

        Progress and timings go to ``on_event``. True when it ended by itself, False when ``stop_event`` ended it.
        Raises ProblemError.
        """
        body: dict[str, object] = {
            "prompt": list(tokens),
            "n_predict": n_predict,
            "ignore_eos": True,
            "cache_prompt": False,
            "stream": True,
            "timings_per_token": True,
            "return_progress": True,
        }
        for event in self._chat_events(body, stop_event, "/completion"):
            on_event(event)
        return not stop_event.is_set()

    def slot_context(self) -> int | None:
        """Tokens that one slot can hold, by ``GET /props``; None: the server does not tell. Raises ProblemError."""
        settings = self.props().get("default_generation_settings")
        n_ctx = settings.get("n_ctx") if isinstance(settings, dict) else None
        return n_ctx if isinstance(n_ctx, int) and 0 < n_ctx < _MOST_TOKENS else None

    def vocab_size(self) -> int | None:
        """Tokens that the model knows, by ``GET /v1/models``; None: the server does not tell. Raises ProblemError."""
        data = self._json("GET", "/v1/models", None, _TIMEOUT_S)
        listed = data.get("data") if isinstance(data, dict) else None
        meta = listed[0].get("meta") if isinstance(listed, list) and listed and isinstance(listed[0], dict) else None
        n_vocab = meta.get("n_vocab") if isinstance(meta, dict) else None
        return n_vocab if isinstance(n_vocab, int) and 0 < n_vocab < _MOST_TOKENS else None

    def _chat_events(
        self, body: Mapping[str, object], stop_event: threading.Event, path: str = "/v1/chat/completions"
    ) -> Iterator[ChatEvent]:
        """Events until the end of the stream; ends silently when cancelled."""
        import httpx

        closer = _StreamCloser(stop_event)
        with closer.watch(), httpx.Client(trust_env=False, timeout=httpx.Timeout(_TIMEOUT_S, read=None)) as http:
            try:
                with http.stream(
                    "POST",
                    f"{self.url}{path}",
                    headers=self._headers,
                    json=body,
                    extensions={"trace": closer.trace},
                ) as response:
                    if response.status_code != 200:
                        raise self._refused(response.status_code, self._whole(response.iter_raw(), _TIMEOUT_S))
                    for data in sse_data(response.iter_raw()):
                        yield from parse_chat_chunk(data)
                        if stop_event.is_set():
                            return
            except (httpx.HTTPError, OSError) as error:
                if not stop_event.is_set():
                    raise fail("server_unreachable", url=self.url, why=_reason(error)) from error
            except ValueError as error:
                raise self._broken(_reason(error)) from error

    def _json(self, method: str, path: str, body: Mapping[str, object] | None, timeout_s: float) -> object:
        import httpx

        try:
            with self._http.stream(method, path, json=body, timeout=timeout_s) as response:
                content = self._whole(response.iter_raw(), timeout_s)
        except httpx.HTTPError as error:
            raise fail("server_unreachable", url=self.url, why=_reason(error)) from error
        if response.status_code != 200:
            raise self._refused(response.status_code, content)
        try:
            data: object = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._broken(_reason(error)) from error
        return data

    def _whole(self, chunks: Iterable[bytes], timeout_s: float) -> bytes:
        """A body that ends, and in time; httpx' own limit is for each read alone. Raises ProblemError."""
        deadline, body = time.monotonic() + timeout_s, bytearray()
        for chunk in chunks:
            body += chunk
            if len(body) > _MOST_BYTES or time.monotonic() > deadline:
                raise self._broken("the answer does not end")
        return bytes(body)

    def _refused(self, status: int, body: bytes) -> ProblemError:
        if status in (401, 403):
            return fail("server_key_wrong", url=self.url)
        return fail("server_refused", status=status, why=_message_of(body))

    def _broken(self, why: str) -> ProblemError:
        return fail("server_reply_broken", url=self.url, why=why)


class _StreamCloser:
    """Shuts the socket of a streaming request down when the user cancels.

    Closing a socket does not wake a thread that waits in ``recv``; shutting it down does. The socket is learnt from
    httpcore's trace events, as soon as it is connected, since the server may take minutes to its first byte.
    """

    _LOOK_S = 0.05

    def __init__(self, stop_event: threading.Event) -> None:
        self._stop_event = stop_event
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._socket: object = None

    def trace(self, name: str, info: Mapping[str, object]) -> None:
        """httpcore's hook."""
        if name != "connection.connect_tcp.complete":
            return
        stream = info.get("return_value")
        with self._lock:
            self._socket = stream.get_extra_info("socket") if hasattr(stream, "get_extra_info") else None
        if self._stop_event.is_set():
            self._shut_down()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the stop event as long as the block runs."""
        thread = threading.Thread(target=self._watch, name="chat-cancel", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._is_over.is_set():
            if self._stop_event.wait(self._LOOK_S):
                self._shut_down()
                return

    def _shut_down(self) -> None:
        import socket

        with self._lock:
            if isinstance(self._socket, socket.socket):
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    return  # closed already: that is what we wanted


def _number(value: object) -> float | None:
    """A speed; nothing that a server really tells is larger."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < 1e18 else None


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:_LONGEST_REASON]


def _message_of(body: bytes) -> str:
    """The server's own words of an error answer."""
    text = body[: 10 * _LONGEST_REASON].decode("utf-8", "replace")
    try:
        data = json.loads(text)
        text = str(data["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = text.strip()
    return text[:_LONGEST_REASON]
