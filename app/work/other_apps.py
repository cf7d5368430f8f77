"""What other programs need to use the running server, ready to paste, and a question asked the way they ask."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.common.problem import fail
from app.engine.client import ServerClient
from app.engine.sse import ChatDelta, ChatEvent
from app.planner.shells import Shell, quote_command

_WEBUI_PORT, _OTHER_PORT = 3000, 3001
_WEBUI_IMAGE = "ghcr.io/open-webui/open-webui:main"
_QUESTION = "Say hello in one short sentence."
_LONGEST_ANSWER_TOKENS = 48


@dataclass(frozen=True, slots=True)
class AppAccess:
    """Where the server answers and what opens it. ``base_url`` ends in ``/v1``, as OpenAI's clients want it."""

    base_url: str
    model: str
    api_key: str | None


@dataclass(frozen=True, slots=True)
class Recipe:
    """``code``: open_webui, open_webui_docker, continue, sillytavern, curl. ``text`` is what is copied; ``note`` is the
    code of the sentence that says where it goes (``other_apps.note.<note>``)."""

    code: str
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class AppAnswer:
    """What came back: the names the server goes by, its answer, the seconds of the whole exchange."""

    models: tuple[str, ...]
    text: str
    seconds: float


def access_of(argv: Sequence[str], url: str | None, api_key: str | None) -> AppAccess | None:
    """From a plan's command and, once it runs, its address; None while any free port may be taken."""
    if url is None:
        host, port = _value(argv, "--host") or "127.0.0.1", _value(argv, "--port")
        if port is None or port == "0":
            return None
        url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
    model = _value(argv, "-a") or _value(argv, "--alias") or "default"
    return AppAccess(f"{url.rstrip('/')}/v1", model, api_key)


def recipes(access: AppAccess, shell: str, *, is_linux: bool) -> tuple[Recipe, ...]:
    """Settings for the programs people use most. ``is_linux``: Docker's containers reach the host in another way."""
    docker = "docker_linux" if is_linux else "docker_desktop"
    return (
        Recipe("open_webui", _open_webui(access), "open_webui"),
        Recipe("open_webui_docker", _docker(access, shell, is_linux), docker),
        Recipe("continue", _continue(access), "continue"),
        Recipe("sillytavern", _sillytavern(access), "sillytavern"),
        Recipe("curl", _curl(access, shell), "curl"),
    )


def ask_as_an_app(access: AppAccess, stop: threading.Event) -> AppAnswer:
    """List the models and ask a short question, as a client of the OpenAI interface does. Blocks for seconds.

    Raises ProblemError: ``server_unreachable``, ``server_key_wrong``, ``server_refused``, ``server_reply_broken``,
    ``other_apps_no_answer`` (it answered with nothing).
    """
    begin = time.monotonic()
    pieces: list[str] = []

    def on_event(event: ChatEvent) -> None:
        if isinstance(event, ChatDelta):
            pieces.append(event.text or event.reasoning)

    with ServerClient(access.base_url.removesuffix("/v1"), access.api_key) as client:
        models = client.models()
        client.stream_chat([{"role": "user", "content": _QUESTION}], on_event, stop, _LONGEST_ANSWER_TOKENS)
    text = "".join(pieces).strip()
    if not text:
        raise fail("other_apps_no_answer")
    return AppAnswer(models, text, time.monotonic() - begin)


def _value(argv: Sequence[str], option: str) -> str | None:
    words = list(argv)
    at = words.index(option) + 1 if option in words else len(words)
    return words[at] if at < len(words) else None


def _lines(*pairs: tuple[str, str | None]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in pairs if value is not None) + "\n"


def _open_webui(access: AppAccess) -> str:
    return _lines(("URL", access.base_url), ("Key", access.api_key), ("Model IDs", access.model))


def _sillytavern(access: AppAccess) -> str:
    return _lines(
        ("API", "Chat Completion"),
        ("Chat Completion Source", "Custom (OpenAI-compatible)"),
        ("Custom Endpoint (Base URL)", access.base_url),
        ("Custom API Key", access.api_key),
        ("Enter a Model ID", access.model),
    )


def _continue(access: AppAccess) -> str:
    """A whole config.yaml; JSON's strings are YAML's too."""
    key = [f"    apiKey: {json.dumps(access.api_key)}"] if access.api_key is not None else []
    name = json.dumps(access.model, ensure_ascii=False)
    lines = [
        "name: Lanewise",
        "version: 1.0.0",
        "schema: v1",
        "models:",
        f"  - name: {name}",
        "    provider: openai",
        f"    model: {name}",
        f"    apiBase: {json.dumps(access.base_url)}",
        *key,
        "    roles: [chat, edit, apply]",
    ]
    return "\n".join(lines) + "\n"


def _docker(access: AppAccess, shell: str, is_linux: bool) -> str:
    """Docker Desktop forwards ``host.docker.internal`` to the host's loopback. On Linux that name is the bridge's
    address, where a server on 127.0.0.1 does not listen, so the container shares the host's network, on a port of its
    own.
    """
    base = access.base_url
    port = _OTHER_PORT if f":{_WEBUI_PORT}/" in base else _WEBUI_PORT
    if is_linux:
        network = ["--network=host", "-e", f"PORT={port}"]
    else:
        base = base.replace("127.0.0.1", "host.docker.internal").replace("localhost", "host.docker.internal")
        network = ["-p", f"{port}:8080"]
    key = ["-e", f"OPENAI_API_KEY={access.api_key}"] if access.api_key is not None else []
    argv = ["run", "-d", *network, "-e", f"OPENAI_API_BASE_URL={base}", *key]
    argv += ["-v", "open-webui:/app/backend/data", "--name", "open-webui", _WEBUI_IMAGE]
    return quote_command("docker", argv, Shell(shell)) + "\n"


def _curl(access: AppAccess, shell: str) -> str:
    """``curl.exe`` in PowerShell 5.1, where curl is another command."""
    body = {"model": access.model, "messages": [{"role": "user", "content": _QUESTION}]}
    argv = [f"{access.base_url}/chat/completions", "-H", "Content-Type: application/json"]
    if access.api_key is not None:
        argv += ["-H", f"Authorization: Bearer {access.api_key}"]
    argv += ["-d", json.dumps(body)]
    program = "curl.exe" if shell in (Shell.POWERSHELL, Shell.PWSH) else "curl"
    return quote_command(program, argv, Shell(shell)) + "\n"
