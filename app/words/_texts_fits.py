"""Texts of the verb ``fits`` and of what an engine lacks for a preset. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "cli.verb.fits": (
        "Would a file of this architecture and size fit, before it is downloaded?",
        "下载之前判断某架构、某大小的文件放不放得下。",
    ),
    "cli.group.file_to_be": ("File", "文件"),
    "cli.help.arch": ("its architecture, as in qwen3moe or gpt-oss", "架构，例如 qwen3moe 或 gpt-oss"),
    "cli.help.size-gib": ("its size in GiB, as in 17.3", "文件大小（GiB），例如 17.3"),
    "cli.help.layers": (
        "its layers; with --kv-heads and --head-size for an architecture that is not known here",
        "层数；架构未知时与 --kv-heads、--head-size 一起给出",
    ),
    "cli.help.kv-heads": ("KV heads of a layer", "每层的 KV 头数"),
    "cli.help.head-size": ("elements of a head, as in 128", "每个头的元素数，例如 128"),
    "problem.fits_size_missing": (
        "The size of the file is missing. Example: lanewise {example}",
        "缺少文件大小。例如：lanewise {example}",
    ),
    "problem.fits_arch_unknown": (
        "How the KV cache of the architecture {arch} grows is not known here. Name --layers, --kv-heads and --head-size, or "
        "one of: {known}.",
        "这里不知道架构 {arch} 的 KV 缓存有多大。请给出 --layers、--kv-heads 和 --head-size，或使用以下架构之一：{known}。",
    ),
    "fits.yes": (
        "It fits with {n_ctx:num} tokens of context; {left:size} stay free.",
        "{n_ctx:num} 上下文时放得下，还剩 {left:size}。",
    ),
    "fits.unknown": (
        "Not known: the free memory of a device is not known. Name it, as in --device CUDA0=12288 --ram-mib 20000.",
        "无法判断：有设备的空闲内存未知。请自行指定，例如 --device CUDA0=12288 --ram-mib 20000。",
    ),
    "fits.reckoned": (
        "Reckoned with the KV cache of {name}: {kv:size}.",
        "按 {name} 的 KV 缓存计算：{kv:size}。",
    ),
    "problem.preset_cache_unsupported": (
        "This engine has no expert cache: its --help lists none of {flags}. Take the preset fill, or an engine that has it.",
        "此引擎没有专家缓存：它的 --help 中没有 {flags}。请改用预设 fill，或换用支持它的引擎。",
    ),
}
