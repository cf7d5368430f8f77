"""Texts of the command line. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_MISTAKES: Entries = {
    "problem.cli_unknown_verb": (
        "“{verb}” is neither a model file nor a verb. Verbs: {verbs}.",
        "“{verb}”既不是模型文件，也不是命令。可用的命令：{verbs}。",
    ),
    "problem.cli_unknown_verb_near": (
        "“{verb}” is neither a model file nor a verb. Did you mean “{program} {near}”? Verbs: {verbs}.",
        "“{verb}”既不是模型文件，也不是命令。你是否想用“{program} {near}”？可用的命令：{verbs}。",
    ),
    "problem.cli_unknown_option": (
        "{verb} has no option {option}. “{verb} --help” lists them.",
        "{verb} 没有选项 {option}。用“{verb} --help”可查看全部选项。",
    ),
    "problem.cli_unknown_option_near": (
        "{verb} has no option {option}. Did you mean {near}?",
        "{verb} 没有选项 {option}。你是否想用 {near}？",
    ),
    "problem.cli_too_many": (
        "“{text}” is one argument too many for {verb}. Put a path with spaces in quotes.",
        "{verb} 多了一个参数“{text}”。带空格的路径请加引号。",
    ),
    "problem.no_display": (
        "There is no display here. Use the verbs (“lanewise --help”), or set QT_QPA_PLATFORM=offscreen for the tour.",
        "此处没有显示器。请使用命令行动词（lanewise --help），或为导览设置 QT_QPA_PLATFORM=offscreen。",
    ),
    "problem.cli_usage": ("{verb}: {text}. “{verb} --help” shows its use.", "{verb}：{text}。用法见“{verb} --help”。"),
    "problem.cli_value_missing": (
        "{option} needs a value, as in: {example}",
        "{option} 后面需要一个值，例如：{example}",
    ),
    "problem.cli_value_unwanted": (
        "{option} takes no value. Write it alone.",
        "{option} 不带值，请单独使用。",
    ),
    "problem.cli_model_missing": (
        "Which model? Name a file: {verb} MODEL.gguf",
        "请指定模型文件：{verb} MODEL.gguf",
    ),
    "problem.cli_not_a_number": (
        "{option}: “{text}” is not a number. Write digits only, without a unit.",
        "{option}：“{text}”不是数字。请只写数字，不带单位。",
    ),
    "problem.cli_out_of_range": (
        "{option}: {text} is out of range. It may be {low:num} to {high:num}.",
        "{option}：{text} 超出范围，应在 {low:num} 到 {high:num} 之间。",
    ),
    "problem.cli_bad_choice": (
        "{option}: there is no “{text}”. Choose one of: {known}.",
        "{option}：没有“{text}”。可选：{known}。",
    ),
    "problem.cli_bad_device": (
        "--device: “{text}” is not NAME=MIB. Example: --device CUDA0=12288",
        "--device：“{text}”不是“名称=MiB 数”的形式。例如：--device CUDA0=12288",
    ),
    "problem.cli_device_ram": (
        "--device: {text} means the RAM. Use --ram-mib for it.",
        "--device：{text} 指的是内存，请改用 --ram-mib。",
    ),
    "problem.cli_bad_endpoint": (
        "--rpc: “{text}” is not HOST:PORT. Example: --rpc 192.168.1.7:50052",
        "--rpc：“{text}”不是“主机:端口”的形式。例如：--rpc 192.168.1.7:50052",
    ),
    "problem.cli_rpc_missing": (
        "--device: {device} is another machine's. Name its server too, as in --rpc 192.168.1.7:50052",
        "--device：{device} 是另一台机器的设备，请同时用 --rpc 指定其服务器，例如 --rpc 192.168.1.7:50052",
    ),
    "problem.cli_bad_key": (
        "--api-key: a key has visible ASCII characters only, without blanks and commas. Choose another.",
        "--api-key：密钥只能包含可见的 ASCII 字符，不能有空格和逗号。请换一个。",
    ),
    "problem.cli_extra_quote": (
        "--extra: a quote is opened and never closed in {text}. Close it.",
        "--extra：{text} 中有未闭合的引号，请补上。",
    ),
    "problem.cli_export_where": (
        "Where to? Name a file with --to; its ending says what to write ({suffixes}).",
        "请用 --to 指定要写入的文件，扩展名决定写出的内容（{suffixes}）。",
    ),
    "problem.cli_export_kind": (
        "{path}: the ending says what to write. Use one of: {suffixes}.",
        "{path}：扩展名决定写出的内容，请使用：{suffixes}。",
    ),
    "problem.shell_cannot_carry": (
        "An argument holds a line break, which {shell} cannot carry. Remove it, or choose another shell.",
        "某个参数含有换行，{shell} 无法传递。请去掉换行，或换一种 shell。",
    ),
    "problem.devices_off": (
        "In use: {device}. Switched off: {devices}.",
        "使用中：{device}。已停用：{devices}。",
    ),
    "problem.devices_unused": (
        "{devices} stays unused: the plan with {device} alone is at least as good.",
        "未使用 {devices}：只用 {device} 的方案至少同样好。",
    ),
    "problem.cli_off_unknown": (
        "--off {device}: there is no such device here. Known: {known}.",
        "--off {device}：这里没有这个设备。已知设备：{known}。",
    ),
    "problem.gpu_not_named": (
        "{gpu} is left out, because no llama-server has told its name for it. Name it yourself, as in --device "
        "CUDA0=12288.",
        "未使用 {gpu}：还没有 llama-server 给出它的名称。请自行指定，例如 --device CUDA0=12288。",
    ),
    "problem.launch_without_engine": (
        "There is no llama-server here to launch. Name one with --engine PATH.",
        "这里没有可启动的 llama-server。请用 --engine PATH 指定。",
    ),
    "problem.verify_without_engine": (
        "There is no llama-server here to ask. Name one with --engine PATH.",
        "这里没有可询问的 llama-server。请用 --engine PATH 指定。",
    ),
    "problem.buffer_differs_weights": (
        "{device}: the engine allocated {actual_bytes:size} for weights, the plan said {predicted_bytes:size}. Trust "
        "the engine, and please report it.",
        "{device}：引擎为权重分配了 {actual_bytes:size}，方案预计 {predicted_bytes:size}。请以引擎为准，并反馈给我们。",
    ),
    "problem.buffer_differs_kv": (
        "{device}: the engine allocated {actual_bytes:size} for the KV cache, the plan said {predicted_bytes:size}. "
        "Trust the engine, and please report it.",
        "{device}：引擎为 KV 缓存分配了 {actual_bytes:size}，方案预计 {predicted_bytes:size}。请以引擎为准，并反馈给我们。",
    ),
    "problem.buffer_differs_compute": (
        "{device}: the engine allocated {actual_bytes:size} for compute buffers, the plan said "
        "{predicted_bytes:size}. Leave a larger reserve if memory is tight.",
        "{device}：引擎为计算缓冲区分配了 {actual_bytes:size}，方案预计 {predicted_bytes:size}。如果内存紧张，请增大预留。",
    ),
    "problem.buffer_unplanned": (
        "The engine allocated {actual_bytes:size} on {device}, where the plan puts nothing. Check the extra arguments.",
        "引擎在 {device} 上分配了 {actual_bytes:size}，而方案没有使用它。请检查附加参数。",
    ),
}

_VERBS: Entries = {
    "cli.usage": ("Usage: ", "用法："),
    "cli.verbs": ("Verbs for the terminal:", "终端命令："),
    "cli.verb_help": (
        "“{program} VERB --help” explains a verb. Without a verb, the window opens.",
        "“{program} 命令 --help”查看该命令的说明。不带命令则打开窗口。",
    ),
    "cli.verb.window": ("Open the window, with a model if one is named.", "打开窗口；可同时打开指定的模型。"),
    "cli.verb.machine": ("What this computer is.", "查看这台电脑的配置。"),
    "cli.verb.inspect": ("What a model file holds.", "查看模型文件的内容。"),
    "cli.verb.plan": (
        "Where each part of a model goes, and what that needs.",
        "规划模型各部分的位置及所需内存。",
    ),
    "cli.verb.command": ("The llama-server command of a plan.", "输出方案对应的 llama-server 命令。"),
    "cli.verb.verify": (
        "Ask the engine what a plan would allocate, without loading it.",
        "询问引擎该方案会分配多少内存（不加载模型）。",
    ),
    "cli.verb.launch": ("Run llama-server with a plan.", "按方案运行 llama-server。"),
    "cli.verb.export": (
        "Write a plan as a script, a plan file or a router preset.",
        "把方案导出为脚本、方案文件或路由预设。",
    ),
    "cli.group.file": ("Model", "模型"),
    "cli.group.common": ("General", "通用选项"),
    "cli.group.wishes": ("Wishes", "方案选项"),
    "cli.group.devices": ("Devices", "设备"),
    "cli.group.server": ("Server", "服务器"),
    "cli.group.launch": ("Launch", "启动"),
    "cli.group.output": ("Output", "输出"),
}

_HELP: Entries = {
    "cli.help.model": ("a GGUF file; any part of a split one", "GGUF 文件；分卷模型可指定任意一卷"),
    "cli.help.json": ("print JSON", "输出 JSON"),
    "cli.help.lang": ("language of the output (the system's)", "输出语言（默认跟随系统）"),
    "cli.help.hardware": ("use a saved machine snapshot instead of this computer", "使用保存的硬件快照，而不是本机"),
    "cli.help.engine": ("a llama-server, or a folder with one", "llama-server 程序，或它所在的文件夹"),
    "cli.help.help": ("show this help", "显示本说明"),
    "cli.help.version": ("show the version", "显示版本"),
    "cli.help.theme": ("colours of the window (the saved setting)", "窗口配色（默认使用已保存的设置）"),
    "cli.help.build-engine": (
        "build llama.cpp in the background if there is no llama-server",
        "没有 llama-server 时在后台编译 llama.cpp",
    ),
    "cli.help.smoke": ("open the window, paint it once, close it", "打开窗口，绘制一次后关闭"),
    "cli.help.tour": ("walk through the main path and save pictures here", "演示主要流程，并把截图保存到此文件夹"),
    "cli.help.preset": (
        "fill, experts-cpu, all-gpu, all-cpu, article or fit (fill)",
        "预设：fill、experts-cpu、all-gpu、all-cpu、article 或 fit（默认 fill）",
    ),
    "cli.help.place": (
        "move cards after the preset, as in experts:12-31=RAM; may be repeated",
        "在预设之后移动卡片，例如 experts:12-31=RAM；可重复",
    ),
    "cli.help.ngl": ("layers at home on the GPU, the output counted (-ngl)", "放在 GPU 上的层数，含输出层（-ngl）"),
    "cli.help.kv": ("KV cache with its layer, or all in RAM (home)", "KV 缓存跟随所在的层，或全部放内存（默认 home）"),
    "cli.help.ctx": (
        "context in tokens (8192, or the model's own if smaller)",
        "上下文长度，token 数（默认 8192，或模型自身的较小值）",
    ),
    "cli.help.ctk": ("type of the K cache (f16)", "K 缓存类型（默认 f16）"),
    "cli.help.ctv": ("type of the V cache (f16)", "V 缓存类型（默认 f16）"),
    "cli.help.flash-attn": ("flash attention (auto)", "Flash Attention（默认 auto）"),
    "cli.help.batch": ("logical batch, -b (2048)", "逻辑批次 -b（默认 2048）"),
    "cli.help.ubatch": ("micro-batch, -ub (512)", "微批次 -ub（默认 512）"),
    "cli.help.slots": ("users at once (1)", "同时使用的人数（默认 1）"),
    "cli.help.threads": ("threads of the engine (from the cores)", "引擎线程数（默认由核心决定）"),
    "cli.help.load-mode": (
        "how the engine reads weights, -lm (from what fits)",
        "引擎读取权重的方式 -lm（默认按能否放下决定）",
    ),
    "cli.help.prompt-cache-mib": (
        "prompt cache in RAM, -cram (from what RAM is left)",
        "内存中的提示缓存 -cram（默认按剩余内存）",
    ),
    "cli.help.extra": (
        "arguments for llama-server, kept verbatim at the end",
        "附加的 llama-server 参数，原样放在最后",
    ),
    "cli.help.device": (
        "plan with this device and this much free memory, as in CUDA0=12288; may be repeated",
        "按此设备和空闲内存规划，例如 CUDA0=12288；可重复",
    ),
    "cli.help.off": ("do without this GPU, as in CUDA1; may be repeated", "不使用这块 GPU，例如 CUDA1；可重复"),
    "cli.help.ram-mib": ("free RAM to plan with", "规划时使用的空闲内存"),
    "cli.help.keep-ram-mib": ("keep this much RAM free for other programs", "为其他程序保留的内存"),
    "cli.help.reserve-mib": (
        "keep this much free on the GPU (512 with a display, else 256)",
        "在 GPU 上预留的显存（接显示器时 512，否则 256）",
    ),
    "cli.help.rpc": ("a ggml-rpc-server that lends its memory; may be repeated", "提供内存的 ggml-rpc-server；可重复"),
    "cli.help.port": ("port of the server (8080); 0 = any free one", "服务器端口（默认 8080）；0 表示任意空闲端口"),
    "cli.help.api-key": ("key that clients must send (launch makes one)", "客户端须提供的密钥（launch 会自动生成）"),
    "cli.help.for": ("stop so many seconds after the server is ready", "服务器就绪后经过这么多秒自动停止"),
    "cli.help.shell": (
        "cmd, powershell, bash or json (this system's shell)",
        "cmd、powershell、bash 或 json（默认本系统的 shell）",
    ),
    "cli.help.to": (
        "the file to write: .bat, .ps1, .sh (scripts), .json (plan), .ini (router preset), .yaml (llama-swap) or .py "
        "(transformers)",
        "要写入的文件：.bat、.ps1、.sh（脚本）、.json（方案）、.ini（路由预设）、.yaml（llama-swap）或 .py（transformers）",
    ),
    "cli.help.tensors": ("list every tensor", "列出每个张量"),
    "cli.help.measure-ram": ("measure the reading speed of the RAM (about a second)", "测量内存读取速度（约一秒）"),
}

_OUTPUT: Entries = {
    "cli.error": ("Error: {text}", "错误：{text}"),
    "cli.crash_report": ("Please report it with this file: {path}", "请附上此文件反馈给我们：{path}"),
    "cli.comma": (", ", "，"),
    "cli.layers": ("{n:count layer|layers}", "{n} 层"),
    "cli.experts": (
        "{count:count expert|experts}, {used:num} used per token",
        "{count:num} 个专家，每个 token 用 {used:num} 个",
    ),
    "cli.dense": ("dense", "稠密模型"),
    "cli.machine.vram": ("{total:size}, {free:size} free", "共 {total:size}，空闲 {free:size}"),
    "cli.fact.context": ("Trained context", "训练上下文"),
    "cli.fact.vocab": ("Vocabulary", "词表"),
    "cli.fact.parts": ("Parts", "分卷"),
    "cli.fact.version": ("GGUF version", "GGUF 版本"),
    "cli.fact.quants": ("Types", "量化类型"),
    "cli.column.card": ("Card", "卡片"),
    "cli.column.what": ("What", "内容"),
    "cli.column.tensors": ("Tensors", "张量数"),
    "cli.column.tensor": ("Tensor", "张量"),
    "cli.column.shape": ("Shape", "形状"),
    "cli.column.type": ("Type", "类型"),
    "cli.column.bytes": ("Size", "大小"),
    "cli.column.weights": ("weights", "权重"),
    "cli.column.kv": ("KV", "KV"),
    "cli.column.compute": ("compute", "计算"),
    "cli.column.overhead": ("overhead", "开销"),
    "cli.column.reserve": ("reserve", "预留"),
    "cli.column.needed": ("needed", "合计"),
    "cli.column.free": ("free", "空闲"),
    "cli.column.plan": ("plan", "方案"),
    "cli.column.engine": ("engine", "引擎"),
    "cli.fits.yes": ("fits", "放得下"),
    "cli.fits.no": ("over-full by {missing:size}", "超出 {missing:size}"),
    "cli.fits.unknown": ("free memory unknown", "空闲内存未知"),
    "cli.agrees.yes": ("as planned", "与方案一致"),
    "cli.agrees.no": ("differs", "不一致"),
    "cli.agrees.unknown": ("cannot be compared", "无法比较"),
    "cli.verdict.fits": ("Fits. Left over: {left}.", "放得下。剩余：{left}。"),
    "cli.verdict.left": ("{device} {left:size}", "{device} {left:size}"),
    "cli.verdict.over_full": ("Does not fit: {devices} is over-full.", "放不下：{devices} 超出容量。"),
    "cli.verdict.errors": ("Cannot be run like this; the reasons stand below.", "无法这样运行，原因见下。"),
    "cli.verdict.unknown": (
        "Whether it fits is unknown: nobody tells how much memory is free on {devices}.",
        "无法判断是否放得下：{devices} 的空闲内存未知。",
    ),
    "cli.speed.known": (
        "About {tps:num} tok/s decode with {context} tokens of context half full ({kind}); {limit}.",
        "解码约 {tps:num} tok/s（{context} 的上下文用到一半时，{kind}）；{limit}。",
    ),
    "cli.speed.prompt": ("Prompts are read at about {tps:num} tok/s.", "预填充约 {tps:num} tok/s。"),
    "cli.speed.unknown_ram": (
        "Decode speed unknown: the RAM has not been measured (“lanewise machine --measure --json” makes a snapshot "
        "for --hardware).",
        "解码速度未知：尚未测量内存速度（用“lanewise machine --measure --json”生成快照，再用 --hardware 载入）。",
    ),
    "cli.speed.unknown_gpu": (
        "Decode speed unknown: the memory bandwidth of {device} is not known.",
        "解码速度未知：不知道 {device} 的显存带宽。",
    ),
    "cli.limit.ram": ("RAM speed is the limit", "瓶颈是内存速度"),
    "cli.limit.vram": ("VRAM speed is the limit", "瓶颈是显存速度"),
    "cli.limit.sync": ("the hand-overs between GPU and CPU are the limit", "瓶颈是 GPU 与 CPU 之间的切换"),
    "cli.limit.pcie": ("the PCIe link is the limit", "瓶颈是 PCIe 连接"),
    "cli.limit.none": ("the limit is not known", "瓶颈未知"),
    "cli.homes": ("Layers at home: {runs}", "各层位置：{runs}"),
    "cli.homes.run": ("{device} {first}–{last}", "{device} {first}–{last}"),
    "cli.homes.with_output": ("{device} {first}–{last} and the output", "{device} {first}–{last} 及输出头"),
    "cli.homes.output": ("{device} the output", "{device} 输出头"),
    "cli.homes.kv_in_ram": ("; KV cache in RAM", "；KV 缓存在内存中"),
    "cli.overrides": ("Moved away from there (-ot):", "不在原位的张量（-ot）："),
    "cli.override.tensors": ("{n:count tensor|tensors}", "{n} 个张量"),
    "cli.tensors": ("Tensors:", "张量："),
    "cli.command": ("Command:", "命令："),
    "cli.verify.overrides": (
        "{n:count tensor is|tensors are} not where the plan puts them, {tensor} for one.",
        "有 {n} 个张量不在方案指定的位置，例如 {tensor}。",
    ),
    "cli.verify.overrides_confirmed": (
        "The engine puts every tensor where the plan says.",
        "引擎中每个张量的位置都与方案一致。",
    ),
    "cli.verify.took": ("Asked in {seconds} s.", "用时 {seconds} 秒。"),
    "cli.launch.starting": ("Starting llama-server (process {pid})…", "正在启动 llama-server（进程 {pid}）…"),
    "cli.launch.ready": ("Ready after {seconds:num} s: {url}", "已就绪，用时 {seconds:num} 秒：{url}"),
    "cli.launch.key": ("API key: {key}", "API 密钥：{key}"),
    "cli.launch.cpus": ("Runs on CPUs {cpus}.", "运行在 CPU {cpus}。"),
    "cli.launch.how_to_stop": ("Ctrl-C stops it.", "按 Ctrl-C 停止。"),
    "cli.launch.timing_prompt": (
        "Prompt: {n:count token|tokens} in {s} s, {tps:num} tok/s",
        "预填充：{n} 个 token，{s} 秒，{tps:num} tok/s",
    ),
    "cli.launch.timing_decode": (
        "Answer: {n:count token|tokens} in {s} s, {tps:num} tok/s",
        "解码：{n} 个 token，{s} 秒，{tps:num} tok/s",
    ),
    "cli.launch.stopped": ("Stopped.", "已停止。"),
    "cli.launch.refused": (
        "The plan has errors, so it is not launched. “plan” with the same options shows it.",
        "方案存在错误，未启动。用相同选项运行 plan 可查看详情。",
    ),
}

ENTRIES: Entries = {**_MISTAKES, **_VERBS, **_HELP, **_OUTPUT}
