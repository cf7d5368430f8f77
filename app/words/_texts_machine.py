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
    "problem.bandwidth_server_runs": (
        "The server is running and reads RAM itself, so a measurement would be wrong. Stop it first.",
        "服务器正在运行并占用内存带宽，此时测得的数值不准确。请先停止服务器。",
    ),
    "problem.launch_memory_changed": (
        "Other programs took memory since the plan was made: {device} has {free_bytes:size} free and lacks "
        "{missing_bytes:size}. Close them, or put more expert layers in RAM, then launch again.",
        "制定方案之后其他程序占用了内存：{device} 现在空闲 {free_bytes:size}，还缺 {missing_bytes:size}。"
        "请关闭这些程序，或把更多专家层放到内存，然后重新启动。",
    ),
    "problem.power_probe_failed": (
        "Whether the computer runs on its battery could not be read. Nothing depends on it.",
        "无法得知电脑是否正在使用电池，不影响使用。",
    ),
}

ENTRIES: Entries = {**_MEASURING}
