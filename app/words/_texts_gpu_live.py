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

_HELD_BACK: Entries = {
    "live.held_back": ("held back by {why}", "受限于{why}"),
    "held_back.power_cap": ("its power limit", "功耗上限"),
    "held_back.supply": ("the power supply", "供电"),
    "held_back.heat": ("heat", "温度"),
    "held_back.hardware": ("a hardware slowdown", "硬件降频"),
    "problem.held_back_heat": (
        "{device} slows itself down because of heat ({percent} % of the busy time in this minute, says its driver). Give "
        "it air or a stronger fan profile.",
        "{device} 因温度过高而降频（驱动报告，占这一分钟繁忙时间的 {percent} %）。请改善散热或调高风扇。",
    ),
    "problem.held_back_supply": (
        "{device} is slowed down by its power supply ({percent} % of the busy time in this minute). Check the card's "
        "power cables; on a laptop use its own power adapter.",
        "{device} 因供电受限而降频（占这一分钟繁忙时间的 {percent} %）。请检查显卡供电线；笔记本请使用原装电源适配器。",
    ),
    "problem.held_back_hardware": (
        "{device} is in a hardware slowdown ({percent} % of the busy time in this minute); its driver does not say why. "
        "Look at its temperature and its power cables.",
        "{device} 处于硬件降频状态（占这一分钟繁忙时间的 {percent} %），驱动没有说明原因。请查看温度和供电线。",
    ),
    "problem.held_back_power_cap": (
        "{device} runs at its power limit of {watts:num} W ({percent} % of the busy time in this minute). That is usual "
        "under full load; a higher limit makes prompts faster, decode hardly.",
        "{device} 运行在 {watts:num} W 的功耗上限（占这一分钟繁忙时间的 {percent} %）。满载时属正常；调高上限能加快预填充，对解码几乎没有影响。",
    ),
}

ENTRIES: Entries = {**_USERS, **_HELD_BACK}
