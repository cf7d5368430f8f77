"""Texts of the files beside a model (projector, draft, LoRA) and of what RAM holds besides. Code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "problem.companion_other_kind": (
        "{path} was given as {kind} but is something else ({role}): llama-server would not start with it. Choose the "
        "right file.",
        "{path} 被指定为 {kind}，但它是另一种文件（{role}）：llama-server 无法用它启动。请选择正确的文件。",
    ),
    "problem.lora_other_architecture": (
        "The LoRA adapter {path} was made for {adapter} models, this one is {model}: llama-server refuses the pair. "
        "Choose an adapter of this model.",
        "LoRA 适配器 {path} 是为 {adapter} 模型制作的，而当前模型是 {model}：llama-server 会拒绝这一组合。"
        "请选择适用于此模型的适配器。",
    ),
    "problem.lora_other_model": (
        "The LoRA adapter {path} changes the tensor {tensor}, which this model does not have: llama-server refuses it. "
        "It was made for another model.",
        "LoRA 适配器 {path} 要修改张量 {tensor}，但此模型没有该张量：llama-server 会拒绝它。它是为另一个模型制作的。",
    ),
    "problem.mtp_missing": (
        "This model ({architecture}) has no MTP block to draft with. Switch drafting with MTP off, or choose a draft "
        "model.",
        "此模型（{architecture}）没有可用于草稿的 MTP 层。请关闭 MTP 草稿，或另选一个草稿模型。",
    ),
    "problem.draft_other_vocabulary": (
        "The draft model has {draft:num} tokens, the model {model:num}: their vocabularies differ, so every draft must "
        "be translated and few are accepted. Choose a draft model of the same family.",
        "草稿模型有 {draft:num} 个 token，模型有 {model:num} 个：词表不同，每份草稿都要转换，被接受的会很少。"
        "请选择同一系列的草稿模型。",
    ),
    "problem.draft_larger": (
        "The draft model ({draft:size}) is larger than the model it drafts for ({model:size}): that can only be slower. "
        "Choose a small one of the same family.",
        "草稿模型（{draft:size}）比主模型（{model:size}）还大，只会更慢。请选择同一系列的小模型。",
    ),
    "problem.import_companion_unread": (
        "{flag} {path} cannot be read here, so its memory is not counted. It is kept in the command.",
        "此处无法读取 {flag} {path}，因此没有计入它占用的内存。该选项仍保留在命令中。",
    ),
    "problem.file_on_network": (
        "{path} lies on a network drive: mapped, it is read in many small pieces and loading takes minutes. Copy it to "
        "a local disk, or read it in one go (-lm none).",
        "{path} 位于网络驱动器上：映射加载会产生大量零碎读取，可能要几分钟。请复制到本地磁盘，或一次性读入（-lm none）。",
    ),
    "problem.path_too_long": (
        "The path of {path} has {length:num} characters; programs without long paths open {limit:num} at most, and "
        "llama-server may be one. Move the file to a shorter folder, or enable long paths in Windows.",
        "{path} 的路径有 {length:num} 个字符；不支持长路径的程序最多只能打开 {limit:num} 个字符，llama-server 可能就是如此。"
        "请把文件移到更短的文件夹，或在 Windows 中启用长路径。",
    ),
    "problem.path_not_ascii": (
        "This llama-server is from before mid-2026 and may not open {path}: such builds read letters outside ASCII "
        "wrongly. Take a newer build, or make a junction (mklink /J) with a plain name to that folder and open it there.",
        "此 llama-server 早于 2026 年中，可能打不开 {path}：旧版本无法正确识别非 ASCII 字符。请换用较新的版本，"
        "或用 mklink /J 为该文件夹建立一个纯英文名的目录联接，再从那里打开。",
    ),
    "problem.import_loading_order": (
        "The command names several of --mlock, --mmap and --no-mmap. Older servers combine them, this one takes each as a "
        "whole loading mode and the last wins; the plan reads it as -lm {mode}.",
        "命令中同时出现了 --mlock、--mmap、--no-mmap 中的多个。旧版服务器会组合它们，而此版本把每个都当作完整的加载方式，"
        "以最后一个为准；方案按 -lm {mode} 理解。",
    ),
    "problem.commit_too_small": (
        "This plan needs {needed_bytes:size} of committed memory, the system can promise only {free_bytes:size} more "
        "({missing_bytes:size} too little), although RAM is free. Enlarge the page file (Windows) or swap, or map the "
        "file instead of reading it.",
        "此方案需要提交 {needed_bytes:size} 内存，而系统只能再承诺 {free_bytes:size}（差 {missing_bytes:size}），"
        "尽管物理内存有空闲。请增大页面文件（Windows）或交换空间，或改用映射方式加载文件。",
    ),
    "problem.mapped_twice": (
        "Mapped weights that the processor rearranges lie in RAM twice: {copy_bytes:size} more, {total_bytes:size} "
        "altogether. Read the file instead of mapping it (-lm none), or switch rearranging off (--no-repack): then it is "
        "{without_bytes:size}.",
        "映射加载的权重被处理器重排后会在内存中存两份：多占 {copy_bytes:size}，总共 {total_bytes:size}。"
        "请改为读入文件（-lm none），或关闭权重重排（--no-repack），这样只需 {without_bytes:size}。",
    ),
    "board.part.projector": ("projector", "多模态投影"),
    "board.part.draft": ("draft", "草稿模型"),
    "board.part.adapters": ("LoRA", "LoRA 适配器"),
    "board.part.repacked": ("rearranged copy", "重排副本"),
    "board.part.checkpoints": ("checkpoints (may grow to)", "检查点（可能增长到）"),
    "cli.help.mmproj": (
        "projector (mmproj) file for pictures or sound; its memory is counted",
        "用于图片或音频的投影（mmproj）文件；会计入它占用的内存",
    ),
    "cli.help.mmproj-in-ram": ("keep the projector in RAM", "将投影文件放在内存中"),
    "cli.help.draft": (
        "draft model for speculative decoding; its weights, KV and buffers are counted",
        "推测解码用的草稿模型；会计入它的权重、KV 缓存和缓冲区",
    ),
    "cli.help.draft-ngl": (
        "layers of the draft model on the GPU (default: all)",
        "草稿模型放到 GPU 的层数（默认：全部）",
    ),
    "cli.help.draft-max": ("tokens drafted at once (the engine's default is 3)", "一次起草的 token 数（引擎默认 3）"),
    "cli.help.mtp": (
        "draft with the MTP block inside the model file; its weights, KV and buffers are counted",
        "用模型文件自带的 MTP 层起草；会计入它的权重、KV 缓存和缓冲区",
    ),
    "cli.help.lora": (
        "LoRA adapter file (repeatable); its memory is counted",
        "LoRA 适配器文件（可重复）；会计入它占用的内存",
    ),
    "cli.group.files": ("files beside the model", "模型之外的文件"),
    "plan.beside": ("Files: {files}", "附加文件：{files}"),
    "plan.beside.none": ("none", "无"),
    "plan.beside.tip": (
        "Projector for pictures and sound, draft model, LoRA adapters: they take memory too, and the plan counts it",
        "图片和音频的投影文件、草稿模型、LoRA 适配器：它们同样占用内存，方案会一并计入",
    ),
    "plan.beside.mmproj": ("Choose a projector (mmproj)…", "选择投影文件（mmproj）…"),
    "plan.beside.mmproj_gpu": ("Projector on the GPU", "投影文件放在 GPU"),
    "plan.beside.draft": ("Choose a draft model…", "选择草稿模型…"),
    "plan.beside.mtp": ("Draft with the model's own MTP block", "用模型自带的 MTP 层起草"),
    "plan.beside.lora": ("Add a LoRA adapter…", "添加 LoRA 适配器…"),
    "plan.beside.remove": ("Remove {name}", "移除 {name}"),
    "plan.beside.kind_draft": ("draft model", "草稿模型"),
    "plan.beside.kind_mtp": ("MTP", "MTP 草稿"),
    "plan.beside.kind_lora": ("{n:count LoRA|LoRAs}", "{n} 个 LoRA"),
    "run.what_draft": ("draft", "草稿模型"),
    "problem.buffer_differs_draft": (
        "The draft takes {actual_bytes:size} on {device}, the plan expected {predicted_bytes:size}.",
        "草稿模型在 {device} 上占用 {actual_bytes:size}，方案预计 {predicted_bytes:size}。",
    ),
}
