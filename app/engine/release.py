"""The official llama.cpp releases: what a listing offers. Pure: text in, values out.

Names and layout follow ``.github/workflows/release.yml`` and ``release-publish.yml`` of b11434: Windows packages are
flat zips, the others are tar.gz with one top folder; CUDA packages come without NVIDIA's runtime libraries, which lie
in a ``cudart-...`` archive of their own and must be unpacked beside the server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.common.problem import fail

PUBLIC_RELEASES = "https://api.github.com/repos/ggml-org/llama.cpp/releases?per_page=8"
"""Where the official builds are listed. The only such address in the program; the settings may name another one."""

PUBLIC_PAGE = "https://github.com/ggml-org/llama.cpp/releases/tag/"
"""Followed by a tag: the page of a release, for a browser."""

MOST_LISTING_BYTES = 8 << 20
_MOST_RELEASES = 50
_MOST_ASSETS = 500
_LARGEST_ASSET = 20 << 30
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,150}")
_DIGEST = re.compile(r"sha256:([0-9a-fA-F]{64})")
_BUILD = re.compile(r"b(\d{1,7})")
_MAIN = re.compile(r"llama-(?P<tag>[^-]+)-bin-(?P<os>win|ubuntu|macos)-(?P<rest>[a-zA-Z0-9.\-]+)\.(?:zip|tar\.gz)")
_RUNTIME = re.compile(r"cudart-llama-(?:[^-]+-)?bin-(?P<os>win|ubuntu)-(?P<rest>cuda-[a-zA-Z0-9.\-]+)\.(?:zip|tar\.gz)")
_ARCHS = ("x64", "arm64")
_WITHOUT_NAME = {"ubuntu": "cpu", "macos": "metal"}
_USED_BACKENDS = frozenset({"cpu", "cuda", "vulkan", "metal", "rocm", "hip"})


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of a release. ``sha256``: what the listing publishes, None when it does not."""

    name: str
    size_bytes: int
    url: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Package:
    """One llama.cpp for one kind of machine: the archive, and the CUDA runtime's archive where it needs one.

    ``system`` win, ubuntu or macos; ``arch`` x64 or arm64; ``backend`` cpu, cuda, vulkan, metal, rocm, hip.
    ``version``: of CUDA or ROCm.
    """

    tag: str
    system: str
    arch: str
    backend: str
    version: str | None
    main: Asset
    runtime: Asset | None = None

    @property
    def key(self) -> str:
        """'cuda-12.4', 'vulkan', 'cpu': what the user says to get it."""
        return self.backend if self.version is None else f"{self.backend}-{self.version}"

    @property
    def id(self) -> str:
        """'b11434-win-cuda-12.4-x64': the name of its folder."""
        return f"{self.tag}-{self.system}-{self.key}-{self.arch}"

    @property
    def assets(self) -> tuple[Asset, ...]:
        """All archives, the server's first."""
        return (self.main,) if self.runtime is None else (self.main, self.runtime)

    @property
    def size_bytes(self) -> int:
        """Bytes to fetch."""
        return sum(asset.size_bytes for asset in self.assets)

    @property
    def cuda(self) -> tuple[int, int] | None:
        """(12, 4) for a CUDA package."""
        return cuda_version(self.version) if self.backend == "cuda" and self.version else None


@dataclass(frozen=True, slots=True)
class Release:
    """One release with the packages that Lanewise knows how to use."""

    tag: str
    packages: tuple[Package, ...]

    def for_machine(self, system: str, arch: str) -> tuple[Package, ...]:
        """Those for one system and processor."""
        return tuple(p for p in self.packages if (p.system, p.arch) == (system, arch))


def build_number(tag: str) -> int | None:
    """11434 for 'b11434'; None for another kind of name."""
    found = _BUILD.fullmatch(tag)
    return int(found[1]) if found else None


def cuda_version(text: str) -> tuple[int, int] | None:
    """(12, 4) for '12.4' and 'cu12.4'."""
    found = re.fullmatch(r"(?:cu)?(\d{1,3})(?:\.(\d{1,3}))?(?:\.\d+)*", text)
    return (int(found[1]), int(found[2] or 0)) if found else None


def parse_releases(data: bytes) -> tuple[Release, ...]:
    """The releases of a listing in its order (newest first), drafts and unusable entries left out.

    Raises ProblemError ``release_list_bad`` when it is no listing at all.
    """
    if len(data) > MOST_LISTING_BYTES:
        raise fail("release_list_bad", why=f"> {MOST_LISTING_BYTES >> 20} MiB")
    try:
        content: object = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise fail("release_list_bad", why=type(error).__name__) from error
    if isinstance(content, Mapping) and "assets" in content:
        content = [content]
    if not isinstance(content, list):
        raise fail("release_list_bad", why=_said(content))
    found = (_release(entry) for entry in content[:_MOST_RELEASES])
    return tuple(release for release in found if release is not None)


def _said(content: object) -> str:
    """What a server says instead of a list: ``{"message": "API rate limit exceeded"}``."""
    message = content.get("message") if isinstance(content, Mapping) else None
    return message[:120] if isinstance(message, str) else type(content).__name__


def _release(entry: object) -> Release | None:
    if not isinstance(entry, Mapping) or entry.get("draft") is True:
        return None
    tag, assets = entry.get("tag_name"), entry.get("assets")
    if not isinstance(tag, str) or _TAG.fullmatch(tag) is None or not isinstance(assets, list):
        return None
    usable = [asset for asset in map(_asset, assets[:_MOST_ASSETS]) if asset is not None]
    return Release(tag, _packages(tag, usable))


def _asset(entry: object) -> Asset | None:
    """None for anything that is not a whole, plainly named file at a web address."""
    if not isinstance(entry, Mapping) or entry.get("state", "uploaded") != "uploaded":
        return None
    name, size, url = entry.get("name"), entry.get("size"), entry.get("browser_download_url")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return None
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= _LARGEST_ASSET:
        return None
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        return None
    digest = entry.get("digest")
    found = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    return Asset(name, size, url, found[1].lower() if found else None)


def _packages(tag: str, assets: Sequence[Asset]) -> tuple[Package, ...]:
    runtimes: dict[tuple[str, str], Asset] = {}
    for asset in assets:
        found = _RUNTIME.fullmatch(asset.name)
        if found:
            runtimes[(found["os"], found["rest"])] = asset
    packages = (package_of(asset, tag, runtimes) for asset in assets)
    return tuple(package for package in packages if package is not None)


def package_of(asset: Asset, tag: str, runtimes: Mapping[tuple[str, str], Asset] | None = None) -> Package | None:
    """What an archive holds, by its name; None when it is no llama.cpp for a system that Lanewise runs on."""
    found = _MAIN.fullmatch(asset.name)
    if found is None:
        return None
    *words, arch = found["rest"].split("-")
    if arch not in _ARCHS:
        return None
    backend = words[0] if words else _WITHOUT_NAME.get(found["os"], "cpu")
    if backend in ("avx", "avx2", "avx512", "noavx"):  # before mid-2025 there was one Windows archive per processor
        return None
    if backend not in _USED_BACKENDS:
        return None
    version = "-".join(words[1:]).removeprefix("cu") or None
    runtime = (runtimes or {}).get((found["os"], found["rest"]))
    return Package(tag, found["os"], arch, backend, version, asset, runtime)


def is_runtime_name(name: str) -> bool:
    """Is this the archive of a CUDA runtime?"""
    return _RUNTIME.fullmatch(name) is not None


def tag_of_name(name: str) -> str | None:
    """'b11434' for an archive's name."""
    found = _MAIN.fullmatch(name)
    return found["tag"] if found else None
