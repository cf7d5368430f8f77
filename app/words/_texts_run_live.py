"""Texts of a launch and of what is watched: questions before it, the stress run, kept runs. Code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_BEFORE: Entries = {
    "problem.port_in_use_by": (
        "Port {port} is used by {name} (process {pid}). Use another port this time, or close that program.",
        "端口 {port} 正被 {name}（进程 {pid}）占用。可以这次换一个端口，或关闭该程序。",
    ),
    "problem.port_in_use_by_ours": (
        "Port {port} is used by a server that Lanewise started ({name}, process {pid}). Stop that server, or use another "
        "port this time.",
        "端口 {port} 正被 Lanewise 启动的服务器（{name}，进程 {pid}）占用。可以停止该服务器，或这次换一个端口。",
    ),
    "problem.launch_over": (
        "This plan does not fit: {device} has {free_bytes:size} free and lacks {missing_bytes:size}. Launched all the "
        "same, the engine ends with an error or the whole computer slows down.",
        "此方案放不下：{device} 空闲 {free_bytes:size}，还缺 {missing_bytes:size}。"
        "仍要启动的话，引擎会报错退出，或整台电脑变得很慢。",
    ),
    "problem.launch_memory_taken": (
        "Other programs took memory since the plan was made: {device} has {free_bytes:size} free and lacks "
        "{missing_bytes:size}. The largest there: {programs}. Close it, or change the plan.",
        "制定方案之后其他程序占用了内存：{device} 现在空闲 {free_bytes:size}，还缺 {missing_bytes:size}。"
        "占用最多的是：{programs}。请关闭它，或更改方案。",
    ),
    "problem.outside_config_read": (
        "llama-server also reads {path}, which sets {options}. Lanewise cannot keep it away; remove those lines if the "
        "server does not do what the plan says.",
        "llama-server 还会读取 {path}，其中设置了 {options}，Lanewise 无法阻止。如果服务器与方案不符，请删除这些行。",
    ),
    "problem.server_not_ended": (
        "The server with process number {pid} could not be ended. It may belong to another user; end it there.",
        "无法结束进程 {pid} 的服务器。它可能属于其他用户，请在那里结束它。",
    ),
    "launch.title": ("Before the launch", "启动前"),
    "launch.answer.other_port": ("Use port {port} this time", "这次使用端口 {port}"),
    "launch.answer.end_server": ("Stop that server", "停止该服务器"),
    "launch.answer.fix": ("{what}, then launch", "{what}，然后启动"),
    "launch.answer.anyway": ("Launch anyway", "仍然启动"),
    "launch.cancel": ("Do not launch", "不启动"),
    "undo.launch_fix": ("Before the launch: {what}", "启动前：{what}"),
    "cli.launch.port_hint": (
        "Take another one with --port, for example --port {port}.",
        "请用 --port 换一个端口，例如 --port {port}。",
    ),
}

_STRESS: Entries = {
    "cli.verb.stress": (
        "Launch the plan, fill its context once and tell the peak memory of every device.",
        "启动方案，填满一次上下文，并报告每个设备的内存峰值。",
    ),
    "cli.group.stress": ("stress test", "压力测试"),
    "cli.help.depth": (
        "tokens of the one long prompt; otherwise all that a slot holds",
        "长提示的 token 数；默认填满一个槽位",
    ),
    "stress.loading": ("Starting the server…", "正在启动服务器…"),
    "stress.filling": (
        "Filling the context: {done:num} of {total:num} tokens",
        "正在填充上下文：{done:num} / {total:num} token",
    ),
    "stress.cancelled": ("The stress test was ended early; nothing was kept.", "压力测试已提前结束，未保存结果。"),
    "stress.safe": (
        "Safe at {depth:num} tokens: at the worst moment {margin:size} were left.",
        "在 {depth:num} token 时安全：最紧张时仍剩 {margin:size}。",
    ),
    "stress.unsafe": (
        "Not safe at {depth:num} tokens: a device ran over. Put more expert layers in RAM or shorten the context.",
        "在 {depth:num} token 时不安全：有设备超出容量。请把更多专家层放到内存，或缩短上下文。",
    ),
    "stress.peak": ("Peak", "峰值"),
    "stress.margin": ("Left", "剩余"),
    "stress.source.driver": ("whole card, by the driver", "整张显卡（驱动报告）"),
    "stress.source.process": ("the server alone, by the driver", "仅服务器（驱动报告）"),
    "stress.source.engine": ("the engine's own sum", "引擎自报总量"),
    "stress.source.system": ("the server; left of the whole system", "服务器占用；剩余为全系统"),
    "problem.stress_cut_short": (
        "The server ended the stress prompt of {depth:num} tokens early. Look at its log, or try a smaller depth.",
        "服务器提前结束了 {depth:num} token 的压力提示。请查看其日志，或减小深度后重试。",
    ),
    "stress.button": ("Test the full context", "测试满上下文"),
    "stress.button_tip": (
        "Fills the context once with one long prompt and records the peak memory of every device. No text is used.",
        "用一条长提示填满上下文，并记录每个设备的内存峰值。不使用任何文本。",
    ),
    "stress.cancel": ("Cancel", "取消"),
    "stress.details": (
        "{device}: peak {peak:size}, {margin:size} left ({source})",
        "{device}：峰值 {peak:size}，剩余 {margin:size}（{source}）",
    ),
    "stress.stamp": (
        "Tested at {depth:num} tokens on {date} with {build}: {margin:size} left on {device}.",
        "{date} 用 {build} 在 {depth:num} token 下测试过：{device} 剩余 {margin:size}。",
    ),
    "stress.stamp_unsafe": (
        "Tested at {depth:num} tokens on {date} with {build}: {device} ran over.",
        "{date} 用 {build} 在 {depth:num} token 下测试过：{device} 超出容量。",
    ),
    "stress.stamp_unknown": (
        "Tested at {depth:num} tokens on {date} with {build}; what was left, nobody tells.",
        "{date} 用 {build} 在 {depth:num} token 下测试过；剩余量无从得知。",
    ),
    "stress.idle": (
        "Is the whole context safe? One long prompt fills it and records the peak memory.",
        "满上下文是否安全？用一条长提示填满它，并记录内存峰值。",
    ),
}

_PLACEMENT: Entries = {
    "problem.context_smaller": (
        "The engine runs with a context of {n_ctx:num} tokens instead of {wanted:num}. Free memory, or plan a smaller one.",
        "引擎实际使用的上下文是 {n_ctx:num} token，而不是 {wanted:num}。请释放内存，或在方案中缩短上下文。",
    ),
    "problem.tensors_refused": (
        "{device} did not take {n:count tensor|tensors} ({tensor} first; {n_bytes:size}): they are on {got} instead. "
        "Move them there in the plan, or take a quantisation that {device} knows.",
        "{device} 无法容纳 {n} 个张量（首个为 {tensor}，{n_bytes:size}），它们被放到了 {got}。"
        "请在方案中把它们放到那里，或换用 {device} 支持的量化格式。",
    ),
}

_RUNS: Entries = {
    "runs.open": ("Runs…", "运行记录…"),
    "runs.title": ("Kept runs", "运行记录"),
    "runs.note": (
        "Select one run to see it, or two to compare them. Only figures are kept, never what was asked.",
        "选择一条查看，选择两条进行比较。只保存数据，不保存任何提问内容。",
    ),
    "runs.empty": (
        "Nothing is kept yet. A run that was ready and lasted five seconds appears here when it ends.",
        "还没有记录。服务器就绪并运行满五秒后，结束时会出现在这里。",
    ),
    "runs.forget": ("Forget all", "全部删除"),
    "runs.column.at": ("When", "时间"),
    "runs.column.model": ("Model", "模型"),
    "runs.column.engine": ("Engine", "引擎"),
    "runs.column.seconds": ("Lasted", "时长"),
    "runs.column.prompt": ("Prompt", "预填充"),
    "runs.column.decode": ("Decode", "解码"),
    "runs.column.end": ("End", "结束"),
    "runs.end.stopped": ("stopped", "已停止"),
    "runs.end.failed": ("failed", "出错"),
    "runs.row.context": ("Context", "上下文"),
    "runs.row.command": ("Command", "命令"),
    "runs.row.same": ("the same", "相同"),
    "runs.row.other": ("another", "不同"),
    "runs.row.requests": ("Requests", "请求数"),
    "runs.row.peak": ("{device}, peak", "{device} 峰值"),
    "runs.row.plan": ("{device}, plan", "{device} 方案"),
    "runs.row.hot": ("{device}, hottest", "{device} 最高温度"),
    "runs.row.power": ("{device}, most power", "{device} 最高功率"),
    "runs.plot.depth": ("Decode speed against depth", "解码速度与深度"),
    "runs.plot.memory": ("{device} over time", "{device} 随时间变化"),
    "runs.plot.decode": ("Decode over time", "解码速度随时间变化"),
    "runs.difference": ("Difference", "差异"),
    "runs.table_name": ("The two runs side by side", "两次运行并排对比"),
}

_LIVE: Entries = {
    "live.load": ("load {x} %", "负载 {x} %"),
    "live.temperature": ("{x} °C", "{x} °C"),
    "live.power": ("{x} W", "{x} W"),
    "live.power_percent": ("power {x} %", "功率 {x} %"),
    "live.clock": ("{x} MHz", "{x} MHz"),
    "live.own": ("server {x}", "服务器 {x}"),
    "live.spilled": ("{x} spilled to RAM", "{x} 溢出到内存"),
    "live.swap": ("swap {x}", "交换区 {x}"),
    "live.commit": ("commit left {x}", "可提交内存剩余 {x}"),
    "live.spill_tip": (
        "The system moved part of this card's memory out to RAM, which is slow. The Doctor page says which card to move.",
        "系统把这块显卡的部分显存移到了内存，速度会很慢。“诊断”页会说明应移动哪张卡片。",
    ),
}

_PINNING: Entries = {
    "settings.rate": ("Live figures", "实时数据"),
    "settings.rate_1": ("Once a second", "每秒 1 次"),
    "settings.rate_2": ("Twice a second", "每秒 2 次"),
    "settings.rate_5": ("Five times a second", "每秒 5 次"),
    "settings.rate_note": (
        "How often a running server is measured while the Run page is in view. More often shows short peaks, and costs a little more processor time.",
        "“运行”页可见时测量服务器的频率。频率越高，越能看到短暂的峰值，但会多占一点处理器时间。",
    ),
    "settings.pinning": ("Server's CPUs", "服务器使用的 CPU"),
    "settings.pinning_hard": ("Keep it on the recommended ones", "固定在推荐的 CPU 上"),
    "settings.pinning_soft": ("Prefer the recommended ones", "优先使用推荐的 CPU"),
    "settings.pinning_off": ("Let the system decide", "由系统决定"),
    "settings.pinning_note": (
        "Kept on the P-cores a server is fastest; choose otherwise when other work needs them. Holds from the next launch.",
        "固定在 P 核上时服务器最快；若其他工作需要这些核心，可另行选择。下次启动时生效。",
    ),
}

ENTRIES: Entries = {**_BEFORE, **_STRESS, **_PLACEMENT, **_RUNS, **_LIVE, **_PINNING}
