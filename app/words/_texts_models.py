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
    "library.first.experts_in_ram": (
        "Fits, at most {n:count expert layer|expert layers} of {total} in RAM",
        "放得下，{total} 层专家中至多 {n} 层放内存",
    ),
    "library.first.layers_in_ram": (
        "Fits, at most {n:count layer|layers} of {total} in RAM",
        "放得下，{total} 层中至多 {n} 层放内存",
    ),
    "library.first.too_big": (
        "Too big: at least {missing:size} of memory missing",
        "太大：内存至少差 {missing:size}",
    ),
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
}

_VERB: Entries = {
    "cli.verb.models": (
        "The GGUF files of this computer (or of folders), each with a verdict for this machine.",
        "列出本机（或指定文件夹）中的 GGUF 文件，并逐个给出能否在本机运行的结论。",
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
        "Fetch a model from Hugging Face, ModelScope or a direct link; the verdict comes before the download.",
        "从 Hugging Face、魔搭或直接链接下载模型；下载前先给出结论。",
    ),
    "cli.group.download": ("the download", "下载"),
    "cli.help.link": (
        "address of a repository or a file, OWNER/NAME, or OWNER/NAME:Q4_K_M",
        "仓库或文件的地址、所有者/名称，或 所有者/名称:Q4_K_M",
    ),
    "cli.help.list": ("only lists the files with a verdict each", "只列出文件和各自的结论"),
    "cli.help.pick": ("which file, as the list names it", "选择哪个文件（列表中的名称）"),
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

_PAGE: Entries = {
    "page.models": ("Models", "模型"),
    "models.table": ("Model files", "模型文件"),
    "models.column.name": ("Name", "名称"),
    "models.column.size": ("Size", "大小"),
    "models.column.quant": ("Quant", "量化"),
    "models.column.params": ("Parameters", "参数量"),
    "models.column.verdict": ("On this machine", "在本机上"),
    "models.column.speed": ("Speed", "速度"),
    "models.column.source": ("Where", "来源"),
    "models.too_big": ("Too big, {missing:size} missing", "太大，内存差 {missing:size}"),
    "models.filter": ("Filter: name, quant, folder…", "筛选：名称、量化、文件夹…"),
    "models.shown": ("Which files", "显示哪些文件"),
    "models.shown.running": ("That run here", "能在本机运行的"),
    "models.shown.models": ("All models", "所有模型"),
    "models.shown.all": ("All GGUF files", "所有 GGUF 文件"),
    "models.scan": ("Look again", "重新查找"),
    "models.stop": ("Stop looking", "停止查找"),
    "models.scanning": ("Looking for models", "正在查找模型"),
    "models.download": ("Download…", "下载…"),
    "models.count": (
        "{models:count model|models}, {running} of them run here",
        "{models} 个模型，其中 {running} 个能在本机运行",
    ),
    "models.none": ("No model in the folders that Lanewise knows", "Lanewise 所知的文件夹中还没有模型"),
    "models.none_but_open": (
        "{name} was opened from {folder}, where Lanewise does not look. Add that folder, and its models are listed here "
        "with a verdict.",
        "{name} 是从 {folder} 打开的，Lanewise 尚未在那里查找。添加该文件夹后，其中的模型会带着结论列在这里。",
    ),
    "models.add_that_folder": ("Add that folder", "添加该文件夹"),
    "models.none_note": (
        "Nothing was found in the folders of LM Studio, Hugging Face, Ollama and ModelScope. Add the folder where your GGUF "
        "files lie, or get one of the models on the right.",
        "在 LM Studio、Hugging Face、Ollama 和魔搭的文件夹中都没有找到模型。请添加存放 GGUF 文件的文件夹，或从右侧下载一个推荐模型。",
    ),
    "models.open": ("Open", "打开"),
    "models.show_folder": ("Show in folder", "打开所在文件夹"),
    "models.beside": ("{n:count file|files} beside it (projector, LoRA)", "旁边有 {n} 个附加文件（投影、LoRA）"),
    "models.suggestions": ("What this machine could run", "本机能跑哪些模型"),
    "models.suggestions_note": (
        "Planned before any download: the most bits that run well, the largest first.",
        "下载之前就做好规划：选能流畅运行的最高精度，大的在前。",
    ),
    "models.suggesting": ("Planning the well-known models for this machine…", "正在为本机规划知名模型…"),
    "models.example": ("A 16B MoE on this machine?", "这台电脑能跑 16B 的 MoE 吗？"),
    "models.get": ("Get…", "下载…"),
    "models.get_name": ("Get {name} {quant}", "下载 {name} {quant}"),
    "models.places": ("Folders", "查找的文件夹"),
    "models.add_folder": ("Add a folder…", "添加文件夹…"),
    "models.remove_folder": ("Do not look in {folder} any more", "不再查找 {folder}"),
    "models.read_only": (
        "Files stay where they are; other programs' folders are only read.",
        "文件都留在原处；其他程序的文件夹只读取，不改动。",
    ),
    "get_model.title": ("Get a model", "下载模型"),
    "get_model.link": ("Link", "链接"),
    "get_model.link_hint": (
        "Page or file on Hugging Face or ModelScope, or OWNER/NAME",
        "Hugging Face 或魔搭的页面或文件地址，或 所有者/名称",
    ),
    "get_model.look": ("Show files", "查看文件"),
    "get_model.mirror": ("Mirror", "镜像"),
    "get_model.mirror_hint": ("instead of huggingface.co (optional)", "代替 huggingface.co（可选）"),
    "get_model.intro": (
        "Paste a link. The files are listed with a verdict for this machine; nothing is downloaded before you choose. No account "
        "is needed.",
        "粘贴链接后会列出文件，并给出能否在本机运行的结论；选择之前不会下载任何东西。无需账号。",
    ),
    "get_model.files": ("Files", "文件"),
    "get_model.nothing": ("No list yet.", "还没有列表。"),
    "get_model.listing": ("Asking for the list of files…", "正在获取文件列表…"),
    "get_model.judging": ("Reading one header for the verdicts…", "正在读取文件头以得出结论…"),
    "get_model.projector": ("the projector too (pictures, sound)", "同时下载投影文件（图像、音频）"),
    "get_model.space": (
        "Needs {needed:size}, {free:size} free in {folder}",
        "需要 {needed:size}，{folder} 剩余 {free:size}",
    ),
    "get_model.no_space": (
        "Not enough room: needs {needed:size}, {free:size} free in {folder}",
        "空间不足：需要 {needed:size}，{folder} 只剩 {free:size}",
    ),
    "get_model.folder": ("Folder…", "文件夹…"),
    "get_model.go": ("Download", "下载"),
    "get_model.cancel": ("Cancel", "取消"),
    "get_model.open": ("Open", "打开"),
    "get_model.done": ("{path} is there, {check}.", "{path} 已下载，{check}。"),
    "get_model.basis": ("verdict {basis}", "结论{basis}"),
}

_FIRST_RUN: Entries = {
    "first_run.title": ("First steps", "首次使用"),
    "first_run.headline": ("From nothing to a first answer", "从零开始，得到第一个回答"),
    "first_run.note": (
        "You can close this at any time; the next start goes on here.",
        "可以随时关闭，下次启动会从这里继续。",
    ),
    "first_run.skip": ("Skip this step", "跳过这一步"),
    "first_run.leave": ("I need no guide", "不需要引导"),
    "first_run.close": ("Done", "完成"),
    "first_run.engine": ("Engine", "引擎"),
    "first_run.model": ("Model", "模型"),
    "first_run.plan": ("Plan", "方案"),
    "first_run.chat": ("Chat", "对话"),
    "first_run.engine.title": ("Get llama.cpp, the engine", "获取引擎 llama.cpp"),
    "first_run.engine.text": (
        "Lanewise plans and steers; the model itself runs in llama.cpp, a free program. Lanewise picks the official package for "
        "your graphics card, checks it and tries it before it is used.",
        "Lanewise 负责规划和控制，模型本身由免费程序 llama.cpp 运行。Lanewise 会为这台电脑的显卡挑选官方安装包，校验并试运行后再使用。",
    ),
    "first_run.engine.find": ("Find the right package", "查找合适的安装包"),
    "first_run.engine.get": ("Download {size:size}", "下载 {size:size}"),
    "first_run.engine.more": ("Mirror, other packages, an archive of my own…", "镜像、其他安装包、自己下载的压缩包…"),
    "first_run.model.title": ("Choose a model", "选择模型"),
    "first_run.model.text": (
        "Each one is planned for this machine before anything is downloaded. Speeds are estimates until a launch has measured them.",
        "下载之前已为本机逐个规划。速度为估计值，启动一次后会用实测值替代。",
    ),
    "first_run.model.here": ("Already on this computer", "这台电脑上已有的"),
    "first_run.model.none": (
        "None of the well-known models runs well here. A smaller one may: use a link, or a file of your own.",
        "知名模型在本机都跑不流畅。可以用链接或自己的文件换一个更小的模型。",
    ),
    "first_run.model.open": ("Open", "打开"),
    "first_run.model.get": ("Show its files…", "查看文件并下载…"),
    "first_run.model.own": ("A file of my own…", "使用自己的文件…"),
    "first_run.model.link": ("A link…", "粘贴链接…"),
    "first_run.model.demo": ("Only try it: tiny demo model", "先试试：微型演示模型"),
    "first_run.plan.title": ("The plan is made", "方案已就绪"),
    "first_run.plan.text": (
        "Lanewise has put the model's parts into VRAM and RAM so that they fit. You can change everything on the Plan page later.",
        "Lanewise 已把模型的各部分放进显存和内存，保证放得下。以后可以在“方案”页随意调整。",
    ),
    "first_run.plan.model": ("Model: {name}", "模型：{name}"),
    "first_run.plan.launch": ("Launch", "启动"),
    "first_run.plan.starting": ("The engine is loading the model…", "引擎正在载入模型…"),
    "first_run.chat.title": ("Ask something", "问一个问题"),
    "first_run.chat.text": (
        "The server runs on this computer only. The Run page has the whole chat, the speeds and the address for other programs.",
        "服务只在这台电脑上运行。“运行”页有完整对话、速度曲线，以及供其他程序使用的地址。",
    ),
    "first_run.chat.question": (
        "Explain in three sentences what a Mixture-of-Experts model is.",
        "请用三句话解释什么是混合专家（MoE）模型。",
    ),
    "first_run.chat.answer": ("Answer", "回答"),
    "first_run.chat.ask": ("Ask", "提问"),
    "first_run.chat.speed": ("{tps:num} tok/s", "{tps:num} tok/s"),
}

ENTRIES: Entries = {**_FIRST_RUN, **_PAGE, **_HUB, **_SOURCES, **_VERDICTS, **_PROBLEMS, **_VERB}
