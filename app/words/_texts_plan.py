"""Texts of plans, placement, moves and memory. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    # moves the engine cannot express, or expresses with more than was asked
    "problem.move_embeddings": (
        "Token embeddings stay in RAM: the engine reads one row per token there, and a GPU copy would gain nothing.",
        "词嵌入留在内存：引擎每个 token 只读其中一行，放到显存没有收益。",
    ),
    "problem.move_output_tied": (
        "This file shares its output head with the token embeddings. The engine places the copy itself: "
        "on the GPU as soon as any layer is there.",
        "此文件的输出头与词嵌入共用。副本由引擎自行放置：只要有任何一层在 GPU，它就在 GPU。",
    ),
    "problem.move_not_loaded": (
        "The engine does not load this part for plain text generation, so it takes no memory and cannot be placed.",
        "普通文本生成时引擎不会加载这部分，它不占内存，也无法放置。",
    ),
    "problem.move_other": (
        "These tensors follow their layer; the engine decides where they live.",
        "这些张量跟随所在的层，由引擎决定位置。",
    ),
    "problem.move_unknown_card": (
        "There is no card “{card}” in this model. “inspect” lists the cards.",
        "此模型中没有卡片“{card}”。用 inspect 可列出所有卡片。",
    ),
    "problem.move_no_device": (
        "There is no active device “{device}”. Switch it on, or choose another.",
        "没有启用的设备“{device}”。请先启用它，或选择其他设备。",
    ),
    "problem.move_snapped_gpu": (
        "{n:count more layer|more layers} moved to {device} as well ({first} to {last}): "
        "the engine can only keep a run of layers at the end of the model on the GPU, because the KV cache follows the layer.",
        "另有 {n} 层（{first} 至 {last}）一起移到 {device}：KV 缓存跟随所在的层，引擎只能把模型末尾连续的若干层放在 GPU。",
    ),
    "problem.move_snapped_run": (
        "{n:count more layer|more layers} moved to {device} as well ({first} to {last}): each GPU holds one run of "
        "neighbouring layers, in the engine's order, because the KV cache follows the layer.",
        "另有 {n} 层（{first} 至 {last}）一起移到 {device}：KV 缓存跟随所在的层，每个 GPU 只能按引擎的顺序放一段连续的层。",
    ),
    "problem.move_snapped_ram": (
        "{n:count more layer|more layers} moved to {device} as well ({first} to {last}): "
        "the engine can only keep a run of layers at the start of the model in RAM, because the KV cache follows the layer.",
        "另有 {n} 层（{first} 至 {last}）一起移到 {device}：KV 缓存跟随所在的层，引擎只能把模型开头连续的若干层放在内存。",
    ),
    "problem.bad_place": (
        "“{text}” is not ID=DEVICE. Example: experts:12-31=RAM",
        "“{text}”不是“ID=设备”的形式。例如：experts:12-31=RAM",
    ),
    # memory
    "problem.over_full_gpu": (
        "{device} is over-full by {missing_bytes:size}. Move experts to RAM, shorten the context, or quantise the KV cache.",
        "{device} 超出 {missing_bytes:size}。请把专家移到内存、缩短上下文，或量化 KV 缓存。",
    ),
    "problem.over_full_ram": (
        "RAM is over-full by {missing_bytes:size}. Close programs, shorten the context, or take a smaller file.",
        "内存超出 {missing_bytes:size}。请关闭其他程序、缩短上下文，或换用更小的文件。",
    ),
    "problem.ctx_above_trained": (
        "{n_ctx:num} tokens of context are more than the {trained:num} the model was trained for; "
        "answers get worse beyond that.",
        "上下文 {n_ctx:num} 超过模型训练时的 {trained:num}，超出后回答质量会下降。",
    ),
    "problem.fit_decides": (
        "The engine itself chooses the layers (--fit). The board shows its starting point; the run page shows what it did.",
        "由引擎自行选择（--fit）。看板显示的是它的起点，实际结果见运行页。",
    ),
    "problem.dense_model": (
        "A dense model: it has no experts to move. Layers can still be split between GPU and RAM.",
        "这是稠密模型，没有可移动的专家；仍可在 GPU 与内存之间分配各层。",
    ),
    "problem.kv_type_unknown": (
        "The engine has no KV cache type “{cache_type}”. Known: {known}.",
        "引擎没有 KV 缓存类型“{cache_type}”。可用：{known}。",
    ),
    "problem.kv_type_row": (
        "KV cache type {cache_type} needs heads that are a multiple of 32 long; this model has {length}. Use f16.",
        "KV 缓存类型 {cache_type} 要求头长度是 32 的倍数，此模型为 {length}。请用 f16。",
    ),
    "problem.v_type_needs_fa": (
        "A quantised V cache ({cache_type}) needs flash attention. Set flash attention to auto or on, or V to f16.",
        "量化的 V 缓存（{cache_type}）需要 flash attention。请设为 auto 或 on，或把 V 设为 f16。",
    ),
    "problem.preset_unknown": (
        "There is no preset “{preset}”. Known: {known}.",
        "没有预设“{preset}”。可用：{known}。",
    ),
    # undo
    "undo.move": ("Move to {device}", "移到 {device}"),
    "undo.slider": ("{n:count expert layer|expert layers} in RAM", "{n} 个专家层放内存"),
    "undo.wishes": ("Change settings of the plan", "修改方案设置"),
    "undo.preset": ("Apply a preset", "应用预设"),
    "undo.device": ("Switch {device} on or off", "启用或停用 {device}"),
    # the session
    "problem.saved_machine_not_launched": (
        "This plan is for a saved machine, so it cannot be launched here. Copy or export the command, or go back to this machine on the Machine page.",
        "此方案是为保存的机器制定的，不能在这里启动。请复制或导出命令，或在“本机”页回到本机。",
    ),
    "problem.chat_context_full": (
        "The conversation has grown beyond the context. The next question starts a new conversation; for a longer one, raise the context on the Plan page.",
        "对话已超出上下文长度。下一个问题将开始新的对话；若需要更长的对话，请在方案页加大上下文。",
    ),
    "problem.exported": ("Saved to {path}.", "已保存到 {path}。"),
    "problem.export_failed": (
        "{path} could not be written ({why}). Choose another folder.",
        "无法写入 {path}（{why}）。请换一个文件夹。",
    ),
    "problem.internal_error": (
        "Lanewise made a mistake of its own ({kind}). Nothing was changed; the log has the details.",
        "Lanewise 内部出错（{kind}）。没有改动任何内容，详情见日志。",
    ),
}
