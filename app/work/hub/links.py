"""What a pasted link means: a repository of Hugging Face or ModelScope, one of its files, or a file elsewhere.

Layouts: Hugging Face and its mirrors ``/OWNER/NAME[/tree|blob|resolve|raw/REVISION[/PATH]]``; ModelScope
``/models/OWNER/NAME[/files|/summary|/resolve/REVISION/PATH|/file/view/REVISION/PATH]`` and its API's
``/api/v1/models/OWNER/NAME/repo?Revision=..&FilePath=..``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs, quote, unquote, urlsplit

from app.common.problem import fail
from app.work.downloads.addresses import parse_address, shown

HUGGING_FACE = "https://huggingface.co"
MODELSCOPE = "https://www.modelscope.cn"
_HF_HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co", "hf-mirror.com", "www.hf-mirror.com"})
_HF_OFFICIAL = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
_MS_HOSTS = frozenset({"modelscope.cn", "www.modelscope.cn", "modelscope.ai", "www.modelscope.ai"})
_OTHER_PAGES = frozenset(
    {
        "datasets", "spaces", "docs", "papers", "blog", "posts", "collections", "organizations", "settings", "join",
        "login", "pricing", "tasks", "learn", "studios", "my", "home", "search", "new", "inference", "models",
    }
)  # fmt: skip
_SHORT = re.compile(r"(?:hf:|huggingface:)?([\w.-]+/[\w.-]+)(?::([\w.-]+))?", re.ASCII)
_NAME = re.compile(r"[\w][\w.-]{0,95}", re.ASCII)
_VERBS = ("resolve", "blob", "raw", "tree")
_LONGEST = 4096


class Site(StrEnum):
    """How a site lays out its files and its listing."""

    HUGGING_FACE = "hugging_face"
    MODELSCOPE = "modelscope"
    DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class HubLink:
    """``base``: scheme and host to ask. ``file``: the path in the repository that the link names; for DIRECT the name
    of the file, whose address is ``address``. ``quant``: what stood behind a colon (OWNER/NAME:Q4_K_M)."""

    site: Site
    base: str
    repository: str = ""
    revision: str = "main"
    file: str | None = None
    quant: str | None = None
    address: str | None = None

    @property
    def title(self) -> str:
        """What people call it."""
        return self.repository or self.file or shown(self.address or self.base)


def parse_link(text: str, mirror: str | None = None) -> HubLink:
    """Understand what was pasted. ``mirror``: asked instead of Hugging Face's own address (a host with the same paths).

    Raises ProblemError ``hub_link_none`` (no link at all), ``hub_link_no_model`` (a page about something else) or
    ``download_address_bad``.
    """
    text = text.strip().strip("\"'<>").strip()
    if not text or len(text) > _LONGEST:
        raise fail("hub_link_none", text=text[:80] or "—")
    base = (mirror or "").strip().rstrip("/") or HUGGING_FACE
    if "://" not in text:
        short = _SHORT.fullmatch(text)
        if short and short[1].split("/")[0].lower() not in (_HF_HOSTS | _MS_HOSTS):
            return HubLink(Site.HUGGING_FACE, base, short[1], quant=short[2])
        if text.split("/")[0].lower() not in (_HF_HOSTS | _MS_HOSTS):
            raise fail("hub_link_none", text=text[:80])
        text = f"https://{text}"
    address = parse_address(text)
    parts = urlsplit(text)
    segments = [unquote(part) for part in parts.path.split("/") if part]
    own = f"{address.scheme}://{address.netloc}"
    host = address.host.lower()
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    if host in _MS_HOSTS or _is_modelscope(segments):
        return _modelscope(segments, query, own, text)
    if host in _HF_HOSTS or _is_hugging_face(segments):
        return _hugging_face(segments, base if host in _HF_OFFICIAL else own, text)
    return _direct(segments, text)


def file_addresses(link: HubLink, path: str) -> tuple[str, ...]:
    """Where a file of the repository is, the likeliest first."""
    if link.site is Site.DIRECT:
        return (link.address or "",)
    quoted, revision = quote(path), quote(link.revision, safe="")
    if link.site is Site.HUGGING_FACE:
        return (f"{link.base}/{link.repository}/resolve/{revision}/{quoted}",)
    return (
        f"{link.base}/models/{link.repository}/resolve/{revision}/{quoted}",
        f"{link.base}/api/v1/models/{link.repository}/repo?Revision={revision}&FilePath={quote(path, safe='')}",
    )


def listing_address(link: HubLink) -> str:
    """Where the list of all files is."""
    revision = quote(link.revision, safe="")
    if link.site is Site.MODELSCOPE:
        return f"{link.base}/api/v1/models/{link.repository}/repo/files?Revision={revision}&Recursive=true"
    return f"{link.base}/api/models/{link.repository}/tree/{revision}?recursive=true"


def _is_modelscope(segments: list[str]) -> bool:
    return (len(segments) >= 3 and segments[0] == "models") or segments[:3] == ["api", "v1", "models"]


def _is_hugging_face(segments: list[str]) -> bool:
    return len(segments) >= 4 and segments[2] in _VERBS


def _hugging_face(segments: list[str], base: str, text: str) -> HubLink:
    if segments[:2] == ["api", "models"]:
        segments = segments[2:]
    if len(segments) < 2 or segments[0].lower() in _OTHER_PAGES or not all(map(_NAME.fullmatch, segments[:2])):
        raise fail("hub_link_no_model", address=shown(text))
    repository = "/".join(segments[:2])
    if len(segments) < 4 or segments[2] not in _VERBS:
        return HubLink(Site.HUGGING_FACE, base, repository)
    # refs/pr/3 and refs/convert/... are revisions with slashes in them
    n_revision = 3 if segments[3] == "refs" and len(segments) >= 6 else 1
    revision, rest = "/".join(segments[3 : 3 + n_revision]), segments[3 + n_revision :]
    file = "/".join(rest) if rest and segments[2] != "tree" else None
    return HubLink(Site.HUGGING_FACE, base, repository, revision, file)


def _modelscope(segments: list[str], query: dict[str, str], base: str, text: str) -> HubLink:
    if segments[:3] == ["api", "v1", "models"]:
        segments = segments[2:]
    if len(segments) < 3 or segments[0] != "models" or not all(map(_NAME.fullmatch, segments[1:3])):
        raise fail("hub_link_no_model", address=shown(text))
    repository, rest = "/".join(segments[1:3]), segments[3:]
    revision, file = query.get("Revision", "master"), query.get("FilePath") or query.get("filePath")
    if rest[:1] == ["resolve"] and len(rest) >= 3:
        revision, file = rest[1], "/".join(rest[2:])
    elif rest[:2] == ["file", "view"] and len(rest) >= 4:
        revision, file = rest[2], "/".join(rest[3:])
    return HubLink(Site.MODELSCOPE, base, repository, revision, file)


def _direct(segments: list[str], text: str) -> HubLink:
    """A file on any server, as long as its name says that it is a model."""
    if not segments or not segments[-1].lower().endswith(".gguf"):
        raise fail("hub_link_no_model", address=shown(text))
    address = parse_address(text)
    base = f"{address.scheme}://{address.netloc}"
    return HubLink(Site.DIRECT, base, "", "", segments[-1], address=text)
