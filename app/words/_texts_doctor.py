"""Texts of the doctor: what it finds beyond the engine's own failures. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_PROGRAM: Entries = {
    "problem.engine_too_old": (
        "This llama-server is older than the model file or reads it differently ({why}). Use a newer build.",
        "该 llama-server 比模型文件旧，或无法按此格式读取（{why}）。请使用更新的版本。",
    ),
    "problem.engine_wrong_platform": (
        "The llama-server file is for another system or processor ({why}). Get the package for this computer.",
        "该 llama-server 是为其他系统或处理器编译的（{why}）。请获取适用于这台电脑的版本。",
    ),
    "problem.engine_blocked": (
        "The system's protection blocks llama-server ({why}). "
        "Allow it in the antivirus, or take the official release and check its SHA-256.",
        "系统防护阻止了 llama-server（{why}）。请在杀毒软件中放行，或使用官方发布的版本并核对其 SHA-256。",
    ),
    "problem.engine_not_executable": (
        "The system does not let {path} be run ({why}). Give the file execute permission, or choose another engine.",
        "系统不允许运行 {path}（{why}）。请为该文件添加执行权限，或选择其他引擎。",
    ),
    "problem.engine_removed": (
        "{path} is gone ({why}); an antivirus or a clean-up may have taken it. "
        "Restore it from quarantine, or choose or build another engine.",
        "{path} 已不存在（{why}），可能被杀毒软件或清理工具删除。请从隔离区恢复，或选择、编译其他引擎。",
    ),
    "problem.file_denied": (
        "The model file {path} may not be read ({why}). Give your user read permission, or move the file to your folder.",
        "无权读取模型文件 {path}（{why}）。请为当前用户添加读取权限，或把文件移到自己的文件夹。",
    ),
    "problem.no_usable_gpu": (
        "This llama-server found no GPU that it can use, so everything runs on the processor. "
        "Use a build for your card (CUDA, Vulkan, ROCm), or update the driver.",
        "该 llama-server 没有找到可用的 GPU，全部由处理器计算。请使用适合显卡的版本（CUDA、Vulkan、ROCm），或更新驱动。",
    ),
    "problem.gpu_backend_not_loaded": (
        "The GPU part of this llama-server could not be loaded ({why}). "
        "Unpack the runtime package of the same CUDA or ROCm version beside it, or update the driver.",
        "该 llama-server 的 GPU 部分未能加载（{why}）。请把相同 CUDA 或 ROCm 版本的运行库包解压到旁边，或更新驱动。",
    ),
}

_MEMORY: Entries = {
    "problem.vram_oom_device": (
        "{device} ran out of its memory ({n_bytes:size} asked for). Keep more expert layers in RAM, or shorten the context.",
        "{device} 的内存不足（需要 {n_bytes:size}）。请让更多专家层留在内存中，或缩短上下文。",
    ),
    "problem.commit_limit": (
        "Windows could not promise the memory ({n_bytes:size} asked for): RAM and page file together are used up. "
        "Enlarge the page file, close programs, or map the file instead of reading it.",
        "Windows 无法再承诺内存（需要 {n_bytes:size}）：内存与页面文件的总和已用尽。请增大页面文件、关闭其他程序，或改用内存映射加载。",
    ),
    "problem.pinned_memory_cap": (
        "{n_bytes:size} of RAM could not be pinned for the GPU ({why}), so prompts are copied more slowly; the server "
        "runs on. Windows lets about half of the RAM be pinned: load less into RAM, or map the file.",
        "有 {n_bytes:size} 内存未能为 GPU 锁页（{why}），预填充时的复制会变慢，服务器仍在运行。Windows 大约只允许锁页一半的内存：请减少放入内存的部分，或使用内存映射。",
    ),
    "problem.prompt_cache_memory": (
        "There was no memory left to keep a prompt ({why}). Give the prompt cache less RAM, or switch it off.",
        "没有内存可用于保存提示缓存（{why}）。请减小提示缓存，或将其关闭。",
    ),
}

_REQUESTS: Entries = {
    "problem.context_full": (
        "The context was full: {asked:num} tokens were asked for, {n_ctx:num} are there. "
        "Start a new conversation, or plan a longer context.",
        "上下文已满：请求需要 {asked:num} 个 token，上下文只有 {n_ctx:num}。请开始新的对话，或在方案中增大上下文。",
    ),
    "problem.batch_too_small": (
        "An input of {asked:num} tokens does not fit one micro-batch. Raise -ub (and -b) to at least that many.",
        "{asked:num} 个 token 的输入放不进一个微批次。请把 -ub（及 -b）至少调到这个数。",
    ),
    "problem.request_failed": (
        "A request failed inside the engine ({why}); the server runs on. Try again; if it stays, use another build.",
        "有请求在引擎内部失败（{why}），服务器仍在运行。请重试；若仍失败，请换一个版本。",
    ),
}

ENTRIES: Entries = {**_PROGRAM, **_MEMORY, **_REQUESTS}
