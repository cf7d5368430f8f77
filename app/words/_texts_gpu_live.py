"""Who uses a card's memory, and what holds a card back; an entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_USERS: Entries = {
    "machine.label.vram_users": ("Programs in VRAM", "占用显存的程序"),
    "source.gpu_counters": ("Windows counters", "Windows 计数器"),
    "source.estimate_spec": ("maker's specification", "厂商公布的规格"),
    "source.drm": ("Linux DRM", "Linux DRM"),
    "vram_users.one": ("{name} {size:size}", "{name} {size:size}"),
    "vram_users.more": ("{named} and {n} more", "{named}，另有 {n} 个"),
    "vram_users.nameless": ("process {pid}", "进程 {pid}"),
    "vram_users.nobody": ("none", "没有"),
    "vram_users.none": (
        "No program holds more than 16 MiB of it.",
        "没有程序占用超过 16 MiB。",
    ),
    "vram_users.asleep": (
        "The card sleeps, so no program uses it; it is not woken to be asked.",
        "显卡处于休眠，没有程序在使用；不会为了查询而唤醒它。",
    ),
    "vram_users.neighbour_asleep": (
        "Not asked: another NVIDIA card sleeps, and asking would wake it.",
        "未查询：另一块 NVIDIA 显卡正在休眠，查询会唤醒它。",
    ),
    "vram_users.only_own": (
        "None of your own programs holds more than 16 MiB; those of other users cannot be seen.",
        "你自己的程序都没有占用超过 16 MiB；其他用户的程序无法查看。",
    ),
    "vram_users.remote": (
        "Another machine's memory: only its own system knows its programs.",
        "这是另一台机器的内存，只有它自己的系统知道有哪些程序。",
    ),
    "vram_users.untold": (
        "The system does not tell which programs use this card.",
        "系统没有提供使用此显卡的程序信息。",
    ),
    "vram_users.asking": ("Asking who…", "正在查询占用者…"),
}

ENTRIES: Entries = {**_USERS}
