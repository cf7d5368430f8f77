"""Texts of what the doctor reads in logs: drivers, files, companions, requests. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_GPU: Entries = {
    "problem.gpu_driver_too_old": (
        "The graphics driver is older than what this llama-server was built with ({why}). "
        "Update the driver, or use a build for an earlier CUDA version.",
        "显卡驱动比该 llama-server 编译时使用的版本旧（{why}）。请更新驱动，或使用面向较早 CUDA 版本的构建。",
    ),
    "problem.gpu_driver_missing": (
        "No driver was found that this llama-server can use a graphics card with ({why}). "
        "Install the driver of the card's maker, or use a CPU build.",
        "没有找到该 llama-server 可用的显卡驱动（{why}）。请安装显卡厂商的驱动，或使用 CPU 版本。",
    ),
    "problem.gpu_not_supported": (
        "This build has no code for this graphics card ({why}). "
        "Use the Vulkan package, which nearly every card runs, or a build made for this card.",
        "该版本不包含适用于这块显卡的代码（{why}）。请使用几乎所有显卡都能运行的 Vulkan 版本，或为该显卡编译的版本。",
    ),
    "problem.gpu_lost": (
        "The graphics card stopped answering or was reset ({why}). Use a smaller micro-batch (-ub), undo overclocking, "
        "look at power and temperature, and update the driver.",
        "显卡停止响应或被重置（{why}）。请减小微批次（-ub）、取消超频，检查供电与温度，并更新驱动。",
    ),
    "problem.gpu_memory_faulty": (
        "The graphics card reports a memory error that it cannot correct ({why}). "
        "Restart the computer; if it comes back, the card is faulty.",
        "显卡报告了无法纠正的显存错误（{why}）。请重启电脑；如果再次出现，说明显卡有故障。",
    ),
    "problem.gpu_runtime_missing": (
        "The container gets no graphics card ({why}). Install the NVIDIA Container Toolkit on the host, "
        "and start the container with --gpus all.",
        "容器无法使用显卡（{why}）。请在主机上安装 NVIDIA Container Toolkit，并以 --gpus all 启动容器。",
    ),
    "problem.engine_backends_missing": (
        "llama-server finds none of the libraries that do the computing ({why}). "
        "Unpack the whole package into one folder and start it there.",
        "llama-server 找不到负责计算的库（{why}）。请把整个压缩包解压到同一文件夹，并从那里启动。",
    ),
    "problem.backend_other_build": (
        "The library {path} belongs to another build and is not used ({why}). Unpack the whole build into an empty folder.",
        "库 {path} 属于其他版本，未被使用（{why}）。请把整个版本解压到一个空文件夹。",
    ),
    "problem.split_mode_unsupported": (
        "The model cannot be split this way over the cards ({why}). Split it by layers (-sm layer).",
        "无法以这种方式把模型拆分到多块显卡（{why}）。请按层拆分（-sm layer）。",
    ),
    "problem.gpu_memory_unknown": (
        "The driver does not tell how much memory the graphics card has ({why}), so nothing can be fitted to it. "
        "Update the driver, or use the Vulkan package.",
        "驱动没有报告显卡的显存大小（{why}），因此无法据此安排。请更新驱动，或使用 Vulkan 版本。",
    ),
    "problem.nothing_on_gpu": (
        "The engine found {gpu}, but no layer of the model was put on it. Give the layers to the card (-ngl 99), "
        "and keep the experts in RAM where they do not fit.",
        "引擎找到了 {gpu}，但没有把模型的任何层放到上面。请把各层交给显卡（-ngl 99），放不下的专家留在内存中。",
    ),
    "problem.threads_beyond_cpus": (
        "{threads:count thread|threads} run on {cpus:count CPU|CPUs}, so they wait for each other. "
        "Use one for each physical core at most.",
        "{threads} 个线程运行在 {cpus} 个 CPU 上，会互相等待。最多每个物理核心使用一个线程。",
    ),
}

_FILES: Entries = {
    "problem.file_corrupt": (
        "The model file is damaged (tensor {tensor}): it holds data that cannot be right. Download the file again and check its SHA-256.",
        "模型文件已损坏（张量 {tensor}）：其中的数据不可能正确。请重新下载该文件并核对其 SHA-256。",
    ),
    "problem.model_read_failed": (
        "The model file could not be read ({why}). Copy it to another disk, and look after the disk it is on.",
        "无法读取模型文件（{why}）。请把它复制到其他磁盘，并检查它所在的磁盘。",
    ),
    "problem.file_too_old": (
        "The model file is in a format that llama.cpp no longer reads ({why}). Download a newer conversion of the model.",
        "模型文件的格式已不被 llama.cpp 支持（{why}）。请下载该模型的新版转换文件。",
    ),
    "problem.file_other_byte_order": (
        "The model file was written for computers with the other byte order ({why}). Download the usual version of it.",
        "模型文件是为字节序不同的计算机生成的（{why}）。请下载通用版本。",
    ),
    "problem.wrong_shape": (
        "The tensor {tensor} has another shape than this llama-server expects ({why}). "
        "Use the build that the model's page names, or a newer conversion.",
        "张量 {tensor} 的形状与该 llama-server 预期的不同（{why}）。请使用模型页面指定的版本，或换用新版转换文件。",
    ),
    "problem.mmap_refused": (
        "This file system or sandbox does not let the model file be mapped ({why}). Read it instead: -lm none "
        "(--no-mmap in older builds).",
        "该文件系统或沙箱不允许映射模型文件（{why}）。请改为直接读入：-lm none（旧版本为 --no-mmap）。",
    ),
    "problem.mmproj_mismatch": (
        "The projector file (mmproj) belongs to another model ({why}). Take the one from this model's own page.",
        "投影文件（mmproj）属于其他模型（{why}）。请使用该模型页面提供的投影文件。",
    ),
    "problem.mmproj_unknown": (
        "This llama-server cannot use the projector file (mmproj): {why}. "
        "Use a newer build, or make sure that the file is a projector.",
        "该 llama-server 无法使用此投影文件（mmproj）：{why}。请使用更新的版本，或确认该文件确实是投影文件。",
    ),
    "problem.draft_alone": (
        "This file is a draft model and cannot run by itself ({why}). "
        "Choose the main model, and give this file as its draft (--model-draft).",
        "该文件是草稿模型，无法单独运行（{why}）。请选择主模型，并把该文件作为草稿模型（--model-draft）。",
    ),
    "problem.draft_mismatch": (
        "The draft model does not go with this model ({why}). "
        "Take a draft of the same family with the same vocabulary, or leave it out.",
        "草稿模型与该模型不匹配（{why}）。请使用同一系列、词表相同的草稿模型，或不使用草稿模型。",
    ),
    "problem.lora_mismatch": (
        "The LoRA adapter was made for another model ({why}). Take one for exactly this model, or leave it out.",
        "LoRA 适配器是为其他模型制作的（{why}）。请使用专为该模型制作的适配器，或不使用它。",
    ),
    "problem.adapter_as_model": (
        "This file is an adapter (LoRA) and no model. Choose the model itself, and give the adapter with --lora.",
        "该文件是适配器（LoRA），不是模型。请选择模型本身，并用 --lora 指定适配器。",
    ),
    "problem.cache_type_unfit": (
        "These cache types do not go with this model ({why}). Use f16 for K and V, or the same type for both.",
        "这些缓存类型不适用于该模型（{why}）。请让 K 和 V 都使用 f16，或使用相同的类型。",
    ),
    "problem.download_unsupported": (
        "This llama-server was built without what downloads need ({why}). "
        "Download the model with Lanewise or a browser, and give the file with -m.",
        "该 llama-server 编译时未包含下载所需的组件（{why}）。请用 Lanewise 或浏览器下载模型，并用 -m 指定文件。",
    ),
    "problem.download_failed": (
        "The engine could not download the model ({why}). Check the name and the connection, or download the file yourself.",
        "引擎无法下载模型（{why}）。请检查名称和网络连接，或自行下载该文件。",
    ),
    "problem.disk_full": (
        "The disk is full ({why}). Free some space, or choose another disk.",
        "磁盘已满（{why}）。请释放空间，或换一个磁盘。",
    ),
}

_PROGRAM: Entries = {
    "problem.chat_template_bad": (
        "The chat template cannot be used ({why}). Choose another one (--chat-template, --chat-template-file), "
        "or take a newer conversion of the model.",
        "聊天模板无法使用（{why}）。请换一个模板（--chat-template、--chat-template-file），或换用该模型的新版转换文件。",
    ),
    "problem.ssl_not_built": (
        "This llama-server was built without TLS. Leave out the certificate options, or use a build with OpenSSL.",
        "该 llama-server 编译时未包含 TLS。请去掉证书参数，或使用带 OpenSSL 的版本。",
    ),
    "problem.tls_files_bad": (
        "The server could not start to listen with TLS on port {port}: its certificate or key cannot be used, or the port "
        "is taken. Check both files (--ssl-cert-file, --ssl-key-file), or do without TLS.",
        "服务器无法在端口 {port} 上以 TLS 监听：证书或密钥不可用，或端口已被占用。请检查这两个文件（--ssl-cert-file、--ssl-key-file），或不使用 TLS。",
    ),
    "doctor.detail.host_maybe": (
        "If no program listens there, {host} is not an address of this computer: use 127.0.0.1 or 0.0.0.0.",
        "如果没有程序在监听，则 {host} 不是这台电脑的地址：请使用 127.0.0.1 或 0.0.0.0。",
    ),
    "problem.rpc_version": (
        "llama-server and the RPC server are of different versions ({why}). Use the same build on both computers.",
        "llama-server 与 RPC 服务器的版本不同（{why}）。请在两台电脑上使用同一版本。",
    ),
    "problem.numbers_broken": (
        "The engine computed values that are no numbers ({why}). Use another build or file, "
        "try without flash attention, and undo overclocking.",
        "引擎算出了无效数值（{why}）。请更换版本或模型文件，关闭 Flash Attention 再试，并取消超频。",
    ),
    "problem.load_timeout": (
        "The program around the engine gave up waiting while the model was loading. "
        "Allow more time there, and put the model on a faster disk.",
        "外层程序在模型加载期间等待超时。请在其中延长等待时间，并把模型放到更快的磁盘上。",
    ),
    "problem.log_no_cause": (
        "Nothing in the log is a failure that Lanewise knows. The lines below look most like trouble, if there was any.",
        "日志中没有 Lanewise 认识的故障。如果确实出了问题，下面几行最像原因。",
    ),
    "problem.router_model_failed": (
        "The router could not load {name}. The lines of that model in the log say why; correct its settings, then ask again.",
        "路由模式的服务器无法加载 {name}。日志中该模型的输出说明了原因；请更正其设置后重试。",
    ),
}

_REQUESTS: Entries = {
    "problem.chat_template_request": (
        "The model's chat template refused a request ({why}). Send the messages in the order it expects, "
        "or use another template (--chat-template-file).",
        "模型的聊天模板拒绝了请求（{why}）。请按模板要求的顺序发送消息，或换用其他模板（--chat-template-file）。",
    ),
    "problem.tools_need_jinja": (
        "A request used tools, which this llama-server only allows with --jinja. Add that option.",
        "请求使用了工具，而该 llama-server 只有在使用 --jinja 时才支持。请添加该参数。",
    ),
    "problem.tool_call_unread": (
        "The model wrote a tool call that the engine could not read ({why}). "
        "Allow more tokens, use a newer build, or a template made for tools.",
        "引擎无法解析模型写出的工具调用（{why}）。请允许更多 token、使用更新的版本，或使用支持工具的模板。",
    ),
    "problem.grammar_bad": (
        "The grammar or JSON schema of a request could not be used ({why}). Make it simpler, or use a newer build.",
        "请求中的语法或 JSON schema 无法使用（{why}）。请简化它，或使用更新的版本。",
    ),
    "problem.request_refused": (
        "The server refused a request: {why}. The program that sent it has to ask otherwise.",
        "服务器拒绝了一个请求：{why}。发送该请求的程序需要修改请求内容。",
    ),
    "problem.media_unsupported": (
        "A request had a picture or sound, and no projector is loaded ({why}). Give the model's mmproj file (--mmproj).",
        "请求中含有图片或声音，但没有加载投影文件（{why}）。请用 --mmproj 指定该模型的投影文件。",
    ),
    "problem.api_key_refused": (
        "{n:count request|requests} came with a wrong API key or none. Copy the key from the Run page into that program.",
        "有 {n} 个请求使用了错误的 API 密钥，或没有提供密钥。请把“运行”页的密钥复制到该程序中。",
    ),
    "problem.prompt_cache_too_small": (
        "A conversation of {n_bytes:size} does not fit the prompt cache of {limit:size}, so it is read anew when it is "
        "taken up again. Allow a larger cache (-cram), or a shorter context.",
        "大小为 {n_bytes:size} 的对话放不进 {limit:size} 的提示缓存，再次继续时需要重新读入。请增大缓存（-cram），或缩短上下文。",
    ),
    "problem.prompt_reread": (
        "The engine reads whole conversations anew, because this model's cache cannot go back. "
        "More context checkpoints (-ctxcp) or --swa-full avoid it, at the price of memory.",
        "引擎会重新读入整个对话，因为该模型的缓存无法回退。增加上下文检查点（-ctxcp）或使用 --swa-full 可以避免，但会占用更多内存。",
    ),
}

_CHECKS: Entries = {
    "doctor.check.driver": (
        "nvidia-smi shows the driver and the newest CUDA version that it runs.",
        "nvidia-smi 会显示驱动版本及其支持的最高 CUDA 版本。",
    ),
    "doctor.check.gpu_events": (
        "dmesg (Linux) and the Event Viewer (Windows) name resets and errors of the card.",
        "dmesg（Linux）和事件查看器（Windows）会记录显卡的重置与错误。",
    ),
    "doctor.check.disk": (
        "Copying the file shows whether the disk can read all of it; the system's log names bad blocks.",
        "复制该文件即可看出磁盘能否完整读取；系统日志会记录坏块。",
    ),
}

_FIXES: Entries = {
    "fix.no_mmproj": ("Leave the projector out", "不使用投影文件"),
    "fix.no_draft": ("Leave the draft model out", "不使用草稿模型"),
    "fix.no_lora": ("Leave the adapter out", "不使用适配器"),
    "fix.extra_added": ("Add {put}", "添加 {put}"),
}

ENTRIES: Entries = {**_GPU, **_FILES, **_PROGRAM, **_REQUESTS, **_CHECKS, **_FIXES}
