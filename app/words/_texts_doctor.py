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

_FOUND: Entries = {
    "problem.unknown_failure": (
        "llama-server ended (code {code}), and Lanewise does not know why. The lines below look most like the reason; "
        "try a plan with less memory or another build, and send the report with your question.",
        "llama-server 已退出（代码 {code}），Lanewise 无法判断原因。下面几行最像原因；请尝试占用更少内存的方案或换一个版本，提问时附上报告。",
    ),
    "problem.log_ends_early": (
        "The log ends while the model was loading, and nothing in it says why. If the engine is gone, the system most "
        "likely ended it for want of memory; if it still runs, wait.",
        "日志在加载模型时中断，其中没有说明原因。如果引擎已退出，很可能是系统因内存不足将其结束；如果仍在运行，请等待。",
    ),
    "problem.log_empty": (
        "The log is empty. At -lv 1 the engine only writes errors, so there were none; else it wrote its log elsewhere.",
        "日志是空的。使用 -lv 1 时引擎只写错误，说明没有错误；否则它把日志写到了别处。",
    ),
    "problem.log_other_model": (
        "The log is of {model}, not of {open}, which is open: no change of this plan would cure it. "
        "Open {model} to get one that does.",
        "该日志属于 {model}，而当前打开的是 {open}：修改当前方案无法解决日志中的问题。请打开 {model}，以获得对应的修改建议。",
    ),
    "problem.log_other_run": (
        "The log asked for {n_bytes:size} on {device} at once; the open plan ({open}) has {planned:size} there in all. "
        "It is of another model or command: open that one to get a change that helps.",
        "日志中一次就在 {device} 上申请了 {n_bytes:size}，而当前方案（{open}）在其上总共只有 {planned:size}。该日志属于其他模型或命令：请打开相应的模型，以获得有效的修改建议。",
    ),
    "problem.log_cut": (
        "The log is very long: its beginning and end were read, {n_bytes:size} in the middle were not.",
        "日志过长：只读取了开头和结尾，中间的 {n_bytes:size} 未读取。",
    ),
    "problem.override_unmatched": (
        "An override finds no tensor: {example}. The engine says nothing about it and puts these tensors elsewhere. "
        "Correct the pattern to names that the file has, or drop it.",
        "有放置规则没有命中任何张量：{example}。引擎不会提示，并会把相应张量放到别处。请把表达式改为文件中真实存在的名称，或删除该规则。",
    ),
    "problem.placement_differs": (
        "On {device} the engine allocated {actual:size} for {what} where the plan had {planned:size}. "
        "Check the plan with the engine, or look for overrides from elsewhere.",
        "{device} 上的 {what} 实际分配 {actual:size}，方案为 {planned:size}。请用引擎核对方案，或检查其他来源的放置规则。",
    ),
    "problem.tensors_moved": (
        "{device} could not take {tensor} and {others:count other tensor|other tensors}, so the engine put them on "
        "{got}. Plan them there, or take a file in a type that this card computes.",
        "{device} 无法存放 {tensor} 及另外 {others} 个张量，引擎已将它们放到 {got}。请在方案中把它们放到那里，或换用该显卡支持的量化类型。",
    ),
    "problem.context_reduced": (
        "The context is {after:num} tokens instead of {before:num}: the engine's own fitting made it shorter. "
        "Switch fitting off (-fit off) and plan for the context that you need.",
        "上下文为 {after:num}，而不是 {before:num}：引擎的自动适配将其缩短。请关闭自动适配（-fit off），并按需要的上下文制定方案。",
    ),
    "problem.device_unused": (
        "The plan puts {n_bytes:size} on {device}, but the engine used only {used}. Use a build with that card's "
        "backend (and its runtime package), or choose another device.",
        "方案把 {n_bytes:size} 放在 {device}，但引擎只使用了 {used}。请使用带有该显卡后端（及其运行库）的版本，或选择其他设备。",
    ),
    "problem.wrong_device": (
        "The plan uses {device}, which shares the computer's RAM, although {better} is here. Switch {better} on.",
        "方案使用的是与系统共享内存的 {device}，而这台电脑上有 {better}。请启用 {better}。",
    ),
    "problem.repacked_twice": (
        "Weights in RAM exist twice: {mapped:size} mapped and {repacked:size} repacked need {total:size} where "
        "{free:size} are free. Read the file instead of mapping it (-lm none), else switch repacking off.",
        "内存中的权重有两份：映射 {mapped:size}，重排 {repacked:size}，共需 {total:size}，而可用只有 {free:size}。请改为直接读入（-lm none），否则关闭权重重排。",
    ),
    "problem.too_many_threads": (
        "{threads:count thread|threads} on {cores:count core|cores} get in each other's way. "
        "Use {recommended:count thread|threads}, one for each fast core.",
        "{threads} 个线程运行在 {cores} 个核心上，会互相争抢。请使用 {recommended} 个线程，每个大核一个。",
    ),
    "problem.too_few_threads": (
        "The engine used {threads:count thread|threads} where {recommended} fast cores are free for it. "
        "Use {recommended:count thread|threads}.",
        "引擎只用了 {threads} 个线程，而有 {recommended} 个大核可用。请使用 {recommended} 个线程。",
    ),
    "problem.prompt_cache_ram": (
        "The prompt cache holds {used:size} of RAM and may grow to {limit:size}. Give it less (-cram), or switch it off.",
        "提示缓存占用了 {used:size} 内存，最多可增至 {limit:size}。请减小（-cram）或将其关闭。",
    ),
    "problem.mlock_limit_low": (
        "{to_lock:size} are to be locked in RAM, but the system lets this user lock {limit:size}. "
        "Do without locking, or raise the memlock limit (ulimit -l).",
        "需要锁定 {to_lock:size} 内存，但系统只允许当前用户锁定 {limit:size}。请不使用锁定，或提高 memlock 上限（ulimit -l）。",
    ),
}

_MEASURED: Entries = {
    "problem.spill_windows": (
        "Windows has moved {n_bytes:size} of {device}'s memory into slow system RAM ({device} is {used_share} % full). "
        "Nothing fails, but speed drops several times. Move expert layers to RAM so that about half a GiB stays free.",
        "Windows 已把 {device} 的 {n_bytes:size} 数据移到较慢的系统内存（显存已用 {used_share} %）。不会报错，但速度会下降数倍。请把部分专家层移到内存，让显存留出约半个 GiB。",
    ),
    "problem.ram_full": (
        "RAM is nearly full: {available:size} are left. Close programs, shorten the context, or take a smaller file.",
        "内存几乎用尽：只剩 {available:size}。请关闭其他程序、缩短上下文，或换用更小的文件。",
    ),
    "problem.ram_swapping": (
        "RAM is full ({available:size} left) and the system is swapping ({swapped:size} in this minute), which slows "
        "everything down. Close programs, put less into RAM, and do not lock memory.",
        "内存已满（剩余 {available:size}），系统正在换页（这一分钟 {swapped:size}），会拖慢一切。请关闭其他程序、减少放入内存的部分，并且不要锁定内存。",
    ),
    "problem.ecores_busy": (
        "The slow cores do the work ({e_load} % busy) while the fast ones are idle ({p_load} %). Launch with Lanewise's "
        "choice of cores, and keep power saving off for the engine.",
        "小核在工作（{e_load} %），大核却空闲（{p_load} %）。请使用 Lanewise 选择的核心启动，并不要让引擎进入节能模式。",
    ),
    "problem.throttled": (
        "{device} is {celsius} °C hot and has slowed down from {most} to {clock} MHz. Give it air, a stronger fan "
        "profile, or a lower power limit that it can hold.",
        "{device} 温度 {celsius} °C，频率已从 {most} 降到 {clock} MHz。请改善散热、调高风扇，或设置能稳定维持的功耗上限。",
    ),
    "problem.on_battery": (
        "The computer runs on battery, which makes processor and graphics card slower. Plug it in to compare speeds.",
        "电脑正在使用电池，处理器和显卡会变慢。比较速度时请接通电源。",
    ),
    "problem.power_saver": (
        "The system's power saver is on, which makes processor and graphics card slower. Choose a balanced profile.",
        "系统已开启节能模式，处理器和显卡会变慢。请切换到均衡模式。",
    ),
    "problem.slow_decode": (
        "Decode is slow: {tps:num} tok/s. Each token reads {ram_read:size} from RAM, which gives {ram_gbs:num} GB/s on "
        "{channels:count channel|channels}. More expert layers on the card or a second RAM channel help most.",
        "解码很慢：{tps:num} tok/s。每个 token 要从内存读取 {ram_read:size}，内存带宽为 {ram_gbs:num} GB/s（{channels} 通道）。让更多专家层留在显存，或增加内存通道最有效。",
    ),
}

_ANSWERS: Entries = {
    "problem.reasoning_ate_answer": (
        "The answer is empty: all {decoded:num} tokens went into the model's reasoning. "
        "Allow more tokens, plan a longer context, or switch thinking off.",
        "回答为空：全部 {decoded:num} 个 token 都用于思考过程。请允许更多 token、增大上下文，或关闭思考。",
    ),
    "problem.answer_cut_by_context": (
        "The answer stops in the middle because the context of {n_ctx:num} tokens is full. "
        "Start a new conversation, or plan a longer context.",
        "上下文 {n_ctx:num} 已满，回答中途停止。请开始新的对话，或在方案中增大上下文。",
    ),
    "problem.answer_cut_by_limit": (
        "The answer stops after {decoded:num} tokens because the request allowed no more. Raise its limit (max_tokens).",
        "回答在 {decoded:num} 个 token 后停止，因为请求的上限如此。请提高上限（max_tokens）。",
    ),
    "problem.answer_cut_off": (
        "The answer stops after {decoded:num} tokens, at the limit of the request (max_tokens) or at the end of the "
        "context. Raise the limit; if the request has none, plan a longer context.",
        "回答在 {decoded:num} 个 token 后停止：达到了请求的上限（max_tokens），或上下文已满。"
        "请提高上限；如果请求没有设上限，请在方案中增大上下文。",
    ),
}

_OOM: Entries = {
    "doctor.card": ("the graphics card", "显卡"),
    "doctor.oom.weights": (
        "{device} has too little room for the model's weights. Fewer of them must go there.",
        "{device}放不下模型权重，需要减少放在其中的部分。",
    ),
    "doctor.oom.kv": (
        "{device} has too little room for the KV cache: the weights fitted, the context did not. "
        "Shorten the context, or keep the cache as q8_0.",
        "{device}放不下 KV 缓存：权重放得下，上下文放不下。请缩短上下文，或让缓存使用 q8_0。",
    ),
    "doctor.oom.compute": (
        "{device} has too little room for the compute buffer: weights and KV cache fitted, a micro-batch did "
        "not. Use a smaller micro-batch (-ub), or a shorter context.",
        "{device}放不下计算缓冲区：权重和 KV 缓存放得下，微批次放不下。请减小微批次（-ub），或缩短上下文。",
    ),
    "doctor.oom.generating": (
        "{device} ran out of memory while the server was already answering. "
        "Put fewer layers there, or shorten the context.",
        "服务器已在回答时，{device}的空间用尽。请减少放在其中的层，或缩短上下文。",
    ),
    "doctor.oom.unknown": (
        "{device} ran out of memory. Put fewer layers there, or shorten the context.",
        "{device}的空间用尽。请减少放在其中的层，或缩短上下文。",
    ),
    "doctor.detail.asked": ("{n_bytes:size} were asked for.", "申请了 {n_bytes:size}。"),
    "doctor.detail.prompt": (
        "It happened while reading a prompt, {depth:num} tokens deep; the card had {peak_bytes:size} in use.",
        "发生在读入提示时，深度 {depth:num} 个 token；当时显存已用 {peak_bytes:size}。",
    ),
    "doctor.detail.decode": (
        "It happened while writing an answer, {depth:num} tokens deep; the card had {peak_bytes:size} in use.",
        "发生在生成回答时，深度 {depth:num} 个 token；当时显存已用 {peak_bytes:size}。",
    ),
    "doctor.detail.spill": (
        'NVIDIA\'s driver does this on its own ("CUDA - Sysmem Fallback Policy" in the NVIDIA Control Panel, Manage 3D '
        'settings). "Prefer No Sysmem Fallback" for llama-server.exe makes it fail honestly instead of getting slow.',
        "这是 NVIDIA 驱动的默认行为（NVIDIA 控制面板 → 管理 3D 设置 → “CUDA - Sysmem Fallback Policy”）。为 llama-server.exe 选择“Prefer No Sysmem Fallback”后会直接报错，而不是变慢。",
    ),
    "doctor.detail.dll": (
        "On Windows it is most often the Visual C++ runtime, or the CUDA runtime package of the same version (cudart, "
        "cublas), that is not beside llama-server.exe.",
        "在 Windows 上，最常见的是缺少 Visual C++ 运行库，或 llama-server.exe 旁边没有相同版本的 CUDA 运行库包（cudart、cublas）。",
    ),
    "doctor.detail.dll_mixed": (
        "A library of another version was found first: two builds in one folder, or another program's on the PATH.",
        "先找到了其他版本的库：同一文件夹里混有两个版本，或 PATH 中有其他程序的库。",
    ),
    "doctor.detail.crash_start": (
        "It happened before the server was ready. An outdated Visual C++ runtime (MSVCP140.dll) is a known cause.",
        "发生在服务器就绪之前。Visual C++ 运行库（MSVCP140.dll）过旧是已知原因之一。",
    ),
    "doctor.detail.new_flag": ("This build writes it as: {new}", "该版本的写法：{new}"),
    "doctor.detail.names": ("A name that this file has: {names}", "该文件中的名称示例：{names}"),
}

_CHECKS: Entries = {
    "doctor.check.vram": (
        "Compare the sizes in the log with the card's free memory on the Machine page.",
        "把日志中的大小与“本机”页上显卡的可用显存对照。",
    ),
    "doctor.check.ram": (
        "Look at the RAM curve on the Run page, or at Task Manager or free -h.",
        "查看“运行”页的内存曲线，或任务管理器、free -h。",
    ),
    "doctor.check.commit": (
        'Task Manager, Performance, Memory: "Committed" is close to its limit.',
        "任务管理器 → 性能 → 内存：“已提交”接近上限。",
    ),
    "doctor.check.killed": (
        "On Linux dmesg names a process that was ended for want of memory; on Windows see the Event Viewer.",
        "Linux 上用 dmesg 查看是否有进程因内存不足被结束；Windows 上查看事件查看器。",
    ),
    "doctor.check.memlock": ("ulimit -l shows what may be locked, in KiB.", "用 ulimit -l 查看可锁定的大小（KiB）。"),
    "doctor.check.pinned": (
        "The log at -lv 5 has a line for each size that could not be pinned.",
        "使用 -lv 5 时，日志会逐条列出未能锁页的大小。",
    ),
    "doctor.check.port": (
        "ss -ltnp (Linux) or netstat -ano (Windows) shows who listens on the port.",
        "用 ss -ltnp（Linux）或 netstat -ano（Windows）查看谁在监听该端口。",
    ),
    "doctor.check.port_reserved": (
        "netsh interface ipv4 show excludedportrange protocol=tcp lists the ports that Windows keeps for itself.",
        "用 netsh interface ipv4 show excludedportrange protocol=tcp 查看 Windows 保留的端口。",
    ),
    "doctor.check.help": (
        "llama-server --help lists every option of this build.",
        "llama-server --help 列出该版本的全部参数。",
    ),
    "doctor.check.devices": (
        "llama-server --list-devices shows what this build can use.",
        "llama-server --list-devices 显示该版本可用的设备。",
    ),
    "doctor.check.dll": (
        "The folder of llama-server must hold all libraries of the same build and its runtime package.",
        "llama-server 所在文件夹应包含同一版本的全部库及其运行库包。",
    ),
    "doctor.check.file_size": (
        "Compare the file's size and SHA-256 with those on its download page.",
        "把文件大小和 SHA-256 与下载页面对照。",
    ),
    "doctor.check.build": (
        "llama-server --version names the build; the model's page says which one it needs.",
        "llama-server --version 显示版本号；模型页面会说明所需版本。",
    ),
    "doctor.check.quarantine": (
        "Look into the antivirus's quarantine or protection history.",
        "查看杀毒软件的隔离区或保护历史记录。",
    ),
    "doctor.check.tensors": (
        "The log at -lv 5 names where each tensor went; the plan's details list what each rule hits.",
        "使用 -lv 5 时，日志会列出每个张量的位置；方案详情列出每条规则命中的张量。",
    ),
    "doctor.check.threads": (
        "The core strip on the Run page shows which cores are busy.",
        "“运行”页的核心条显示哪些核心在忙。",
    ),
    "doctor.check.channels": (
        "Measure the RAM on the Machine page; two channels read nearly twice as fast as one.",
        "在“本机”页测量内存；双通道的读取速度接近单通道的两倍。",
    ),
    "doctor.check.pcie": (
        "Read the link while a prompt is processed: at rest it is slower than it can be.",
        "请在处理提示时读取链路速度：空闲时显示的速度偏低。",
    ),
    "doctor.check.spill": (
        'Task Manager, Performance, GPU: "Shared GPU memory" grows while dedicated memory is full.',
        "任务管理器 → 性能 → GPU：专用显存已满而“共享 GPU 内存”持续增长。",
    ),
}

_FIXES: Entries = {
    "fix.experts_more": (
        "Keep {layers:count more expert layer|more expert layers} in RAM: {blocks} ({layers_in_ram} in all)",
        "再把 {layers} 个专家层放到内存：{blocks}（共 {layers_in_ram} 个）",
    ),
    "fix.placed_anew": (
        "Place the model anew: {homes:count layer|layers} on the card, {layers_in_ram} expert layers in RAM",
        "重新放置模型：{homes} 层放在显卡，{layers_in_ram} 个专家层放在内存",
    ),
    "fix.all_cpu": ("Run everything in RAM", "全部放到内存运行"),
    "fix.ubatch": ("Use a micro-batch of {ubatch} tokens", "把微批次改为 {ubatch}"),
    "fix.kv_type": ("Keep the KV cache as {kv_type}", "KV 缓存改用 {kv_type}"),
    "fix.kv_home": ("Keep the KV cache in RAM", "把 KV 缓存放到内存"),
    "fix.context": ("Shorten the context to {n_ctx:num} tokens", "把上下文缩短到 {n_ctx:num}"),
    "fix.prompt_cache": ("Switch the prompt cache off", "关闭提示缓存"),
    "fix.load_mode": ("Load with -lm {load_mode}", "以 -lm {load_mode} 加载"),
    "fix.port": ("Use port {port} instead", "改用端口 {port}"),
    "fix.threads": ("Use {threads:count thread|threads}", "使用 {threads} 个线程"),
    "fix.flash_attn": ("Switch Flash Attention on", "开启 Flash Attention"),
    "fix.extra_dropped": ("Drop {dropped}", "删除 {dropped}"),
    "fix.extra_replaced": ("Write {put} instead of {dropped}", "把 {dropped} 改为 {put}"),
    "fix.preset": ("Take the best placement for this machine", "采用这台电脑的最佳放置"),
    "fix.larger_context": ("Plan a context of {n_ctx:num} tokens", "把上下文增大到 {n_ctx:num}"),
    "fix.larger_ubatch": ("Use a micro-batch of {ubatch} tokens", "把微批次改为 {ubatch}"),
    "fix.no_repack": ("Switch repacking off (--no-repack)", "关闭权重重排（--no-repack）"),
    "fix.several": ("Change several settings: {changes}", "更改多项设置：{changes}"),
    "fix.several_experts": (
        "{layers:count more expert layer|more expert layers} in RAM, and: {changes}",
        "再把 {layers} 个专家层放到内存，并更改：{changes}",
    ),
    "fix.bytes": (
        "{device}: {before:size} → {after:size} of {free:size} free",
        "{device}：{before:size} → {after:size}（可用 {free:size}）",
    ),
    "undo.fix": ("Doctor: {what}", "诊断：{what}"),
}

ENTRIES: Entries = {
    **_PROGRAM,
    **_MEMORY,
    **_REQUESTS,
    **_FOUND,
    **_MEASURED,
    **_ANSWERS,
    **_OOM,
    **_CHECKS,
    **_FIXES,
}
