"""What a failed run says about memory, buffers, tensors and ports: read out of the lines around its first one. Pure.

The readers are called by ``failure_rules``, whose table says which failure asks for which of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.common.problem import ParamValue
from app.common.units import GIB, MIB
from app.engine.loglines import CleanLine
from app.engine.logparse import device_of_buffer

Params = Mapping[str, ParamValue]


@dataclass(frozen=True, slots=True)
class Cascade:
    """The lines around a failure: from its first message on. ``was_ready``: the server had answered before."""

    lines: Sequence[CleanLine]
    before: Sequence[CleanLine] = ()
    was_ready: bool = False


_ALLOC = re.compile(r"failed to allocate (?P<buffer>\S+) buffer of size (?P<size>\d{1,18})")
_CUDA_ALLOC = re.compile(r"allocating (?P<mib>\d{1,12}(?:[.,]\d+)?) MiB on device (?P<device>\d{1,3}):")
_HOST_ALLOC = re.compile(r"(?:attempted to allocate|failed to allocate)\s*(?P<mb>\d{1,12}(?:[.,]\d+)?) MB\b")
_BYTES_ALLOC = re.compile(
    r"(?:allocation of size|buffer of size|can't allocate|[Ff]ailed to allocate Metal buffer of) (?P<size>\d{1,18})\b"
)
_MIB_ALLOC = re.compile(r"failed to allocate (?:buffer, size =\s*)?(?P<mib>\d{1,12}(?:[.,]\d+)?) MiB")
_CURRENT_DEVICE = re.compile(r"current device: (?P<device>\d{1,3})\b")
_USED_DEVICE = re.compile(r"using device (?P<name>(?!CPU)[A-Za-z]+\d+)\b|(?P<listed>(?:CUDA|ROCm|Vulkan|MUSA|SYCL)\d+)")
_ADDRESS = re.compile(
    r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}|localhost|\[::1?\])[:' ,]{1,4}(?:port[:= ]{1,2})?(?P<port>\d{2,5})\b"
)
_STAGES = (
    ("compute", re.compile(r"compute (?:pp |tg )?buffers?|graph_reserve|measure")),
    ("kv", re.compile(r"(?:kv|rs|self-attention) cache|llama_kv_cache|llama_memory_recurrent")),
    ("weights", re.compile(r"unable to allocate .*buffer|load_tensors|alloc_tensor_range|error loading model")),
    ("compute", re.compile(r"gallocr_reserve")),
)


def number(text: str) -> float:
    """A figure of the log; some systems print a comma where others print a point."""
    return float(text.replace(",", "."))


def stage_of(cascade: Cascade) -> str | None:
    """What the memory was for: weights, kv, compute, or generating once the server was ready; None = not said."""
    if cascade.was_ready:
        return "generating"
    for stage, pattern in _STAGES:
        if any(pattern.search(line.text) for line in cascade.lines):
            return stage
    return None


def _first(pattern: re.Pattern[str], lines: Sequence[CleanLine]) -> re.Match[str] | None:
    return next((found for line in lines if (found := pattern.search(line.text)) is not None), None)


def allocation(match: re.Match[str], cascade: Cascade) -> Params:
    """Device and size of the allocation that failed (ggml-backend.cpp, ggml-alloc.c)."""
    found = _first(_ALLOC, cascade.lines)
    if found is not None:
        return {"device": device_of_buffer(found["buffer"]), "n_bytes": int(found["size"])}
    if (found := _first(_HOST_ALLOC, cascade.lines)) is not None:
        return {"device": "RAM", "n_bytes": round(number(found["mb"]) * MIB)}
    buffer = match.groupdict().get("buffer")
    return {"device": device_of_buffer(buffer) if buffer and buffer != "backend" else None, "n_bytes": None}


def host_allocation(match: re.Match[str], cascade: Cascade) -> Params:
    """RAM; the size as the line or its neighbours say it."""
    said = match.groupdict()
    n_bytes = None
    if said.get("gib"):
        n_bytes = round(float(said["gib"]) * GIB)
    elif (found := _first(_HOST_ALLOC, cascade.lines)) is not None:
        n_bytes = round(number(found["mb"]) * MIB)
    return {"device": "RAM", "n_bytes": n_bytes, "stage": stage_of(cascade)}


def vram_allocation(match: re.Match[str], cascade: Cascade) -> Params:
    """A card's memory; device and size from the line itself or from the cascade it belongs to."""
    device: str | None = None
    n_bytes: int | None = None
    if (found := _first(_CUDA_ALLOC, cascade.lines)) is not None:
        device, n_bytes = f"{_family(cascade)}{found['device']}", round(number(found["mib"]) * MIB)
    elif (found := _first(_ALLOC, cascade.lines)) is not None:
        device, n_bytes = device_of_buffer(found["buffer"]), int(found["size"])
    elif (found := _first(_BYTES_ALLOC, cascade.lines)) is not None:
        n_bytes = int(found["size"])
    elif (found := _first(_MIB_ALLOC, cascade.lines)) is not None:
        n_bytes = round(number(found["mib"]) * MIB)
    if device is None and (found := _first(_CURRENT_DEVICE, cascade.lines)) is not None:
        device = f"{_family(cascade)}{found['device']}"
    if device is None:
        device = _only_device(cascade)
    return {"device": device, "n_bytes": n_bytes, "stage": stage_of(cascade)}


def _family(cascade: Cascade) -> str:
    """HIP and MUSA builds print CUDA's messages (ggml-cuda.cu:888); their devices are called otherwise."""
    said = {m[0] for line in (*cascade.before, *cascade.lines) for m in re.finditer("ROCm|MUSA|CUDA", line.text)}
    return "ROCm" if "ROCm" in said else "MUSA" if "MUSA" in said else "CUDA"


def _only_device(cascade: Cascade) -> str | None:
    """The card that the log speaks of, when it speaks of one."""
    names = {
        found["name"] or found["listed"]
        for line in (*cascade.before, *cascade.lines)
        for found in _USED_DEVICE.finditer(line.text)
    }
    return next(iter(names)) if len(names) == 1 else None


def buffer_types(match: re.Match[str], cascade: Cascade) -> Params:
    """The buffer types that the engine lists below its complaint."""
    texts = [line.text for line in cascade.lines]
    start = next((i for i, text in enumerate(texts) if text.startswith("Available buffer types")), len(texts))
    names = []
    for text in texts[start + 1 :]:
        if not text.startswith("  "):
            break
        names.append(text.strip())
    return {"available": ", ".join(names) or None}


def named_tensor(match: re.Match[str], cascade: Cascade) -> Params:
    """The tensor, whichever way the message names it."""
    said = match.groupdict()
    return {"tensor": said.get("tensor") or said.get("other")}


def listening_port(match: re.Match[str], cascade: Cascade) -> Params:
    """Address and port, from the line itself or from the last address that was told."""
    said = match.groupdict()
    port = said.get("port") or said.get("port2")
    host = said.get("host") or said.get("host2")
    if port is None and (found := _first(_ADDRESS, (*cascade.before[-20:], *cascade.lines))) is not None:
        host, port = found["host"], found["port"]
    return {"host": (host or "127.0.0.1").strip("'\"[]"), "port": port}
