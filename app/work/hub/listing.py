"""The files of a repository, by the site's public JSON: paths, sizes, SHA-256. No account.

Hugging Face: ``/api/models/{repo}/tree/{revision}?recursive=true``, up to 1000 a page, the next page in the ``Link``
header; ``lfs.oid`` is the SHA-256. ModelScope: ``/api/v1/models/{repo}/repo/files``, ``Data.Files[].Sha256``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from app.common.problem import ProblemError, fail
from app.common.windows_names import is_device
from app.work.downloads.fetch import fetch_answer
from app.work.downloads.types import Cancelled, Patience
from app.work.hub.links import HubLink, Site, listing_address

_MOST_BYTES = 16 << 20
_MOST_PAGES = 20
_MOST_FILES = 20_000
_MOST_NAME_BYTES = 200
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SPLIT = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE | re.DOTALL)
_QUANT = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?(?:I?Q\d_(?:K_)?[A-Z0-9]+(?:_[A-Z]+)?|I?Q\d_K|TQ\d_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32))"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_PROJECTOR = re.compile(r"(?:^|[-_.])mmproj(?:[-_.]|$)", re.IGNORECASE)
_NO_MODEL = re.compile(r"imatrix", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[\x00-\x1f<>:"|?*\\\ud800-\udfff]')
_USUAL = Patience()


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file; ``size_bytes`` and ``sha256`` are what the site publishes, None = it does not. ``keeps_folders``:
    another folder of the repository has a file of the same name as this one's has."""

    path: str
    size_bytes: int | None
    sha256: str | None
    keeps_folders: bool = False

    @property
    def name(self) -> str:
        """Without folders."""
        return self.path.rpartition("/")[2]

    @property
    def local(self) -> tuple[str, ...]:
        """Where it goes in the repository's folder here: flat, as other programs lay models out, unless another file
        would take the same place. A disk's longest name is 255 bytes."""
        parts = self.path.split("/") if self.keeps_folders else [self.name]
        return tuple(part.encode("utf-8")[-_MOST_NAME_BYTES:].decode("utf-8", "ignore") for part in parts)


@dataclass(frozen=True, slots=True)
class RemoteSet:
    """What is downloaded together: a file, or all parts of a split one. ``missing_parts``: how many the repository does
    not have."""

    name: str
    files: tuple[RemoteFile, ...]
    quant: str | None
    is_projector: bool = False
    missing_parts: int = 0

    @property
    def size_bytes(self) -> int | None:
        """All parts together; None when the site does not tell one."""
        sizes = [file.size_bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)


def list_sets(link: HubLink, cancelled: Cancelled, patience: Patience = _USUAL) -> tuple[RemoteSet, ...]:
    """The GGUF files behind a link, models first, the smallest first. Call it on a worker thread.

    Raises ProblemError ``hub_*`` and ``download_*``.
    """
    if link.site is Site.DIRECT:
        file = RemoteFile(link.file if link.file and is_safe(link.file) else "model.gguf", None, None)
        return (RemoteSet(file.name, (file,), quant_of(file.name)),)
    files = _list(link, cancelled, patience)
    sets = grouped([file for file in files if file.path.lower().endswith(".gguf")])
    if not sets:
        raise fail("hub_no_gguf", repository=link.repository, files=len(files))
    return sets


def grouped(files: list[RemoteFile]) -> tuple[RemoteSet, ...]:
    """Parts of a split model together; files whose name no disk could hold are left out."""
    together: dict[tuple[str, int], dict[int, RemoteFile]] = {}
    safe = [file for file in files if is_safe(file.path)]
    taken = Counter(file.name.casefold() for file in safe)
    # Whole folders: the engine finds the other parts of a split model beside the first one only.
    kept = {_folder_of(file.path) for file in safe if taken[file.name.casefold()] > 1}
    for file in _one_a_place([replace(file, keeps_folders=_folder_of(file.path) in kept) for file in safe]):
        found = _SPLIT.fullmatch(file.path)
        key = (file.path, 1) if found is None else (found[1], int(found[3]))
        together.setdefault(key, {})[1 if found is None else int(found[2])] = file
    sets = []
    for (stem, count), parts in together.items():
        ordered = tuple(parts[number] for number in sorted(parts))
        name = stem.rpartition("/")[2].removesuffix(".gguf")
        if _NO_MODEL.search(name):
            continue
        is_projector = _PROJECTOR.search(name) is not None
        sets.append(RemoteSet(name, ordered, quant_of(stem), is_projector, max(0, count - len(ordered))))
    return tuple(sorted(sets, key=lambda s: (s.is_projector, s.size_bytes or 0, s.name)))


def _one_a_place(files: list[RemoteFile]) -> list[RemoteFile]:
    """Of names that differ in capitals alone, or beyond the longest that a disk holds, the first: the others would be
    written over it."""
    places: dict[tuple[str, ...], RemoteFile] = {}
    for file in files:
        places.setdefault(tuple(part.casefold() for part in file.local), file)
    return list(places.values())


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def quant_of(name: str) -> str | None:
    """'Q4_K_M' out of a file's name or its folder's; None when neither says it."""
    found = _QUANT.findall(name.rpartition("/")[2]) or _QUANT.findall(name)
    return found[-1].upper() if found else None


def is_safe(path: str) -> bool:
    """May a path of a stranger's repository become one on this disk?"""
    parts = path.split("/")
    return 0 < len(path) <= 512 and not any(
        part in ("", ".", "..") or _FORBIDDEN.search(part) or is_device(part) or part.endswith((" ", "."))
        for part in parts
    )


def _list(link: HubLink, cancelled: Cancelled, patience: Patience) -> list[RemoteFile]:
    url: str | None = listing_address(link)
    files: list[RemoteFile] = []
    for _ in range(_MOST_PAGES):
        if url is None or len(files) > _MOST_FILES:
            break
        data, headers = _ask(link, url, cancelled, patience)
        files += _files_of(link, data)
        url = _next_page(link, url, headers)
    return files


def _ask(link: HubLink, url: str, cancelled: Cancelled, patience: Patience) -> tuple[Any, Mapping[str, str]]:
    """Any: JSON of a stranger, looked at field by field."""
    try:
        answer = fetch_answer(url, _MOST_BYTES, cancelled, patience)
    except ProblemError as error:
        host = urlsplit(url).hostname or ""
        if error.problem.code in ("download_not_found", "download_forbidden"):
            raise fail(
                "hub_repository_missing", repository=link.repository, revision=link.revision, host=host
            ) from error
        raise
    try:
        return json.loads(answer.data), answer.headers
    except (ValueError, RecursionError) as error:
        raise fail("hub_no_listing", host=urlsplit(url).hostname or "", repository=link.repository) from error


def _files_of(link: HubLink, data: Any) -> list[RemoteFile]:
    is_modelscope = link.site is Site.MODELSCOPE
    rows = data
    if is_modelscope:
        inner = data.get("Data") if isinstance(data, dict) else None
        rows = inner.get("Files") if isinstance(inner, dict) else None
    if not isinstance(rows, list):
        raise fail("hub_no_listing", host=urlsplit(link.base).hostname or "", repository=link.repository)
    found = [_modelscope_file(row) if is_modelscope else _hugging_face_file(row) for row in rows[:_MOST_FILES]]
    return [file for file in found if file is not None]


def _hugging_face_file(row: Any) -> RemoteFile | None:
    if not isinstance(row, dict) or row.get("type") != "file" or not isinstance(row.get("path"), str):
        return None
    stored = row.get("lfs")
    stored = stored if isinstance(stored, dict) else {}
    size = stored.get("size", row.get("size"))
    return RemoteFile(row["path"], _size(size), _hash(stored.get("oid") or stored.get("sha256")))


def _modelscope_file(row: Any) -> RemoteFile | None:
    if not isinstance(row, dict) or row.get("Type") == "tree" or not isinstance(row.get("Path"), str):
        return None
    return RemoteFile(row["Path"], _size(row.get("Size")), _hash(row.get("Sha256")))


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 50 else None


def _hash(value: Any) -> str | None:
    found = _SHA256.fullmatch(str(value).lower().removeprefix("sha256:"))
    return None if found is None else found[0]


def _next_page(link: HubLink, url: str, headers: Mapping[str, str]) -> str | None:
    """The next page, asked at the same host: a mirror may pass on the official address."""
    found = _NEXT.search(headers.get("link", ""))
    if found is None:
        return None
    parts, base = urlsplit(urljoin(url, found[1])), urlsplit(link.base)
    return str(urlunsplit((base.scheme, base.netloc, parts.path, parts.query, "")))
