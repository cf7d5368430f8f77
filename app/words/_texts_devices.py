"""Texts of several GPUs in one plan. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "second_gpu.line": ("More than one GPU: {text}", "多块 GPU：{text}"),
    "second_gpu.row": ("With {devices}, against {alone} alone", "加上 {devices}，比只用 {alone}"),
    "second_gpu.row.faster": ("+{tps:.1f} tok/s", "+{tps:.1f} tok/s"),
    "second_gpu.row.fewer_bytes": ("reads {size:size} less", "少读 {size:size}"),
    "second_gpu.row.none": ("writes no faster", "生成不会更快"),
    "second_gpu.row.unknown": ("gain unknown", "收益未知"),
    "second_gpu.decode.faster_known": (
        "With {devices} beside {alone} it writes about {with_tps:.1f} tok/s instead of {without_tps:.1f}.",
        "在 {alone} 之外加上 {devices}，生成速度约 {with_tps:.1f} tok/s，否则为 {without_tps:.1f}。",
    ),
    "second_gpu.decode.fewer_bytes": (
        "With {devices} beside {alone} a token reads {with_read:size} from RAM instead of {without_read:size}.",
        "在 {alone} 之外加上 {devices}，每个 token 从内存读 {with_read:size}，否则为 {without_read:size}。",
    ),
    "second_gpu.decode.more_in_vram": (
        "With {devices} beside {alone} nothing is read from RAM any more ({without_read:size} per token without).",
        "在 {alone} 之外加上 {devices}，不再需要读内存（否则每个 token 读 {without_read:size}）。",
    ),
    "second_gpu.decode.same": (
        "{devices} beside {alone} gains nothing when it writes.",
        "在 {alone} 之外加上 {devices}，生成不会更快。",
    ),
    "second_gpu.decode.slower": (
        "{devices} beside {alone} would make it write slower.",
        "在 {alone} 之外加上 {devices}，生成反而更慢。",
    ),
    "second_gpu.decode.unknown": (
        "What {devices} beside {alone} gains when it writes is not known.",
        "在 {alone} 之外加上 {devices}，生成能快多少尚不清楚。",
    ),
    "second_gpu.prompt.faster": ("Prompts are read ×{factor:.2f} as fast.", "预填充速度为 ×{factor:.2f}。"),
    "second_gpu.prompt.more_in_vram": (
        "Prompts gain as well: no experts are copied to a card for them any more.",
        "预填充也会更快：不再需要为它把专家复制到显卡。",
    ),
    "second_gpu.prompt.same": ("Prompts are read no faster.", "预填充不会更快。"),
    "second_gpu.prompt.slower": ("Prompts are read slower: ×{factor:.2f}.", "预填充更慢：×{factor:.2f}。"),
    "second_gpu.prompt.unknown": (
        "For prompts it is not known: none of these devices takes over what lies in RAM.",
        "对预填充的影响尚不清楚：这些设备都不会接手内存中的部分。",
    ),
    "problem.memory_shared": (
        "{devices} is graphics inside the processor and usually takes its memory from RAM: together the plan needs "
        "{needed_bytes:size}, and {free_bytes:size} of RAM are free. Unless the firmware set memory aside for it, choose "
        "a smaller file or context.",
        "{devices} 是集成显卡，通常占用的就是内存：整个方案共需 {needed_bytes:size}，而内存只空闲 {free_bytes:size}。"
        "除非在 BIOS 中为它划出了专用显存，否则请换更小的文件或减小上下文。",
    ),
    "plan.verdict.shared": (
        "May not fit: {devices} shares its memory with RAM, and together they need {needed_bytes:size} of "
        "{free_bytes:size} that are free. Choose a smaller file or context.",
        "可能放不下：{devices} 与内存共用同一块空间，合计需要 {needed_bytes:size}，只空闲 {free_bytes:size}。"
        "请换更小的文件或减小上下文。",
    ),
    "cli.verdict.shared": (
        "May not fit: {devices} shares its memory with RAM, and together they need {needed_bytes:size} of "
        "{free_bytes:size} that are free.",
        "可能放不下：{devices} 与内存共用同一块空间，合计需要 {needed_bytes:size}，只空闲 {free_bytes:size}。",
    ),
    "plan.kind.calibrated_from": ("calibrated from {n:count run|runs}", "由 {n} 次运行校准"),
    "trade.use_device": ("{value} as well", "再用上 {value}"),
}
