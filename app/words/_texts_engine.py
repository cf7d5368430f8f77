"""Texts of the engine: finding, building, launching, exit reasons. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_STATES: Entries = {
    "engine.state.stopped": ("Not running", "未运行"),
    "engine.state.starting": ("Loading the model…", "正在加载模型…"),
    "engine.state.ready": ("Ready", "就绪"),
    "engine.state.busy": ("Generating", "正在生成"),
    "engine.state.stopping": ("Stopping…", "正在停止…"),
    "engine.state.exited": ("Stopped", "已停止"),
    "engine.state.failed": ("Failed", "启动失败"),
    "engine.load_progress": ("{read_bytes:size} read", "已读取 {read_bytes:size}"),
}

_BUILD: Entries = {
    "engine.build.waiting": (
        "Another Lanewise is building llama.cpp; waiting for it.",
        "另一个 Lanewise 正在编译 llama.cpp，正在等待它完成。",
    ),
    "engine.build.downloading": ("Downloading the llama.cpp source…", "正在下载 llama.cpp 源码…"),
    "engine.build.preparing": ("Preparing the build…", "正在准备编译…"),
    "engine.build.compiling": ("Compiling llama.cpp: {percent} %", "正在编译 llama.cpp：{percent} %"),
    "engine.build.installing": ("Installing llama-server…", "正在安装 llama-server…"),
    "engine.build.done": ("llama-server is ready: {path}", "llama-server 已就绪：{path}"),
    "engine.build.time": (
        "This is done once and takes about {minutes:count minute|minutes} on this computer.",
        "只需进行一次，在这台电脑上大约需要 {minutes} 分钟。",
    ),
}

_FINDING: Entries = {
    "problem.engine_missing": (
        "There is no llama-server on this computer yet, so flags are those of build b11434. "
        "Get one, choose one or let Lanewise build one: all three are in Settings.",
        "这台电脑上还没有 llama-server，参数以 b11434 版本为准。请在“设置”中获取、选择，或让 Lanewise 编译一个。",
    ),
    "problem.engine_not_found": (
        "There is no llama-server at {path}. Choose the program itself or the folder that holds it.",
        "在 {path} 找不到 llama-server。请选择该程序本身或它所在的文件夹。",
    ),
    "problem.engine_broken": (
        "{path} does not work as a llama-server ({why}). Choose another one, or unpack or build it again.",
        "{path} 无法作为 llama-server 使用（{why}）。请换一个，或重新解压、重新编译。",
    ),
    "problem.engine_home_failed": (
        "The engine's settings folder {path} cannot be made ({why}). Free some space or fix the folder's permissions.",
        "无法创建引擎的配置文件夹 {path}（{why}）。请释放磁盘空间或修正该文件夹的权限。",
    ),
    "problem.engine_no_compiler": (
        "llama.cpp cannot be built here: {missing} is missing. Install it with: {command}",
        "无法在此编译 llama.cpp：缺少 {missing}。请用以下命令安装：{command}",
    ),
    "problem.engine_no_pip": (
        "llama.cpp cannot be built here: this Python has no pip. Install python3-venv, or choose a llama-server.",
        "无法在此编译 llama.cpp：这个 Python 没有 pip。请安装 python3-venv，或自行选择一个 llama-server。",
    ),
    "problem.engine_build_failed": (
        "Building llama.cpp failed ({why}). The last lines of the build say more; then try again.",
        "编译 llama.cpp 失败（{why}）。请查看编译输出的最后几行，然后重试。",
    ),
    "problem.engine_build_cancelled": (
        "The build of llama.cpp was cancelled. Start it again when you like.",
        "已取消编译 llama.cpp。需要时可以重新开始。",
    ),
    "problem.engine_package_bad": (
        "The built package {path} is not usable ({why}). Delete it and build again.",
        "编译得到的安装包 {path} 不可用（{why}）。请删除它并重新编译。",
    ),
}

_STARTING: Entries = {
    "problem.port_in_use": (
        "Port {port} on {host} is used by another program. Choose another port, or close that program.",
        "{host} 上的端口 {port} 已被其他程序占用。请更换端口，或关闭该程序。",
    ),
    "problem.port_forbidden": (
        "The system does not let a program listen on port {port} of {host}. Choose another port, above 1024.",
        "系统不允许程序监听 {host} 的端口 {port}。请换一个大于 1024 的端口。",
    ),
    "problem.host_unknown": (
        "{host} is not an address of this computer. Use 127.0.0.1, or 0.0.0.0 to be reachable from other machines.",
        "{host} 不是这台电脑的地址。请使用 127.0.0.1；若要让其他机器访问，请使用 0.0.0.0。",
    ),
    "problem.rpc_unreachable": (
        "Nobody answers at the RPC server {endpoint}. Start ggml-rpc-server there, or switch that device off.",
        "RPC 服务器 {endpoint} 没有响应。请在该处启动 ggml-rpc-server，或停用该设备。",
    ),
    "problem.rpc_not_answering": (
        "What runs at {endpoint} does not answer as an RPC server of this engine. Start ggml-rpc-server of the same "
        "build there, or switch that device off.",
        "{endpoint} 上的程序没有按该引擎的 RPC 协议应答。请在该处启动同一版本的 ggml-rpc-server，或停用该设备。",
    ),
    "problem.rpc_lost": (
        "The connection to an RPC server broke: it ended, or is another program or build. Start ggml-rpc-server of the "
        "same build there, then launch again.",
        "与 RPC 服务器的连接中断：它已退出，或者是其他程序、其他版本。请在该处启动同一版本的 ggml-rpc-server，然后重新启动。",
    ),
    "problem.rpc_server_missing": (
        "This engine has no ggml-rpc-server beside it. Choose an engine built with GGML_RPC=ON.",
        "该引擎旁边没有 ggml-rpc-server。请选择使用 GGML_RPC=ON 编译的引擎。",
    ),
    "problem.rpc_server_failed": (
        "ggml-rpc-server did not start ({why}). Its last lines say more; free some memory or try another engine.",
        "ggml-rpc-server 未能启动（{why}）。请查看其最后几行输出，释放一些内存或换一个引擎。",
    ),
    "problem.affinity_differs": (
        "The server runs on CPUs {got} instead of {wanted}. Choose CPUs that this system allows.",
        "服务器运行在 CPU {got} 上，而不是 {wanted}。请选择系统允许使用的 CPU。",
    ),
    "problem.efficiency_mode_on": (
        "Windows did not switch efficiency mode off for the server, so it may run on slow cores while you work in another "
        "window. In the Task Manager, right-click llama-server.exe and untick Efficiency mode.",
        "Windows 没有为服务器关闭效率模式，你使用其他窗口时它可能会被移到慢速核心上。请在任务管理器中右键 llama-server.exe，取消“效率模式”。",
    ),
    "problem.leftover_server": (
        "A llama-server of an earlier session still runs (pid {pid}) and holds memory. End it, or leave it alone.",
        "上次会话的 llama-server 仍在运行（进程 {pid}）并占用内存。可以结束它，也可以保留。",
    ),
    "problem.engine_probe_timeout": (
        "The engine did not finish the dry run in {seconds:count second|seconds}. Try again, or go on with estimates.",
        "引擎在 {seconds} 秒内没有完成试运行。请重试，或继续使用估算值。",
    ),
    "problem.engine_probe_unsupported": (
        "This llama-server cannot do a dry run (it lacks {flag}). Use a newer build to have figures checked.",
        "该 llama-server 不支持试运行（缺少 {flag}）。如需核对数值，请使用较新的版本。",
    ),
}

_COMMAND: Entries = {
    "problem.unknown_argument": (
        "This llama-server does not know {argument}. Remove it, or use a build that has it.",
        "该 llama-server 不认识参数 {argument}。请删除它，或使用支持它的版本。",
    ),
    "problem.bad_argument_value": (
        "llama-server refuses the value of {argument}: {why}. Correct it and start again.",
        "llama-server 不接受 {argument} 的值：{why}。请更正后重新启动。",
    ),
    "problem.unknown_buffer_type": (
        "An override names a device that the engine does not have. Use one of: {available}",
        "某条覆盖规则指定了引擎没有的设备。可用的名称：{available}",
    ),
    "problem.bad_regex": (
        "The engine cannot read the pattern of an override ({why}). Correct the pattern.",
        "引擎无法解析某条覆盖规则的匹配表达式（{why}）。请更正该表达式。",
    ),
    "problem.v_cache_needs_fa": (
        "A quantized V cache needs flash attention. Switch flash attention on, or use f16 for V.",
        "量化的 V 缓存需要 Flash Attention。请开启 Flash Attention，或让 V 使用 f16。",
    ),
    "problem.moe_cache_too_small": (
        "The expert cache cannot hold the experts of one token. Give it more MiB, or switch it off.",
        "专家缓存放不下一个 token 所用的专家。请增大缓存，或将其关闭。",
    ),
    "problem.mlock_failed": (
        "{n_bytes:size} could not be locked in RAM, so the system may swap them out; the server runs on. "
        "Raise the memory lock limit, or do without locking.",
        "有 {n_bytes:size} 未能锁定在内存中，系统可能将其换出；服务器仍在运行。请提高内存锁定上限，或不使用锁定。",
    ),
    "problem.fit_gave_up_context_reduced": (
        "The engine's own fitting gave up ({why}) and may have shortened the context. "
        "Give the context length and -fit off.",
        "引擎的自动适配已放弃（{why}），并可能缩短了上下文。请明确指定上下文长度并使用 -fit off。",
    ),
}

_MODEL: Entries = {
    "problem.unknown_arch": (
        "This llama-server does not know the architecture {architecture}. Use a newer build.",
        "该 llama-server 不支持架构 {architecture}。请使用更新的版本。",
    ),
    "problem.bad_magic": (
        "This file is not a GGUF model (it begins with {found}). Choose a .gguf file, or download it again.",
        "该文件不是 GGUF 模型（开头是 {found}）。请选择 .gguf 文件，或重新下载。",
    ),
    "problem.file_truncated": (
        "The model file ends too early: {tensor} lies behind its end. Download the file again.",
        "模型文件不完整：张量 {tensor} 超出了文件末尾。请重新下载该文件。",
    ),
    "problem.missing_tensor": (
        "The model file lacks the tensor {tensor} that the engine needs; it may be an old format. "
        "Download a newer conversion of the model.",
        "模型文件缺少引擎需要的张量 {tensor}，可能是旧格式。请下载该模型的新版转换文件。",
    ),
    "problem.split_part_missing": (
        "The part {path} of the split model is missing or damaged. Put all parts into one folder.",
        "分卷模型的文件 {path} 缺失或已损坏。请把所有分卷放在同一文件夹中。",
    ),
    "problem.model_load_failed": (
        "The engine could not load the model: {why}. Check the file, or use a newer build.",
        "引擎无法加载模型：{why}。请检查文件，或使用更新的版本。",
    ),
    "problem.context_failed": (
        "The engine could not set up the context: {why}. Try a shorter context or the default cache types.",
        "引擎无法建立上下文：{why}。请缩短上下文，或使用默认的缓存类型。",
    ),
}

_MEMORY: Entries = {
    "problem.weights_oom": (
        "There was not enough memory on {device} for the weights ({n_bytes:size} asked for). "
        "Move layers away from {device}, or close other programs.",
        "{device} 的内存不足以存放权重（需要 {n_bytes:size}）。请把一些层移出 {device}，或关闭其他程序。",
    ),
    "problem.kv_oom": (
        "There was not enough memory on {device} for the KV cache ({n_bytes:size} asked for). "
        "Shorten the context, or use a smaller cache type.",
        "{device} 的内存不足以存放 KV 缓存（需要 {n_bytes:size}）。请缩短上下文，或使用更小的缓存类型。",
    ),
    "problem.compute_oom": (
        "There was not enough memory on {device} for the compute buffer ({n_bytes:size} asked for). "
        "Lower -ub, shorten the context, or move layers away.",
        "{device} 的内存不足以存放计算缓冲区（需要 {n_bytes:size}）。请减小 -ub、缩短上下文，或移走一些层。",
    ),
    "problem.host_oom": (
        "The computer ran out of RAM ({n_bytes:size} asked for). Close other programs, or shorten the context.",
        "电脑内存不足（需要 {n_bytes:size}）。请关闭其他程序，或缩短上下文。",
    ),
    "problem.vram_oom_cuda": (
        "{device} ran out of VRAM ({n_bytes:size} asked for). Keep more expert layers in RAM, or shorten the context.",
        "{device} 显存不足（需要 {n_bytes:size}）。请让更多专家层留在内存中，或缩短上下文。",
    ),
    "problem.vram_oom_vulkan": (
        "{device} ran out of VRAM ({n_bytes:size} asked for). Keep more expert layers in RAM, or shorten the context.",
        "{device} 显存不足（需要 {n_bytes:size}）。请让更多专家层留在内存中，或缩短上下文。",
    ),
}

_ENDS: Entries = {
    "problem.engine_dll_missing": (
        "llama-server cannot start: a library is missing ({library}). "
        "Unpack the runtime archive that belongs to this build beside it.",
        "llama-server 无法启动：缺少运行库（{library}）。请把与该版本配套的运行库压缩包解压到同一文件夹。",
    ),
    "problem.engine_dll_wrong": (
        "llama-server cannot start: a library beside it does not belong to this build ({code}). "
        "Unpack the whole build into an empty folder.",
        "llama-server 无法启动：旁边的运行库与该版本不匹配（{code}）。请把整个版本解压到一个空文件夹。",
    ),
    "problem.engine_cpu_unsupported": (
        "This llama-server uses instructions that this processor lacks ({code}). Get a build for this processor: "
        "Settings, Get an engine.",
        "该 llama-server 使用了此处理器不支持的指令（{code}）。请在“设置”页点“获取引擎”，换成适合此处理器的版本。",
    ),
    "problem.engine_crashed": (
        "llama-server crashed ({code}). Try another build, or without flash attention; its last lines are in the log.",
        "llama-server 崩溃（{code}）。请换一个版本，或关闭 Flash Attention 再试；最后几行输出见日志。",
    ),
    "problem.engine_aborted": (
        "llama-server gave up on an internal check ({why}). Try another build; its last lines are in the log.",
        "llama-server 因内部检查失败而中止（{why}）。请换一个版本；最后几行输出见日志。",
    ),
    "problem.engine_killed": (
        "The system ended llama-server ({code}), most often because RAM ran out. "
        "Close other programs, or move less into RAM.",
        "系统结束了 llama-server（{code}），通常是因为内存不足。请关闭其他程序，或减少放入内存的内容。",
    ),
    "problem.engine_exited": (
        "llama-server ended by itself ({code}). Its last lines are in the log.",
        "llama-server 自行退出（{code}）。最后几行输出见日志。",
    ),
    "problem.gpu_error": (
        "The graphics driver reported an error: {why}. Update the driver, or use another build.",
        "显卡驱动报告错误：{why}。请更新驱动，或使用其他版本。",
    ),
}

_TALKING: Entries = {
    "problem.server_unreachable": (
        "The server at {url} does not answer ({why}). Check that it still runs.",
        "服务器 {url} 没有响应（{why}）。请检查它是否仍在运行。",
    ),
    "problem.server_refused": (
        "The server refused the request ({status}): {why}. Correct the request, or shorten it.",
        "服务器拒绝了请求（{status}）：{why}。请更正或缩短请求。",
    ),
    "problem.server_key_wrong": (
        "The server at {url} does not accept this API key. Copy the key from the run page.",
        "服务器 {url} 不接受此 API 密钥。请从“运行”页复制密钥。",
    ),
    "problem.server_reply_broken": (
        "The server at {url} sent something that is no valid answer ({why}). Check that it is a llama-server.",
        "服务器 {url} 返回了无效的内容（{why}）。请确认它是 llama-server。",
    ),
}

ENTRIES: Entries = {
    **_STATES,
    **_BUILD,
    **_FINDING,
    **_STARTING,
    **_COMMAND,
    **_MODEL,
    **_MEMORY,
    **_ENDS,
    **_TALKING,
}
