"""Texts of the models on this computer, of suggestions and of downloads from a hub. Each entry: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_SOURCES: Entries = {
    "library.source.folder": ("your folder", "自选文件夹"),
    "library.source.lanewise": ("Lanewise", "Lanewise"),
    "library.source.lm_studio": ("LM Studio", "LM Studio"),
    "library.source.hugging_face": ("Hugging Face", "Hugging Face"),
    "library.source.ollama": ("Ollama", "Ollama"),
    "library.source.modelscope": ("ModelScope", "魔搭 ModelScope"),
    "library.source.llama_cpp": ("llama.cpp", "llama.cpp"),
    "library.role.model": ("model", "模型"),
    "library.role.projector": (
        "projector (pictures, sound), goes with a model",
        "投影文件（图像、音频），配合模型使用",
    ),
    "library.role.adapter": ("LoRA adapter, goes with a model", "LoRA 适配器，配合模型使用"),
    "library.role.vocab": ("vocabulary only", "仅词表"),
    "library.role.imatrix": ("importance matrix, for quantising", "重要性矩阵，量化时使用"),
    "library.role.control_vector": ("control vector, goes with a model", "控制向量，配合模型使用"),
    "library.role.other": ("no language model", "不是语言模型"),
    "library.role.unfinished": ("half a download", "未下载完"),
    "library.role.unreadable": ("cannot be read", "无法读取"),
}

_VERDICTS: Entries = {
    "library.verdict.gpu": ("Fits on the GPU", "可全部放入显存"),
    "library.verdict.experts_in_ram": (
        "Fits, {n:count expert layer|expert layers} of {total} in RAM",
        "放得下，{total} 层专家中 {n} 层放内存",
    ),
    "library.verdict.layers_in_ram": (
        "Fits, {n:count layer|layers} of {total} in RAM",
        "放得下，{total} 层中 {n} 层放内存",
    ),
    "library.verdict.ram": ("Runs in RAM only", "只能在内存中运行"),
    "library.verdict.too_big": (
        "Too big: {missing:size} of memory missing, it would read from disk for every token",
        "太大：内存差 {missing:size}，每个 token 都要读硬盘",
    ),
    "library.verdict.no": ("Does not run: {missing:size} of memory missing", "无法运行：内存差 {missing:size}"),
    "library.verdict.unknown": ("Not known: the free memory of a device is unknown", "未知：有设备的空闲内存未知"),
    "library.verdict.waiting": ("…", "…"),
    "library.speed": ("about {tps:num} tok/s", "约 {tps:num} tok/s"),
    "library.size_class": ("{total:num}B", "{total:num}B"),
    "library.size_class_moe": ("{total:num}B, {active:num}B active", "{total:num}B，激活 {active:num}B"),
}

_PROBLEMS: Entries = {
    "problem.library_folder_missing": (
        "{folder} is not there (a drive that is not connected, or a folder that was moved). Connect it, or remove it from the list.",
        "{folder} 不存在（驱动器未连接，或文件夹已移走）。请连接它，或将其从列表中移除。",
    ),
    "problem.library_folder_unread": (
        "{folder} could not be looked into ({why}); what lies in it is not listed. Give yourself the right to read it.",
        "无法读取 {folder}（{why}），其中的文件未列出。请为自己添加读取权限。",
    ),
    "problem.library_too_many": (
        "{folder} holds too much to look through; the search stopped after {entries:count name|names}. Choose the folder below it that holds models.",
        "{folder} 内容太多，查找到 {entries:num} 个条目后已停止。请改选其中存放模型的子文件夹。",
    ),
    "problem.library_place_silent": (
        "{folder} has not answered for {seconds} seconds (a network drive that went away?); it was left out. Scan again when it is back.",
        "{folder} 已 {seconds} 秒没有响应（网络驱动器断开？），已跳过。恢复后请重新扫描。",
    ),
    "problem.library_unfinished": (
        "{path} is half a download of another program. Finish it there, or download the model again.",
        "{path} 是其他程序未下载完的文件。请在那个程序里继续下载，或重新下载该模型。",
    ),
    "problem.library_link_broken": (
        "{path} is a link to a file that is gone. Download the model again in the program that made it.",
        "{path} 是一个链接，但所指的文件已不存在。请在创建它的程序里重新下载该模型。",
    ),
    "problem.library_blob_missing": (
        "Ollama lists {name}, but its file {path} is gone. Run “ollama pull {name}” again.",
        "Ollama 列出了 {name}，但它的文件 {path} 已不存在。请重新运行 ollama pull {name}。",
    ),
    "problem.library_blob_unnamed": (
        "No manifest of Ollama names this file: it was left over, or its manifest is gone. It can be opened all the same.",
        "没有任何 Ollama 清单指向此文件：它是残留文件，或清单已丢失。仍然可以打开。",
    ),
    "problem.library_manifest_bad": (
        "Ollama's manifest {path} cannot be understood ({why}); its model is listed without a name.",
        "无法解析 Ollama 清单 {path}（{why}），其模型将以无名文件列出。",
    ),
    "problem.library_cancelled": ("The search was ended.", "已停止查找。"),
}

_VERB: Entries = {
    "cli.verb.models": (
        "lists the GGUF files of this computer (or of folders) with a verdict for this machine each",
        "列出本机（或指定文件夹）中的 GGUF 文件，并逐个给出能否在本机运行的结论",
    ),
    "cli.group.library": ("where to look", "查找位置"),
    "cli.help.folders": (
        "folders to look through; without any, the ones chosen in the window and those of LM Studio, Hugging Face, Ollama, "
        "ModelScope and llama.cpp (only ever read)",
        "要查找的文件夹；不给出则使用窗口中选定的文件夹，以及 LM Studio、Hugging Face、Ollama、ModelScope 和 llama.cpp 的文件夹（只读）",
    ),
    "cli.help.suggest": (
        "instead of files here: well-known MoE models of 14 to 35 B that suit this machine, before anything is downloaded",
        "不列文件，而是在下载之前推荐适合本机的 14–35B 知名 MoE 模型",
    ),
    "cli.models.head.name": ("NAME", "名称"),
    "cli.models.head.size": ("SIZE", "大小"),
    "cli.models.head.quant": ("QUANT", "量化"),
    "cli.models.head.verdict": ("VERDICT", "结论"),
    "cli.models.head.speed": ("SPEED", "速度"),
    "cli.models.head.source": ("WHERE", "来源"),
    "cli.models.none": (
        "No GGUF file was found. Name a folder, as in: lanewise models D:\\models",
        "没有找到 GGUF 文件。请指定文件夹，例如：lanewise models D:\\models",
    ),
    "cli.models.scanned": (
        "{files:count file|files} among {entries:count name|names}.",
        "共查找 {entries:num} 个条目，找到 {files:num} 个文件。",
    ),
}

ENTRIES: Entries = {**_SOURCES, **_VERDICTS, **_PROBLEMS, **_VERB}
