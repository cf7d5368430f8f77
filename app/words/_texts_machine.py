"""Texts of the machine page beyond the plain facts: measuring, comparing, freshness. Code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_MEASURING: Entries = {
    "problem.bandwidth_no_numpy": (
        "The RAM speed cannot be measured: numpy does not run here. Reinstall Lanewise's packages (python3 dev.py run).",
        "无法测量内存速度：numpy 在此电脑上无法运行。请重新安装 Lanewise 的依赖（python3 dev.py run）。",
    ),
    "problem.bandwidth_failed": (
        "The RAM speed could not be measured: reading stopped with an error. Try again, and report it if it happens twice.",
        "内存测速失败：读取过程中出错。请重试；如果再次出现，请反馈此问题。",
    ),
    "problem.bandwidth_server_runs": (
        "The server is running and reads RAM itself, so a measurement would be wrong. Stop it first.",
        "服务器正在运行并占用内存带宽，此时测得的数值不准确。请先停止服务器。",
    ),
    "problem.launch_memory_changed": (
        "Other programs took memory since the plan was made: {device} has {free_bytes:size} free and lacks "
        "{missing_bytes:size}. Close them, or put more expert layers in RAM, then launch again.",
        "制定方案之后其他程序占用了内存：{device} 现在空闲 {free_bytes:size}，还缺 {missing_bytes:size}。"
        "请关闭这些程序，或把更多专家层放到内存，然后重新启动。",
    ),
    "problem.power_probe_failed": (
        "Whether the computer runs on its battery could not be read. Nothing depends on it.",
        "无法得知电脑是否正在使用电池，不影响使用。",
    ),
}

_JUDGEMENTS: Entries = {
    "machine.judge.decode.ram_measured": (
        "Decode is limited by the RAM ({gbs:num} GB/s, measured): about {tps:num} tok/s with {model}.",
        "解码速度受内存限制（实测 {gbs:num} GB/s）：{model} 约 {tps:num} tok/s。",
    ),
    "machine.judge.decode.ram_theory": (
        "Decode is limited by the RAM ({gbs:num} GB/s in theory): about {tps:num} tok/s with {model}.",
        "解码速度受内存限制（理论 {gbs:num} GB/s）：{model} 约 {tps:num} tok/s。",
    ),
    "machine.judge.decode.vram": (
        "Decode is limited by the VRAM's bandwidth: about {tps:num} tok/s with {model}.",
        "解码速度受显存带宽限制：{model} 约 {tps:num} tok/s。",
    ),
    "machine.judge.decode.sync": (
        "Decode is limited by the hand-overs between processor and GPU: about {tps:num} tok/s with {model}.",
        "解码速度受处理器与 GPU 之间的交接限制：{model} 约 {tps:num} tok/s。",
    ),
    "machine.judge.decode.starts": (
        "Decode is limited by starting the GPU's kernels: about {tps:num} tok/s with {model}.",
        "解码速度受启动 GPU 计算的开销限制：{model} 约 {tps:num} tok/s。",
    ),
    "machine.judge.prompt.pcie": (
        "Prompts are limited by copying experts over PCIe.",
        "预填充受经 PCIe 复制专家的速度限制。",
    ),
    "machine.judge.prompt.compute": (
        "Prompts are limited by the graphics card's computing.",
        "预填充受显卡计算能力限制。",
    ),
    "machine.judge.prompt.cpu": (
        "Prompts are limited by the processor's computing.",
        "预填充受处理器计算能力限制。",
    ),
    "machine.judge.no_fit": (
        "{model} does not fit: {bytes:size} of {device} are missing.",
        "{model} 放不下：{device} 还缺 {bytes:size}。",
    ),
    "machine.judge.unknown_ram": (
        "How fast {model} would decode is not known: measure the RAM speed.",
        "无法预测 {model} 的解码速度：请先测量内存速度。",
    ),
    "machine.judge.unknown_small": (
        "{model} is too small for a prediction: work outside its layers decides how fast it decodes.",
        "{model} 太小，无法预测：它的解码速度由各层之外的开销决定。",
    ),
    "machine.judge.unknown_vram": (
        "How fast {model} would decode is not known: nothing tells the graphics memory's bandwidth. Launch it once.",
        "无法预测 {model} 的解码速度：无法得知显存带宽。请先启动一次。",
    ),
    "machine.help.second_module.decode.best": (
        "A second RAM module would help most: decode about ×{decode:.1f}.",
        "最有效的改进是再加一条内存：解码约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.second_module.decode.cheap": (
        "A second RAM module costs little and gives about ×{decode:.1f}.",
        "再加一条内存花费不多，约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.more_ram.fit": ("{gib:num} GiB more RAM would make it fit.", "再加 {gib:num} GiB 内存即可放下。"),
    "machine.help.second_module.fit": (
        "A second RAM module would make it fit.",
        "再加一条内存即可放下。",
    ),
    "machine.help.second_module.fit_faster": (
        "A second RAM module would make it fit, and decode about ×{decode:.1f} as fast.",
        "再加一条内存即可放下，解码约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.second_channel.fit_faster": (
        "Moving the RAM modules to slots of two channels would make it fit, and decode about ×{decode:.1f} as fast.",
        "把内存条插到两个通道的插槽即可放下，解码约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.second_channel.decode.best": (
        "Moving the RAM modules to slots of two channels would help most: decode about ×{decode:.1f}, at no cost.",
        "最有效的改进是把内存条插到两个通道的插槽：解码约为现在的 {decode:.1f} 倍，无需花钱。",
    ),
    "machine.help.second_channel.decode.cheap": (
        "Moving the RAM modules to slots of two channels costs nothing and gives about ×{decode:.1f}.",
        "把内存条插到两个通道的插槽无需花钱，约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.second_channel.fit": (
        "Moving the RAM modules to slots of two channels would make it fit.",
        "把内存条插到两个通道的插槽即可放下。",
    ),
    "machine.help.usable_gpu.decode.best": (
        "An engine that can use {gpu} would help most: decode about ×{decode:.1f}.",
        "最有效的改进是换用支持 {gpu} 的引擎：解码约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.usable_gpu.decode.cheap": (
        "An engine that can use {gpu} costs nothing and gives about ×{decode:.1f}.",
        "换用支持 {gpu} 的引擎无需花钱，约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.usable_gpu.fit": (
        "An engine that can use {gpu} would make it fit.",
        "换用支持 {gpu} 的引擎即可放下。",
    ),
    "machine.help.close_programs.decode.best": (
        "Closing what holds {bytes:size} on {gpu} would help most: decode about ×{decode:.1f}.",
        "最有效的改进是关闭占用 {gpu} 上 {bytes:size} 显存的程序：解码约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.close_programs.decode.cheap": (
        "Closing what holds {bytes:size} on {gpu} costs nothing and gives about ×{decode:.1f}.",
        "关闭占用 {gpu} 上 {bytes:size} 显存的程序无需花钱，约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.close_programs.fit": (
        "Closing what holds {bytes:size} on {gpu} would make it fit.",
        "关闭占用 {gpu} 上 {bytes:size} 显存的程序即可放下。",
    ),
    "machine.help.wide_pcie.prompt.best": (
        "A slot with 16 lanes for {gpu} (now {width}) would help most: prompts about ×{prompt:.1f}.",
        "最有效的改进是把 {gpu} 插到 16 通道插槽（现为 {width} 通道）：预填充约为现在的 {prompt:.1f} 倍。",
    ),
    "machine.help.more_vram.decode.best": (
        "{gib:num} GiB more VRAM than {gpu} has would help most: decode about ×{decode:.1f}.",
        "最有效的改进是比 {gpu} 多 {gib:num} GiB 显存：解码约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.more_vram.fit": (
        "{gib:num} GiB more VRAM than {gpu} has would make it fit.",
        "比 {gpu} 多 {gib:num} GiB 显存即可放下。",
    ),
    "machine.help.new_gpu.decode.best": (
        "A graphics card such as {gpu} would help most: decode about ×{decode:.1f}.",
        "最有效的改进是加一块显卡（如 {gpu}）：解码约为现在的 {decode:.1f} 倍。",
    ),
    "machine.help.new_gpu.fit": (
        "A graphics card such as {gpu} would make it fit.",
        "加一块显卡（如 {gpu}）即可放下。",
    ),
}

_FACTS: Entries = {
    "machine.group.engine": ("What the engine can use", "引擎可用的设备"),
    "machine.label.l3": ("L3 cache", "三级缓存"),
    "machine.label.quota": ("CPU limit", "CPU 限额"),
    "machine.label.vram_reserved": ("Kept by the driver", "驱动保留"),
    "machine.label.state": ("State", "状态"),
    "machine.label.power": ("Power", "供电"),
    "machine.label.power_saver": ("Power saver", "省电模式"),
    "machine.value.quota": ("{n:num} CPUs (container)", "{n:num} 个 CPU（容器）"),
    "machine.value.soldered": ("soldered {kind}, {n:count package|packages}", "板载 {kind}，{n:num} 颗"),
    "machine.value.modules_slots": (
        "{n:num} × {kind} in {slots:num} slots",
        "{n:num} 条 {kind}，共 {slots:num} 个插槽",
    ),
    "machine.value.asleep": ("asleep", "休眠中"),
    "machine.value.awake": ("awake", "运行中"),
    "machine.value.mains": ("mains", "外接电源"),
    "machine.value.battery": ("battery", "电池"),
    "machine.value.saving": ("on", "开启"),
    "machine.value.not_saving": ("off", "关闭"),
    "machine.value.engine_ram": ("always (the rules call it CPU)", "始终可用（放置规则中称为 CPU）"),
    "machine_page.soldered": (
        "Soldered: the channels are a guess from the bus width. Measure the speed.",
        "板载内存：通道数由总线位宽推测。请实测速度。",
    ),
    "machine_page.measured_at": ("Measured {when}.", "测于 {when}。"),
    "machine_page.of_theory": ("{percent} % of the theoretical.", "为理论值的 {percent} %。"),
    "machine_page.shared_host": (
        "A virtual machine shares it with others, so it varies.",
        "虚拟机与其他负载共用内存带宽，数值会波动。",
    ),
    "machine_page.asleep": (
        "Switched off by hybrid graphics. It is not woken to be asked; figures are from when it was awake.",
        "已被混合显卡关闭。为避免唤醒不会查询它，数值来自上次运行时。",
    ),
    "machine_page.reveal.asleep": (
        "It sleeps. Look again while a program uses it, or launch a server.",
        "它正在休眠。请在有程序使用它时重新检测，或启动服务器。",
    ),
    "machine_page.reveal.power": ("The system tells of no battery.", "系统未报告电池。"),
    "machine_page.reveal.power_saver": ("The system tells of no such profile.", "系统未提供此设置。"),
    "machine_page.judged_with": (
        "Judged with {model}, since no model is open. Open one for its own figures.",
        "未打开模型，以 {model} 为例判断。打开模型即可得到它自己的数值。",
    ),
    "machine_page.cancel_measure": ("Stop measuring", "停止测量"),
    "machine_page.free_age": ("{free:size} free, {age}", "空闲 {free:size}，{age}"),
    "machine_page.age.now": ("just now", "刚刚"),
    "machine_page.age.seconds": ("{n:num} s ago", "{n:num} 秒前"),
    "machine_page.age.minutes": ("{n:num} min ago", "{n:num} 分钟前"),
    "machine_page.age.hours": ("{n:count hour|hours} ago", "{n:num} 小时前"),
    "machine_page.compare": ("Compare with snapshot…", "与快照比较…"),
    "confidence.measured": ("measured", "实测"),
    "confidence.told": ("told", "读取"),
    "confidence.estimated": ("estimated", "估计"),
    "confidence.unknown": ("unknown", "未知"),
    "confidence.measured.tip": ("Measured on this machine.", "在这台电脑上测得。"),
    "confidence.told.tip": ("Told by the system, a driver or the firmware.", "由系统、驱动或固件提供。"),
    "confidence.estimated.tip": ("Worked out from other facts.", "由其他信息推算。"),
    "confidence.unknown.tip": ("Nobody tells it.", "无从得知。"),
}

_COMPARE: Entries = {
    "cli.help.measure": ("measure the reading speed of the RAM (about a second)", "测量内存读取速度（约一秒）"),
    "cli.help.compare": ("set this machine beside a saved one", "与保存的机器对比"),
    "compare_machines.title": ("Two machines side by side", "两台机器对比"),
    "compare_machines.here": ("This machine", "本机"),
    "compare_machines.shown": ("Shown machine", "当前显示的机器"),
    "compare_machines.only_differences": ("Only what differs", "只看不同之处"),
    "compare_machines.count": (
        "{n:count fact differs|facts differ} of {total:num}.",
        "共 {total:num} 项，{n:num} 项不同。",
    ),
    "compare_machines.same": ("The two are the same in every fact.", "两台机器的所有项目都相同。"),
    "compare_machines.none": ("not there", "无"),
    "compare_machines.close": ("Close", "关闭"),
    "compare_machines.verdict": ("Verdict", "结论"),
}

_FINDINGS: Entries = {
    "problem.machine_on_battery": (
        "The computer runs on its battery: processor and graphics card are slowed down. Plug it in before measuring.",
        "电脑正在使用电池：处理器和显卡会降速。测量前请接上电源。",
    ),
    "problem.machine_power_saving": (
        "A power saver is on and slows everything down. Choose the balanced or the performance profile.",
        "省电模式已开启，整体速度会变慢。请切换到平衡或高性能模式。",
    ),
    "problem.gpu_asleep": (
        "{gpu} is switched off by hybrid graphics and is not woken to be asked. It wakes when a server starts.",
        "{gpu} 已被混合显卡关闭，不会为了查询而唤醒它。启动服务器时它会自动唤醒。",
    ),
    "problem.driver_too_old": (
        "The driver {driver} of {gpu} is too old for today's CUDA builds (version {needed} or newer). Update it, or use "
        "a Vulkan build.",
        "{gpu} 的驱动 {driver} 过旧，无法运行当前的 CUDA 版本（需要 {needed} 或更新）。请更新驱动，或改用 Vulkan 版本。",
    ),
    "problem.gpu_too_old_for_cuda": (
        "{gpu} (compute capability {capability}) is too old for today's CUDA builds. Use a Vulkan build.",
        "{gpu}（计算能力 {capability}）过旧，当前的 CUDA 版本不再支持。请使用 Vulkan 版本。",
    ),
    "problem.ram_small_for_plan": (
        "The open plan needs {needed_bytes:size} of RAM and {missing_bytes:size} are missing. Close programs, or choose "
        "a smaller file or context.",
        "当前方案需要 {needed_bytes:size} 内存，还缺 {missing_bytes:size}。请关闭程序，或换用更小的文件或上下文。",
    ),
    "problem.vram_small_for_plan": (
        "The open plan needs {needed_bytes:size} on {device} and {missing_bytes:size} are missing. Put more expert layers "
        "in RAM.",
        "当前方案在 {device} 上需要 {needed_bytes:size}，还缺 {missing_bytes:size}。请把更多专家层放到内存。",
    ),
}

ENTRIES: Entries = {**_MEASURING, **_JUDGEMENTS, **_FACTS, **_COMPARE, **_FINDINGS}
