"""Texts of the machine page beyond the plain facts: measuring, comparing, freshness. Code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_MEASURING: Entries = {
    "problem.bandwidth_no_numpy": (
        "The RAM speed cannot be measured: numpy does not run here. Reinstall Lanewise's packages (python3 dev.py run).",
        "无法测量内存速度：numpy 在此电脑上无法运行。请重新安装 Lanewise 的依赖（python3 dev.py run）。",
    ),
    "problem.bandwidth_failed": (
        "The RAM speed could not be measured: reading stopped with an error. Try again, and report it if it happens twice.",
        "内存测速失败：读取过程中出错。请重试；如果再次出现，请反馈此问题。",
    ),
    "problem.power_probe_failed": (
        "Whether the computer runs on its battery could not be read. Nothing depends on it.",
        "无法得知电脑是否正在使用电池，不影响使用。",
    ),
}

ENTRIES: Entries = {**_MEASURING}
