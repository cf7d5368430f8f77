"""Ollama's store: manifests name blobs by their digest, and the blobs have no ending.

models/manifests/registry.ollama.ai/library/qwen3/30b   JSON: layers with mediaType, digest, size
models/blobs/sha256-<64 hex digits>                     the files; ``-partial`` while they are fetched
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from app.common.problem import ParamValue, Problem, Severity
from app.work.downloads.types import Cancelled, check_cancelled
from app.work.library.types import FoundFile, Place, Source
from app.work.library.walk import Walk, begins_as_gguf

_MEDIA = re.compile(r"application/vnd\.ollama\.image\.(model|projector|adapter)")
_DIGEST = re.compile(r"sha256[-:]([0-9a-f]{64})")
_PARTIAL = re.compile(r"sha256-[0-9a-f]{64}-partial")
_USUAL_HOST, _USUAL_OWNER = "registry.ollama.ai", "library"
_MOST_MANIFESTS = 5000
_MOST_MANIFEST_BYTES = 1 << 20
_MOST_BLOBS = 20_000


def find_ollama(place: Place, walk: Walk, cancelled: Cancelled) -> Iterator[FoundFile]:
    """Every model of the store under the name that Ollama gives it, then the blobs that no manifest names."""
    named: dict[str, str] = {}
    blobs = place.path / "blobs"
    for manifest in _manifests(place.path / "manifests", walk, cancelled):
        name = _model_name(manifest.relative_to(place.path / "manifests").parts)
        for kind, digest in _layers(manifest, walk):
            path = _blob(blobs, digest)
            if path in named:
                continue
            named[path] = name
            shown = name if kind == "model" else f"{name} ({kind})"
            if not os.path.isfile(path):
                walk.tell(Problem("library_blob_missing", Severity.WARNING, {"name": name, "path": path}))
                continue
            yield FoundFile(path, shown, Source.OLLAMA, str(place.path))
    yield from _nameless(blobs, named, place, walk, cancelled)


def _manifests(root: Path, walk: Walk, cancelled: Cancelled) -> Iterator[Path]:
    """Manifest files, four levels deep: host, owner, model, tag."""
    if not root.is_dir():
        return
    count = 0

    def tell(error: OSError) -> None:
        params = {"folder": error.filename or str(root), "why": error.strerror or str(error)}
        walk.tell(Problem("library_folder_unread", Severity.WARNING, params))

    for folder, below, files in os.walk(root, onerror=tell):
        check_cancelled(cancelled)
        depth = len(Path(folder).relative_to(root).parts)
        below.sort()
        if depth >= 4:
            below.clear()
        for name in sorted(files):
            walk.entries += 1
            count += 1
            if count > _MOST_MANIFESTS:
                params: dict[str, ParamValue] = {"folder": str(root), "entries": walk.entries}
                walk.tell(Problem("library_too_many", Severity.WARNING, params))
                return
            if depth == 3:
                yield Path(folder) / name


def _layers(manifest: Path, walk: Walk) -> tuple[tuple[str, str], ...]:
    """(kind, digest) of the layers that are GGUF files; a manifest that says nothing sensible has none."""
    try:
        with manifest.open("rb") as file:
            data: object = json.loads(file.read(_MOST_MANIFEST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        walk.tell(Problem("library_manifest_bad", Severity.WARNING, {"path": str(manifest), "why": why}))
        return ()
    layers = data.get("layers") if isinstance(data, dict) else None
    found = []
    for layer in layers if isinstance(layers, list) else ():
        if not isinstance(layer, dict):
            continue
        kind = _MEDIA.fullmatch(str(layer.get("mediaType")))
        digest = _DIGEST.fullmatch(str(layer.get("digest")))
        if kind and digest:
            found.append((kind[1], digest[1]))
    return tuple(found)


def _blob(blobs: Path, digest: str) -> str:
    """Older versions write ``sha256:``, which Windows does not allow in a name."""
    usual = blobs / f"sha256-{digest}"
    older = blobs / f"sha256:{digest}"
    return str(older if not usual.exists() and os.name != "nt" and older.exists() else usual)


def _model_name(parts: tuple[str, ...]) -> str:
    """('registry.ollama.ai', 'library', 'qwen3', '30b') -> 'qwen3:30b'."""
    *hosts, model, tag = parts
    shown = [part for part in hosts if part not in (_USUAL_HOST, _USUAL_OWNER)]
    return "/".join([*shown, model]) + f":{tag}"


def _nameless(
    blobs: Path, named: dict[str, str], place: Place, walk: Walk, cancelled: Cancelled
) -> Iterator[FoundFile]:
    """Blobs that begin as a GGUF file does and that no manifest names: left over, or half fetched."""
    try:
        names = sorted(entry.name for entry in os.scandir(blobs))
    except FileNotFoundError:
        return
    except OSError as error:
        params = {"folder": str(blobs), "why": error.strerror or str(error)}
        walk.tell(Problem("library_folder_unread", Severity.WARNING, params))
        return
    for name in names[:_MOST_BLOBS]:
        walk.entries += 1
        check_cancelled(cancelled)
        path = str(blobs / name)
        is_partial = _PARTIAL.fullmatch(name) is not None
        if path in named or not (is_partial or _DIGEST.fullmatch(name)) or not begins_as_gguf(path):
            continue
        note = None if is_partial else Problem("library_blob_unnamed", Severity.INFO, {})
        yield FoundFile(path, name[:19] + "…", Source.OLLAMA, str(place.path), unfinished=is_partial, note=note)
