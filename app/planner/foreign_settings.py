"""Settings of LM Studio, KoboldCpp and Ollama as llama-server arguments. Pure; every text is hostile.

Each of these programs runs llama.cpp underneath and keeps its choices in a file of its own. What has an option of
llama-server becomes that option, so that a plan is made by the same reader as for a pasted command; what has none, or
holds a value that makes no sense, is named and left out, never guessed.

Sources: KoboldCpp's ``koboldcpp.py`` (argument names are the keys of a ``.kcpps``), LM Studio's files under
``user-concrete-model-default-config`` and its presets, Ollama's Modelfile reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.planner._foreign_tables import (
    KOBOLD_OTHERS,
    KOBOLD_TYPES,
    LMSTUDIO_OTHERS,
    LMSTUDIO_PLAIN,
    OLLAMA_PLAIN,
    OLLAMA_TYPES,
)
from app.planner._foreign_values import Convert, Found, is_nothing, number, one_line, take, whole

MOST_CHARACTERS = 1 << 18
_MOST_LAYERS = 10_000


@dataclass(frozen=True, slots=True)
class ForeignSettings:
    """``source``: ``koboldcpp``, ``lmstudio`` or ``ollama``. ``argv``: options of llama-server, the model's path too
    where the file names one. ``left_out``: name and value, as the file has them, of what was not understood."""

    source: str
    argv: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def read_foreign(text: str, n_layers: int | None = None) -> ForeignSettings | None:
    """The settings in a text; None when it is none of the three programs'.

    ``n_layers``: blocks of the model that is open; LM Studio writes shares of them.
    """
    if len(text) > MOST_CHARACTERS:
        return None
    data = _json_of(text)
    if isinstance(data, dict):
        if _is_lmstudio(data):
            return _read_lmstudio(data, n_layers)
        if {"gpulayers", "contextsize", "model_param", "blasbatchsize"} & data.keys():
            return _read_kobold(data)
        if data and data.keys() <= OLLAMA_PLAIN.keys() | OLLAMA_TYPES:
            return _read_ollama(data)
        return None
    return _read_modelfile(text) if re.search(r"^\s*FROM\s+\S", text, re.MULTILINE | re.IGNORECASE) else None


def _json_of(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# ---- KoboldCpp ---------------------------------------------------------------------------------------------------

_KOBOLD_PLAIN: Mapping[str, tuple[str, Convert]] = {
    "contextsize": ("-c", whole),
    "threads": ("-t", whole),
    "blasthreads": ("-tb", whole),
    "overridetensors": ("-ot", one_line),
    "overridekv": ("--override-kv", one_line),
    "mmproj": ("--mmproj", one_line),
    "draftmodel": ("-md", one_line),
    "draftamount": ("--draft-max", whole),
    "port_param": ("--port", lambda value: whole(value, 1, 65535)),
    "host": ("--host", one_line),
}


def _read_kobold(data: Mapping[str, object]) -> ForeignSettings:
    found = Found()
    model = one_line(data.get("model_param")) or one_line(data.get("model"))
    if model is not None:
        found.add("-m", model)
    for name, value in data.items():
        if name in ("model_param", "model"):
            continue
        if name in _KOBOLD_SPECIAL:
            _KOBOLD_SPECIAL[name](found, value)
        elif name in _KOBOLD_PLAIN:
            if not is_nothing(value):
                take(found, name, value, *_KOBOLD_PLAIN[name])
        elif not is_nothing(value) and not name.startswith(KOBOLD_OTHERS):
            found.leave(name, value)
    return ForeignSettings("koboldcpp", tuple(found.argv), tuple(found.left_out))


def _kobold_layers(found: Found, value: object) -> None:
    """-1 lets KoboldCpp guess: then nothing is said, and the engine's own default holds."""
    if value not in (-1, None, ""):
        take(found, "gpulayers", value, "-ngl", lambda v: whole(v, 0, _MOST_LAYERS))


def _kobold_batch(found: Found, value: object) -> None:
    """One number for both batches; -1 is KoboldCpp's way to say one token at a time."""
    size = whole(value, 1)
    if size is not None:
        found.add("-b", size, "-ub", size)
    elif value not in (None, ""):
        found.leave("blasbatchsize", value)


def _kobold_card(found: Found, name: str, prefix: str, value: object) -> None:
    """``["normal", "0", "mmq"]``: a card's number, and words of which two have options of llama-server."""
    for word in value if isinstance(value, list) else [value]:
        card = whole(word, 0, 15)
        if card is not None:
            found.add("-dev", f"{prefix}{card}")
        elif word == "lowvram":
            found.add("-nkvo")
        elif word == "rowsplit":
            found.add("-sm", "row")
        elif word not in ("normal", "mmq", "nommq", "all", True, None, False):
            found.leave(name, word)


def _kobold_split(found: Found, value: object) -> None:
    if is_nothing(value):
        return
    parts = [number(part) for part in value] if isinstance(value, list) and len(value) <= 16 else [None]
    if None in parts:
        found.leave("tensor_split", value)
    else:
        found.add("-ts", ",".join(part for part in parts if part is not None))


def _kobold_experts(found: Found, value: object) -> None:
    """Expert layers in RAM; 999 stands for all."""
    if is_nothing(value):
        return
    count = whole(value, 1, _MOST_LAYERS)
    if count is None:
        found.leave("moecpu", value)
    elif int(count) >= 999:
        found.add("--cpu-moe")
    else:
        found.add("--n-cpu-moe", count)


def _kobold_type(found: Found, value: object) -> None:
    kind = KOBOLD_TYPES.get(value) if isinstance(value, int) and not isinstance(value, bool) else None
    if kind is not None:
        found.add("-ctk", kind, "-ctv", kind)
    elif value is not None:
        found.leave("quantkv", value)


def _kobold_lora(found: Found, value: object) -> None:
    for path in (value if isinstance(value, list) else [value])[:16]:
        if not is_nothing(path):
            take(found, "lora", path, "--lora", one_line)


def _kobold_rope(found: Found, value: object) -> None:
    """``[scale, base]``; a scale of 0 lets KoboldCpp choose."""
    pair = [number(part) for part in value] if isinstance(value, list) and len(value) == 2 else []
    if len(pair) != 2 or None in pair:
        if not is_nothing(value):
            found.leave("ropeconfig", value)
    elif pair[0] not in (None, "0") and pair[1] is not None:
        found.add("--rope-freq-scale", str(pair[0]), "--rope-freq-base", pair[1])


def _switch(name: str, *words: str) -> Callable[[Found, object], None]:
    """A setting that is on or off; off is the default on both sides."""

    def read(found: Found, value: object) -> None:
        if value is True or value == 1:
            found.add(*words)
        elif not is_nothing(value):
            found.leave(name, value)

    return read


def _card(name: str, prefix: str) -> Callable[[Found, object], None]:
    def read(found: Found, value: object) -> None:
        if value is not None and value is not False:
            _kobold_card(found, name, prefix, value)

    return read


def _main_gpu(found: Found, value: object) -> None:
    if value not in (None, -1):
        take(found, "maingpu", value, "-mg", lambda v: whole(v, 0, 15))


def _draft_layers(found: Found, value: object) -> None:
    """999 stands for all, which is the engine's default."""
    if value not in (None, -1, 999):
        take(found, "draftgpulayers", value, "-ngld", lambda v: whole(v, 0, _MOST_LAYERS))


def _kobold_mmap(found: Found, value: object) -> None:
    """KoboldCpp maps the file only when asked to; llama-server unless asked not to."""
    if value is False:
        found.add("--no-mmap")
    elif value not in (True, None):
        found.leave("usemmap", value)


_KOBOLD_SPECIAL: Mapping[str, Callable[[Found, object], None]] = {
    "gpulayers": _kobold_layers,
    "blasbatchsize": _kobold_batch,
    "usecublas": _card("usecublas", "CUDA"),
    "usecuda": _card("usecuda", "CUDA"),
    "usehipblas": _card("usehipblas", "ROCm"),
    "usevulkan": _card("usevulkan", "Vulkan"),
    "tensor_split": _kobold_split,
    "maingpu": _main_gpu,
    "moecpu": _kobold_experts,
    "quantkv": _kobold_type,
    "lora": _kobold_lora,
    "ropeconfig": _kobold_rope,
    "flashattention": _switch("flashattention", "-fa", "on"),
    "usemlock": _switch("usemlock", "--mlock"),
    "usemmap": _kobold_mmap,
    "nommap": _switch("nommap", "--no-mmap"),
    "usecpu": _switch("usecpu", "-dev", "none"),
    "mmprojcpu": _switch("mmprojcpu", "--no-mmproj-offload"),
    "jinja": _switch("jinja", "--jinja"),
    "draftgpulayers": _draft_layers,
}


# ---- LM Studio ---------------------------------------------------------------------------------------------------


def _is_lmstudio(data: Mapping[str, object]) -> bool:
    return any(isinstance(data.get(part), dict) and "fields" in _part(data, part) for part in ("load", "operation"))


def _part(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = data.get(name)
    return part if isinstance(part, dict) else {}


def _read_lmstudio(data: Mapping[str, object], n_layers: int | None) -> ForeignSettings:
    found = Found()
    for part in ("load", "operation"):
        fields = _part(data, part).get("fields")
        for entry in fields if isinstance(fields, list) else []:
            if isinstance(entry, dict) and isinstance(entry.get("key"), str):
                _lmstudio_field(found, entry["key"], entry.get("value"), n_layers)
            else:
                found.leave(part, entry)
    return ForeignSettings("lmstudio", tuple(found.argv), tuple(found.left_out))


def _lmstudio_field(found: Found, key: str, value: object, n_layers: int | None) -> None:
    """``{"checked": false}`` marks a value that is kept but not used."""
    if isinstance(value, dict) and "checked" in value:
        if value.get("checked") is not True:
            return
        value = value.get("value")
    name = key.removeprefix("llm.load.").removeprefix("llama.").removeprefix("llm.prediction.").removeprefix("llama.")
    if name in LMSTUDIO_PLAIN:
        option, kind = LMSTUDIO_PLAIN[name]
        take(found, key, value, option, {"whole": whole, "number": number, "text": one_line}[kind])
    elif name in ("acceleration.offloadRatio", "numCpuExpertLayersRatio"):
        _lmstudio_share(found, key, name, value, n_layers)
    elif name in _LMSTUDIO_SWITCHES and isinstance(value, bool):
        found.add(*_LMSTUDIO_SWITCHES[name][value])
    elif not is_nothing(value) and not name.startswith(LMSTUDIO_OTHERS):
        found.leave(key, value)


_LMSTUDIO_SWITCHES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "flashAttention": (("-fa", "off"), ("-fa", "on")),
    "keepModelInMemory": ((), ("--mlock",)),
    "tryMmap": (("--no-mmap",), ()),
    "offloadKVCacheToGpu": (("-nkvo",), ()),
    "useUnifiedKvCache": (("-no-kvu",), ("-kvu",)),
}
"""What switched off and switched on say."""


def _lmstudio_share(found: Found, key: str, name: str, value: object, n_layers: int | None) -> None:
    """A share of the model's layers, 0..1, or ``max`` and ``off``."""
    share = {"max": 1.0, "off": 0.0}.get(value) if isinstance(value, str) else value
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        found.leave(key, value)
    elif name == "numCpuExpertLayersRatio":
        if share == 1:
            found.add("--cpu-moe")
        elif share and n_layers is not None:
            found.add("--n-cpu-moe", str(round(share * n_layers)))
        elif share:
            found.leave(key, value)
    elif share == 1:
        found.add("-ngl", "all")
    elif share == 0 or n_layers is not None:
        found.add("-ngl", str(round(share * (n_layers or 0))))
    else:
        found.leave(key, value)


# ---- Ollama ------------------------------------------------------------------------------------------------------


def _read_ollama(data: Mapping[str, object], found: Found | None = None) -> ForeignSettings:
    """A table of parameters, as in the blob of a model's parameters or the ``options`` of a request."""
    found = found or Found()
    for name, value in data.items():
        _ollama_parameter(found, name, value)
    return ForeignSettings("ollama", tuple(found.argv), tuple(found.left_out))


def _ollama_parameter(found: Found, name: str, value: object) -> None:
    name = name.lower()
    if name in OLLAMA_PLAIN:
        option, kind = OLLAMA_PLAIN[name]
        if name in ("num_gpu", "seed", "main_gpu") and whole(value, -1) == "-1":
            return  # automatic
        if name == "num_predict" and whole(value, -2) in ("-1", "-2"):
            return  # without end, which is the engine's default
        take(found, name, value, option, whole if kind == "whole" else number)
        return
    is_on = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
    words = {
        "use_mmap": ((), ("--no-mmap",)),
        "use_mlock": (("--mlock",), ()),
        "low_vram": (("-nkvo",), ()),
        "numa": (("--numa", "distribute"), ()),
    }.get(name)
    if words is None or is_on is None:
        found.leave(name, value)
    else:
        found.add(*words[0 if is_on else 1])


def _read_modelfile(text: str) -> ForeignSettings:
    """``FROM``, ``PARAMETER name value`` and ``ADAPTER``; texts for the model are named, not taken over."""
    found = Found()
    without_blocks = re.sub(r'"""(?:.|\n)*?(?:"""|\Z)', '"…"', text)
    for line in without_blocks.splitlines():
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        command = word.upper()
        if not command or command.startswith("#"):
            continue
        if command == "FROM":
            _take_model(found, rest)
        elif command == "ADAPTER":
            take(found, "ADAPTER", rest.strip("\"'"), "--lora", one_line)
        elif command == "PARAMETER":
            name, _, value = rest.partition(" ")
            _ollama_parameter(found, name, value.strip().strip("\"'"))
        elif command in ("TEMPLATE", "SYSTEM", "MESSAGE", "RENDERER", "PARSER"):
            found.leave(command, rest)
        elif command not in ("LICENSE", "REQUIRES"):
            found.leave(word, rest)
    return ForeignSettings("ollama", tuple(found.argv), tuple(found.left_out))


def _take_model(found: Found, value: str) -> None:
    """A file's path; a name such as ``qwen3:30b`` is one of Ollama's own."""
    path = one_line(value.strip("\"'"))
    if path is not None and (path.lower().endswith(".gguf") or "/" in path[:3] or "\\" in path):
        found.add("-m", path)
    else:
        found.leave("FROM", value)
