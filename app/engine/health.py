"""Is the server up? Plain ``http.client``: asked ten times a second, and a proxy must never get in between."""

from __future__ import annotations

import http.client

from app.engine.ports import reachable_host


def health_status(host: str, port: int, timeout_s: float) -> int | None:
    """HTTP status of ``GET /health``: 503 while loading, 200 when ready; None when nobody answers."""
    return _status(host, port, "/health", {}, timeout_s)


def accepts_key(host: str, port: int, api_key: str, timeout_s: float) -> bool:
    """Does the server there know our key? A stranger's server on the same port does not."""
    status = _status(host, port, "/props", {"Authorization": f"Bearer {api_key}"}, timeout_s)
    return status is not None and status not in (401, 403)


def _status(host: str, port: int, path: str, headers: dict[str, str], timeout_s: float) -> int | None:
    connection = http.client.HTTPConnection(reachable_host(host), port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
