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

_HUB: Entries = {
    "problem.hub_link_none": (
        "“{text}” is no link. Paste the address of a model's page on Hugging Face or ModelScope, such as https://huggingface.co/OWNER/NAME.",
        "“{text}”不是链接。请粘贴 Hugging Face 或魔搭的模型页面地址，例如 https://www.modelscope.cn/models/所有者/名称。",
    ),
    "problem.hub_link_no_model": (
        "{address} is no model's page and no GGUF file. Open the model's page in a browser and copy its address.",
        "{address} 不是模型页面，也不是 GGUF 文件。请在浏览器中打开模型页面，再复制它的地址。",
    ),
    "problem.hub_repository_missing": (
        "{host} has no public repository {repository} ({revision}): the name is wrong, or it wants a login. Check the link in a browser; gated models must be fetched there.",
        "{host} 上没有公开的仓库 {repository}（{revision}）：名称有误，或需要登录。请在浏览器中检查链接；需申请的模型只能在那里下载。",
    ),
    "problem.hub_no_listing": (
        "{host} answered the question for the files of {repository} with something that is no list (a login page?). Log in to the network, or set another mirror.",
        "{host} 对 {repository} 的文件列表请求返回的不是列表（登录页面？）。请先登录网络，或换一个镜像。",
    ),
    "problem.hub_no_gguf": (
        "{repository} has {files:count file|files}, but none in GGUF format. Look for a repository whose name ends in GGUF.",
        "{repository} 有 {files:num} 个文件，但没有 GGUF 格式的。请查找名称以 GGUF 结尾的仓库。",
    ),
    "problem.hub_parts_missing": (
        "{name} is not whole in this repository: {missing:count part is|parts are} missing. Choose another file.",
        "该仓库中的 {name} 不完整：缺少 {missing:num} 个分卷。请选择其他文件。",
    ),
    "problem.hub_header_too_long": (
        "The header of {name} is longer than {size:size}, so there is no verdict before the download.",
        "{name} 的文件头超过 {size:size}，下载前无法给出结论。",
    ),
    "problem.hub_no_such_file": (
        "{repository} has no {wanted}. It has: {known}.",
        "{repository} 中没有 {wanted}。可选：{known}。",
    ),
    "hub.basis.header": ("from the file's own header", "根据文件头"),
    "hub.basis.scaled": ("from a sister file's header", "根据同仓库其他量化的文件头"),
    "hub.basis.size": ("by size alone", "仅根据大小"),
    "hub.basis.none": ("not known before the download", "下载前未知"),
    "hub.fits_by_size": ("Not too big, by its size", "按大小看不算太大"),
    "hub.set.projector": ("projector for pictures or sound", "投影文件（图像或音频）"),
    "hub.set.parts": ("{name} ({n:count part|parts})", "{name}（{n} 个分卷）"),
    "hub.checked": ("checked with the published SHA-256", "已用公布的 SHA-256 校验"),
    "hub.unchecked": ("the source publishes no SHA-256; the header is whole", "来源未公布 SHA-256；文件头完整"),
    "cli.verb.download": (
        "fetches a model from Hugging Face, ModelScope or a direct link; the verdict comes before the download",
        "从 Hugging Face、魔搭或直接链接下载模型；下载前先给出结论",
    ),
    "cli.group.download": ("the download", "下载"),
    "cli.help.link": (
        "address of a repository or a file, OWNER/NAME, or OWNER/NAME:Q4_K_M",
        "仓库或文件的地址、所有者/名称，或 所有者/名称:Q4_K_M",
    ),
    "cli.help.list": ("only lists the files with a verdict each", "只列出文件和各自的结论"),
    "cli.help.file": ("which file, as the list names it", "选择哪个文件（列表中的名称）"),
    "cli.help.quant": ("which quantisation, as in Q4_K_M", "选择哪种量化，例如 Q4_K_M"),
    "cli.help.with-projector": ("its projector too (pictures, sound)", "同时下载投影文件（图像、音频）"),
    "cli.help.into": ("folder to put it into", "保存到哪个文件夹"),
    "cli.download.head.file": ("FILE", "文件"),
    "cli.download.done": ("{path}: {size:size}, {check}.", "{path}：{size:size}，{check}。"),
    "problem.cli_link_missing": (
        "The link is missing. Example: lanewise download OWNER/NAME --quant Q4_K_M",
        "缺少链接。例如：lanewise download 所有者/名称 --quant Q4_K_M",
    ),
}

ENTRIES: Entries = {**_HUB, **_SOURCES, **_VERDICTS, **_PROBLEMS, **_VERB}
