"""Is there a newer Lanewise, a newer llama.cpp? Asked only when the user says so, answered with a link, not installed.

Lanewise's own releases are read from an address of the user's (a listing as GitHub's API gives it): there is none
built in. llama.cpp's come from the same listing as its packages (``work.engine_getting``), the mirror included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError, Severity, fail
from app.engine.release import PUBLIC_PAGE, build_number
from app.engine.release_choice import Target, offers, this_target
from app.work.downloads.addresses import parse_address
from app.work.downloads.fetch import fetch_bytes
from app.work.downloads.types import Cancelled, Patience
from app.work.engine_getting import load_releases

PATIENCE = Patience(connect_s=10.0, silence_s=10.0, slow_s=10.0, tries=2)
"""Somebody waits for a short answer; a large download has the usual patience."""

_MOST_BYTES = 4 << 20
_MOST_RELEASES = 100
_VERSION = re.compile(r"v?(\d{1,5}(?:\.\d{1,5}){0,3})")
_LONGEST_PAGE = 500


@dataclass(frozen=True, slots=True)
class Newest:
    """What was found of one program. ``is_newer`` None: it cannot be compared (no engine, a build without number).

    ``here`` and ``newest`` are versions for people; ``page`` is a web address or None. With ``problem`` nothing was
    found, and that is why.
    """

    here: str | None
    newest: str | None = None
    is_newer: bool | None = None
    page: str | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Updates:
    """Both answers; one may fail and the other not."""

    app: Newest
    engine: Newest


def look_for_updates(
    address: str | None,
    version: str | None,
    mirror: str | None,
    build: str | None,
    paths: AppPaths,
    cancelled: Cancelled,
    patience: Patience = PATIENCE,
) -> Updates:
    """Ask both places now. Raises ProblemError ``download_cancelled`` only; other trouble is part of the answer."""
    return Updates(
        newest_app(address, version, cancelled, patience), newest_engine(paths, mirror, build, cancelled, patience)
    )


def check_update_address(text: str) -> None:
    """Raises ProblemError ``download_address_bad`` when it is no web address."""
    parse_address(text)


def newest_app(address: str | None, version: str | None, cancelled: Cancelled, patience: Patience = PATIENCE) -> Newest:
    """The newest Lanewise of that listing."""
    if not address:
        return Newest(version, problem=Problem("update_no_address", Severity.INFO))
    try:
        found = newest_release(fetch_bytes(address, _MOST_BYTES, cancelled, patience))
    except ProblemError as error:
        return Newest(version, problem=_told(error))
    if found is None:
        return Newest(version, problem=Problem("update_none_listed", Severity.INFO))
    newer = None if version is None else _is_newer(found.newest or "", version)
    return Newest(version, found.newest, newer, found.page)


def newest_engine(
    paths: AppPaths,
    mirror: str | None,
    build: str | None,
    cancelled: Cancelled,
    patience: Patience = PATIENCE,
    target: Target | None = None,
) -> Newest:
    """The newest official llama.cpp that has a package for this computer."""
    target = target or this_target()
    try:
        releases = load_releases(paths, mirror, cancelled, patience)
    except ProblemError as error:
        return Newest(build, problem=_told(error))
    release = next((r for r in releases if offers((r,), target, ())), None)
    if release is None:
        params = {"system": target.system, "arch": target.arch}
        return Newest(build, problem=Problem("release_none_here", Severity.INFO, params))
    theirs, ours = build_number(release.tag), build_number(build or "")
    newer = None if theirs is None or ours is None else theirs > ours
    return Newest(build, release.tag, newer, f"{PUBLIC_PAGE}{release.tag}")


def _told(error: ProblemError) -> Problem:
    if error.problem.code == "download_cancelled":
        raise error
    return error.problem


def newest_release(data: bytes) -> Newest | None:
    """The highest version of a listing (or of one release), drafts and previews left out; None when there is none.

    Raises ProblemError ``update_list_bad`` when it is no listing at all.
    """
    try:
        content: object = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise fail("update_list_bad", why=type(error).__name__) from error
    if isinstance(content, Mapping) and "tag_name" in content:
        content = [content]
    if not isinstance(content, list):
        message = content.get("message") if isinstance(content, Mapping) else None
        why = message[:120] if isinstance(message, str) else type(content).__name__
        raise fail("update_list_bad", why=why)
    found = [release for entry in content[:_MOST_RELEASES] if (release := _release(entry)) is not None]
    return max(found, key=lambda release: _numbers(release.newest or ""), default=None)


def _release(entry: object) -> Newest | None:
    if not isinstance(entry, Mapping) or entry.get("draft") is True or entry.get("prerelease") is True:
        return None
    tag = entry.get("tag_name")
    match = _VERSION.fullmatch(tag) if isinstance(tag, str) and tag.isascii() else None
    if match is None:
        return None
    return Newest(None, match[1], page=_page(entry.get("html_url")))


def _page(url: object) -> str | None:
    """Only a plain web address is ever offered as a link: no other scheme, no password, nothing invisible."""
    if not isinstance(url, str) or len(url) > _LONGEST_PAGE or not url.isascii() or not url.isprintable():
        return None
    if not url.startswith(("https://", "http://")) or " " in url:
        return None
    try:
        parse_address(url)
    except ProblemError:
        return None
    return None if "@" in url.split("/", 3)[2] else url


def _is_newer(theirs: str, ours: str) -> bool | None:
    """None where our own version is no plain number (a source tree)."""
    match = _VERSION.match(ours)
    return None if match is None else _numbers(theirs) > _numbers(match[1])


def _numbers(version: str) -> tuple[int, ...]:
    """(1, 2, 0, 0) for '1.2': two lengths of the same version are equal."""
    parts = [int(part) for part in version.split(".")] if version else []
    return (*parts, *(0,) * (4 - len(parts)))
