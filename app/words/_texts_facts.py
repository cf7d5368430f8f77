"""The words of the machine's single facts, of what they mean, and of ``selftest``; an entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_FINDINGS: Entries = {
    "problem.two_dies_vcache": (
        "Only one of the {dies} dies of this processor has the large cache ({cache_bytes:size}; {cores:count core|cores} "
        "from CPU {first}). All cores read RAM faster together, the large cache may help prompts: measure both settings.",
        "此处理器的 {dies} 个计算芯片（CCD）中只有一个带大容量缓存（{cache_bytes:size}，从 CPU {first} 起的 {cores} 个核心）。"
        "全部核心一起读取内存更快，大缓存可能有利于预填充：两种设置都请实测。",
    ),
    "problem.emulated_processor": (
        "This Lanewise was built for x64 and runs on an ARM processor under emulation. Use a native ARM64 build of "
        "llama-server (CPU, or OpenCL for Adreno): an x64 build is far slower here.",
        "当前的 Lanewise 是 x64 版本，正在 ARM 处理器上以模拟方式运行。请使用 ARM64 原生的 llama-server"
        "（CPU 版，或用于 Adreno 的 OpenCL 版）：x64 版本在这里慢得多。",
    ),
    "problem.processor_groups": (
        "Windows has divided the CPUs into {groups} groups, and an affinity covers only one: the engine is not pinned to "
        "cores here.",
        "Windows 把 CPU 分成了 {groups} 个组，而亲和性只能覆盖一个组：因此这里不把引擎绑定到核心。",
    ),
    "problem.inside_wsl": (
        "This is WSL: it does not show P-cores and E-cores, and gets only part of the computer's RAM ({ram_bytes:size}; "
        ".wslconfig sets the limit). The Windows build of Lanewise sees all of it.",
        "当前在 WSL 中运行：看不到大核和小核，而且只能使用电脑的一部分内存（{ram_bytes:size}，上限由 .wslconfig 设定）。"
        "Windows 版 Lanewise 可以看到全部。",
    ),
    "problem.vram_withheld": (
        "About {n_bytes:size} of {gpu} are called free but withheld by Windows from a single program. Lanewise plans with "
        "the {free_bytes:size} that the engine may take.",
        "{gpu} 约有 {n_bytes:size} 显存显示为空闲，但 Windows 不允许单个程序使用。Lanewise 按引擎可用的 {free_bytes:size} 制定方案。",
    ),
    "problem.nvml_lost": (
        "The NVIDIA driver stopped answering while it was watched (an update, or a card that fell off the bus); its "
        "curves have a gap. It is asked again every ten seconds; if it stays away, restart the computer.",
        "监视过程中 NVIDIA 驱动停止响应（驱动更新，或显卡掉线），曲线会有缺口。程序每十秒重试一次；如果一直没有恢复，请重启电脑。",
    ),
}

_SELFTEST: Entries = {
    "cli.verb.selftest": (
        "Write all that this machine tells into one file, without names, for a bug report.",
        "把这台电脑能提供的全部信息（不含个人信息）写入一个文件，用于反馈问题。",
    ),
    "cli.help.selftest_out": ("the file to write", "要写入的文件"),
    "cli.selftest.done": (
        "{path} is written ({size:size}): {facts:count fact|facts}, {unknown:num} of them unknown, and the raw answers "
        "behind them. User, computer and folder names, serial numbers, UUIDs and keys are left out. Attach it to your report.",
        "已写入 {path}（{size:size}）：共 {facts:num} 项信息，其中 {unknown:num} 项未知，并附原始数据。"
        "不含用户名、计算机名、文件夹名、序列号、UUID 和密钥。请把它附在问题反馈中。",
    ),
    "problem.selftest_not_saved": (
        "The report could not be written to {path}. Choose a folder you may write to.",
        "无法将报告写入 {path}。请选择有写入权限的文件夹。",
    ),
    "problem.cli_selftest_where": (
        "Name the file to write, as in: {verb} report.json",
        "请指定要写入的文件，例如：{verb} report.json",
    ),
}

_SOURCES: Entries = {
    "machine.vram_user": (
        "{gpu}: {name} uses {size:size} of VRAM (process {pid}).",
        "{gpu}：{name} 占用显存 {size:size}（进程 {pid}）。",
    ),
    "source.edac": ("the memory controller's driver (EDAC)", "内存控制器驱动 (EDAC)"),
    "source.caches": ("sizes of the third-level caches", "三级缓存的大小"),
}

ENTRIES: Entries = {**_FINDINGS, **_SELFTEST, **_SOURCES}
