"""Where models lie on this computer: folders of LM Studio, the Hugging Face cache, Ollama, ModelScope and llama.cpp."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from app.work.library.types import Place, Source

_MOST_SETTINGS_BYTES = 1 << 20


def known_places(env: Mapping[str, str] | None = None, home: Path | None = None) -> tuple[Place, ...]:
    """The folders of other programs that exist here; environment variables that move them count."""
    env = os.environ if env is None else env
    home = Path.home() if home is None else home
    listed = (
        *(Place(path, Source.LM_STUDIO) for path in _lm_studio(home)),
        *(Place(path, Source.HUGGING_FACE) for path in _hugging_face(env, home)),
        *(Place(path, Source.OLLAMA) for path in _ollama(env, home)),
        *(Place(path, Source.MODELSCOPE) for path in _modelscope(env, home)),
        *(Place(path, Source.LLAMA_CPP) for path in _llama_cpp(env, home)),
    )
    return _existing(listed)


def all_places(folders: Iterable[str], own: Path | None = None, *, with_known: bool = True) -> tuple[Place, ...]:
    """The user's folders first (also those that are gone: that is told), Lanewise's own, then other programs'."""
    chosen = [Place(Path(folder), Source.FOLDER) for folder in dict.fromkeys(folders)]
    mine = [Place(own, Source.LANEWISE)] if own is not None and own.is_dir() else []
    return (*chosen, *mine, *(known_places() if with_known else ()))


def _existing(places: Iterable[Place]) -> tuple[Place, ...]:
    found: dict[str, Place] = {}
    for place in places:
        try:
            if place.path.is_dir():
                found.setdefault(os.path.realpath(place.path), place)
        except (OSError, ValueError):  # a drive that is not there
            continue
    return tuple(found.values())


def _lm_studio(home: Path) -> tuple[Path, ...]:
    """Its folder may have been moved in its settings."""
    root = home / ".lmstudio"
    pointed = _read_small(home / ".lmstudio-home-pointer")
    if pointed:
        root = Path(pointed.strip())
    moved: list[Path] = []
    try:
        settings = json.loads(_read_small(root / "settings.json") or "null")
    except (ValueError, RecursionError):
        settings = None
    folder = settings.get("downloadsFolder") if isinstance(settings, dict) else None
    if isinstance(folder, str) and folder:
        moved.append(Path(folder))
    return (*moved, root / "models", home / ".cache" / "lm-studio" / "models")


def _hugging_face(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """huggingface_hub/constants.py: HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub."""
    named = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return (Path(named).expanduser(),)
    base = env.get("HF_HOME")
    if base:
        return (Path(base).expanduser() / "hub",)
    cache = Path(env.get("XDG_CACHE_HOME") or home / ".cache")
    return (cache / "huggingface" / "hub",)


def _ollama(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """OLLAMA_MODELS, else the user's folder; the service of Linux keeps its own."""
    named = env.get("OLLAMA_MODELS")
    if named:
        return (Path(named),)
    service = () if sys.platform == "win32" else (Path("/usr/share/ollama/.ollama/models"),)
    return (home / ".ollama" / "models", *service)


def _modelscope(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    base = Path(env.get("MODELSCOPE_CACHE") or home / ".cache" / "modelscope")
    return (base / "hub" / "models", base / "hub", base / "models")


def _llama_cpp(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """What ``llama-server -hf`` has fetched (common/common.cpp fs_get_cache_directory)."""
    named = env.get("LLAMA_CACHE")
    if named:
        return (Path(named),)
    if sys.platform == "win32":
        return (Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "llama.cpp",)
    if sys.platform == "darwin":
        return (home / "Library" / "Caches" / "llama.cpp",)
    return (Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "llama.cpp",)


def _read_small(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_SETTINGS_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
