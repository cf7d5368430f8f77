"""Addresses: which ones are acceptable, how to say them, and through which proxy they go."""

from __future__ import annotations

import base64
import urllib.request
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from app.common.problem import ProblemError, fail

_SCHEMES = ("http", "https")
_LONGEST = 8192
_PATH_SAFE = "/:@!$&'()*+,;=-._~%"
_QUERY_SAFE = _PATH_SAFE + "?"


@dataclass(frozen=True, slots=True)
class Address:
    """One place to ask. ``target``: path and query, ready for the request line."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def url(self) -> str:
        """The whole address, without any password."""
        return f"{self.scheme}://{self.netloc}{self.target}"

    @property
    def netloc(self) -> str:
        """Host, and port unless it is the usual one: the ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == default_port(self.scheme) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. ``authorization``: the header's value, or None."""

    host: str
    port: int
    authorization: str | None = None


def default_port(scheme: str) -> int:
    """443 or 80."""
    return 443 if scheme == "https" else 80


def parse_address(url: str) -> Address:
    """Raises ProblemError ``download_address_bad`` for anything but a whole http(s) address."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
        host = parts.hostname
    except ValueError:
        raise fail("download_address_bad", address=shown(url)) from None
    if parts.scheme.lower() not in _SCHEMES or not host or len(url) > _LONGEST or not _is_host(host):
        raise fail("download_address_bad", address=shown(url))
    scheme = parts.scheme.lower()
    return Address(scheme, _ascii_host(host), port or default_port(scheme), _target(parts))


def redirected(address: Address, location: str) -> Address:
    """Where a server sends us. Raises ProblemError ``download_redirect_refused``: to a file, another kind of address,
    or from an encrypted address to a plain one."""
    try:
        target = parse_address(urljoin(address.url, location))
    except (ValueError, ProblemError) as error:  # urljoin's and ours
        raise fail("download_redirect_refused", host=address.host, address=shown(location)) from error
    if address.scheme == "https" and target.scheme == "http":
        raise fail("download_redirect_refused", host=address.host, address=shown(location))
    return target


def proxy_for(address: Address) -> Proxy | None:
    """The proxy of the environment or the system (Windows, macOS) for this address; None = ask directly.

    Raises ProblemError ``download_proxy_kind`` for a proxy that is not an HTTP one (SOCKS).
    """
    if urllib.request.proxy_bypass(address.netloc):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(address.scheme) or proxies.get("all")
    if not found:
        return None
    try:
        parts = urlsplit(found if "://" in found else f"http://{found}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise fail("download_proxy_kind", proxy=shown(found)) from None
    if parts.scheme not in _SCHEMES or not host:
        raise fail("download_proxy_kind", proxy=shown(found))
    return Proxy(host, port or default_port(parts.scheme), _authorization(parts))


def shown(url: str) -> str:
    """An address for people: without password and query, and not without end."""
    head = url.split("?", 1)[0]
    scheme, slashes, rest = head.partition("://")
    if slashes and "@" in rest.split("/", 1)[0]:
        head = f"{scheme}://{rest.split('@', 1)[1]}"
    return head if len(head) <= 120 else head[:119] + "…"


def _is_host(host: str) -> bool:
    return not any(c <= " " or c in "/\\\x7f" for c in host)


def _ascii_host(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        raise fail("download_address_bad", address=host[:120]) from None


def _target(parts: SplitResult) -> str:
    """Path and query with everything encoded that a request line cannot carry; what is encoded already stays."""
    path = quote(parts.path or "/", safe=_PATH_SAFE)
    return f"{path}?{quote(parts.query, safe=_QUERY_SAFE)}" if parts.query else path


def _authorization(parts: SplitResult) -> str | None:
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode("utf-8")).decode("ascii")
