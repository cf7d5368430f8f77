"""Texts of trades, of what fits and of speed. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    # what does not fit at all
    "problem.does_not_fit_memory": (
        "The model does not fit in memory: {missing_bytes:size} are missing. A file of up to {file_fits_8k_bytes:size} "
        "would fit at 8k context, up to {file_fits_16k_bytes:size} at 16k. Take a smaller quantisation or close programs.",
        "模型放不进内存：还缺 {missing_bytes:size}。8k 上下文时文件最大可为 {file_fits_8k_bytes:size}，"
        "16k 时最大 {file_fits_16k_bytes:size}。请换用更小的量化文件，或关闭其他程序。",
    ),
    "problem.context_too_long": (
        "{n_ctx:num} tokens of context do not fit in memory: {missing_bytes:size} are missing. "
        "Up to {fits_ctx:num} tokens would fit.",
        "{n_ctx:num} 的上下文放不进内存：还缺 {missing_bytes:size}。最多可用 {fits_ctx:num}。",
    ),
    "problem.reserve_above_free": (
        "{reserve_bytes:size} are to be kept free on {device}, but it has only {free_bytes:size}. Keep less free.",
        "{device} 要求留空 {reserve_bytes:size}，但它只剩 {free_bytes:size}。请减少留空。",
    ),
    # what limits the speed
    "plan.limit.starts": (
        "A token reads so little here that starting the GPU's kernels is the limit.",
        "每个 token 读取的数据很少，瓶颈是启动 GPU 计算本身的开销。",
    ),
    "cli.limit.starts": ("starting the GPU's kernels is the limit", "瓶颈是启动 GPU 计算的开销"),
    # offers: what
    "trade.title": ("What next", "下一步"),
    "trade.none": (
        "Nothing to gain here without another machine or file.",
        "在这台机器和这个文件上已没有可换的余地。",
    ),
    "trade.waiting": ("Working out what could be gained…", "正在计算还能换来什么…"),
    "trade.kv_type": ("KV cache {value}", "KV 缓存 {value}"),
    "trade.context": ("Context {value:num}", "上下文 {value:num}"),
    "trade.prompt_cache": ("Prompt cache {value:num} MiB", "提示缓存 {value:num} MiB"),
    "trade.ubatch": ("Micro-batch {value:num}", "微批次 {value:num}"),
    "trade.kv_home.ram": ("KV cache in RAM", "KV 缓存放内存"),
    "trade.kv_home.home": ("KV cache with its layers", "KV 缓存跟随所在的层"),
    "trade.close_programs": ("Close other programs", "关闭其他程序"),
    "trade.preset": ("Best for this machine", "最适合本机的方案"),
    # offers: what for
    "trade.gain.decode": ("+{tps:.1f} tok/s", "+{tps:.1f} tok/s"),
    "trade.gain.prompt": ("prompt ×{factor:num}", "预填充 ×{factor:num}"),
    "trade.gain.read": ("reads {size:size} less", "少读 {size:size}"),
    "trade.gain.freed": ("{size:size} free", "腾出 {size:size}"),
    # offers: how and at what cost
    "trade.frees": ("frees {size:size}", "腾出 {size:size} 显存"),
    "trade.takes": ("takes {size:size}", "多占 {size:size} 显存"),
    "trade.layers": ("+{n:g} layers", "GPU 多放 {n:g} 层专家"),
    "trade.layers_less": ("−{n:g} layers", "GPU 少放 {n:g} 层专家"),
    "trade.slower": ("{tps:.1f} tok/s slower", "解码慢 {tps:.1f} tok/s"),
    "trade.quality.hardly": ("hardly any loss", "几乎无损"),
    "trade.quality.visible": ("visible loss", "损失可察觉"),
    "trade.quality.prompts": ("slower prompts", "预填充变慢"),
    "trade.quality.shorter": ("holds less", "记住的更少"),
    "trade.apply": ("{what}: {gain}. {how}", "{what}：{gain}。{how}"),
    "trade.apply.tip": ("Click to apply it to the plan; Ctrl+Z takes it back.", "点击应用到方案，Ctrl+Z 可撤销。"),
}
