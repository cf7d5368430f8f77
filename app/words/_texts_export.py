"""What exported files say about themselves; an entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "export.pinned.taskset": (
        "The engine runs on CPUs {cpus}, as Lanewise starts it. Without taskset (package util-linux) it runs on all.",
        "与 Lanewise 启动时一样，引擎在 CPU {cpus} 上运行。没有 taskset（util-linux 软件包）时使用全部 CPU。",
    ),
    "export.pinned.mask": (
        "The engine runs on CPUs {cpus}, as Lanewise starts it. The mask has one bit for each of them.",
        "与 Lanewise 启动时一样，引擎在 CPU {cpus} 上运行。掩码中每一位代表一个 CPU。",
    ),
    "export.pinned.stop": (
        "To stop the server, close this window.",
        "要停止服务器，请关闭此窗口。",
    ),
    "export.not_pinned": (
        "Lanewise starts the engine on CPUs {cpus}. A mask holds 64 CPUs of one processor group, so this file does not.",
        "Lanewise 会让引擎在 CPU {cpus} 上运行。一个掩码只能表示同一处理器组中的 64 个 CPU，因此此文件不做限制。",
    ),
}
