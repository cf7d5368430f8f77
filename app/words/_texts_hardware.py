"""Texts of the machine page and hardware facts. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_CORES: Entries = {
    "cpu.reason.p_cores": (
        "One thread per P-core: E-cores would make the fast ones wait.",
        "每个大核（P-core）一个线程：加入小核反而会让大核等待。",
    ),
    "cpu.reason.physical_cores": (
        "One thread per physical core: a second thread on a core reads RAM no faster.",
        "每个物理核心一个线程：同一核心上的第二个线程不会更快地读取内存。",
    ),
    "cpu.reason.all_cpus": ("All CPUs: they look alike here.", "使用全部 CPU：在此系统中它们没有差别。"),
    "cpu.reason.limited": (
        "As many as this program may use: a container or an affinity mask limits it.",
        "按本程序可用的数量：容器或亲和性掩码限制了可用的 CPU。",
    ),
    "machine.cores.hybrid": (
        "{p:count P-core|P-cores} + {e:count E-core|E-cores}, {t:count thread|threads}",
        "{p:num} 个大核 + {e:num} 个小核，{t:num} 线程",
    ),
    "machine.cores.hybrid_lp": (
        "{p:count P-core|P-cores} + {e:count E-core|E-cores} + {lp:count LP-E-core|LP-E-cores}, "
        "{t:count thread|threads}",
        "{p:num} 个大核 + {e:num} 个小核 + {lp:num} 个低功耗小核，{t:num} 线程",
    ),
    "machine.cores.uniform": (
        "{n:count core|cores}, {t:count thread|threads}",
        "{n:num} 个核心，{t:num} 线程",
    ),
    "machine.cores.for_engine": (
        "The engine gets CPUs {cpus} and {threads:count thread|threads}.",
        "引擎使用 CPU {cpus}，共 {threads:num} 个线程。",
    ),
}

_LABELS: Entries = {
    "machine.title": ("This machine", "本机"),
    "machine.title_saved": ("Saved machine", "已保存的机器"),
    "machine.group.cpu": ("Processor", "处理器"),
    "machine.group.ram": ("Memory (RAM)", "内存 (RAM)"),
    "machine.group.gpu": ("Graphics", "显卡"),
    "machine.group.system": ("System", "系统"),
    "machine.label.os": ("Operating system", "操作系统"),
    "machine.label.taken_at": ("Looked at", "检测时间"),
    "machine.label.cpu": ("Model", "型号"),
    "machine.label.cores": ("Cores", "核心"),
    "machine.label.for_engine": ("For the engine", "供引擎使用"),
    "machine.label.virtual": ("Virtual machine", "虚拟机"),
    "machine.label.ram_total": ("Installed", "总容量"),
    "machine.label.ram_available": ("Available now", "当前可用"),
    "machine.label.ram_modules": ("Modules", "内存条"),
    "machine.label.ram_speed": ("Speed", "频率"),
    "machine.label.channels": ("Channels", "通道"),
    "machine.label.theoretical": ("Peak bandwidth", "理论带宽"),
    "machine.label.measured": ("Measured read", "实测带宽"),
    "machine.label.gpu": ("Name", "名称"),
    "machine.label.engine_name": ("Name in the engine", "引擎中的名称"),
    "machine.label.vram_total": ("VRAM", "显存 (VRAM)"),
    "machine.label.vram_shared": ("Shared RAM", "共享内存"),
    "machine.label.vram_free": ("Free now", "当前空闲"),
    "machine.label.vram_bandwidth": ("VRAM bandwidth", "显存带宽"),
    "machine.label.pcie": ("PCIe link", "PCIe 连接"),
    "machine.label.display": ("Drives a display", "连接显示器"),
    "machine.label.driver": ("Driver", "驱动"),
    "machine.label.compute_capability": ("Compute capability", "计算能力"),
    "machine.label.source": ("Source", "来源"),
    "machine.label.fact": ("Fact", "项目"),
    "machine.label.value": ("Value", "数值"),
    "machine.value.unknown": ("unknown", "未知"),
    "machine.value.yes": ("yes", "是"),
    "machine.value.no": ("no", "否"),
    "machine.value.modules": ("{n:num} × {kind}", "{n:num} 条 {kind}"),
    "machine.value.speed": ("{mts:num} MT/s", "{mts:num} MT/s"),
    "machine.value.channels": ("{n:num}", "{n:num}"),
    "machine.value.gbs": ("{gbs:num} GB/s", "{gbs:num} GB/s"),
    "machine.value.pcie": ("PCIe {gen}.0 x{width}", "PCIe {gen}.0 x{width}"),
    "machine.value.pcie_now": (
        "PCIe {gen}.0 x{width} (now {gen_now}.0 x{width_now}; idle links slow down)",
        "PCIe {gen}.0 x{width}（当前 {gen_now}.0 x{width_now}，空闲时会降速）",
    ),
    "machine.value.not_asked": ("the engine has not been asked yet", "尚未询问引擎"),
    "machine.value.not_usable": ("not usable by this engine", "当前引擎无法使用"),
    "machine.gpu.kind.gpu": ("graphics card", "独立显卡"),
    "machine.gpu.kind.igpu": ("integrated graphics", "集成显卡"),
    "machine.gpu.kind.rpc": ("another machine (RPC)", "另一台机器 (RPC)"),
    "machine.gpu.software": ("software renderer (runs on the CPU)", "软件渲染器（在 CPU 上运行）"),
    "machine.measure": ("Measure RAM speed", "测量内存速度"),
    "machine.refresh": ("Look again", "重新检测"),
    "machine.back": ("Back to this machine", "回到本机"),
    "machine.save": ("Save snapshot…", "保存快照…"),
    "machine.load": ("Open snapshot…", "打开快照…"),
}

_SOURCES: Entries = {
    "source.psutil": ("operating system", "操作系统"),
    "source.cgroup": ("container limit", "容器限制"),
    "source.procfs": ("Linux /proc", "Linux /proc"),
    "source.sysfs": ("Linux /sys", "Linux /sys"),
    "source.cpu_capacity": ("Linux scheduler (cpu_capacity)", "Linux 调度器 (cpu_capacity)"),
    "source.cpufreq": ("top clock speeds (cpufreq)", "最高频率 (cpufreq)"),
    "source.win32": ("Windows", "Windows"),
    "source.registry": ("Windows registry", "Windows 注册表"),
    "source.cpuinfo": ("py-cpuinfo", "py-cpuinfo"),
    "source.smbios": ("firmware (SMBIOS)", "固件 (SMBIOS)"),
    "source.udev": ("firmware, read by udev", "固件（经 udev 读取）"),
    "source.rated_speed": (
        "firmware: the rated speed; it may run slower",
        "固件给出的标称频率，实际可能更低",
    ),
    "source.estimate": ("from channels, speed", "由通道数和频率计算"),
    "source.estimate_locator": ("from slot names", "根据插槽名称"),
    "source.estimate_width": ("from bus widths", "根据总线位宽"),
    "source.estimate_count": ("from module count", "根据内存条数量"),
    "source.measured": ("measured here", "本机实测"),
    "source.nvml": ("NVIDIA driver (NVML)", "NVIDIA 驱动 (NVML)"),
    "source.dxgi": ("Windows graphics (DXGI)", "Windows 图形接口 (DXGI)"),
    "source.engine": ("llama-server --list-devices", "llama-server --list-devices"),
    "source.rule": ("Lanewise", "Lanewise"),
    "source.user": ("entered by you", "由你输入"),
}

_VERDICTS: Entries = {
    "machine.verdict.one_gpu": (
        "{gpu}: {free:size} of {total:size} VRAM are free.",
        "{gpu}：显存 {total:size}，空闲 {free:size}。",
    ),
    "machine.verdict.one_rpc": (
        "No GPU here, but {gpu} offers {free:size} of {total:size} over the network (RPC).",
        "本机没有可用的 GPU，但 {gpu} 通过网络 (RPC) 提供 {total:size} 中的 {free:size}。",
    ),
    "machine.verdict.one_gpu_unknown": (
        "{gpu} was found, but how much VRAM it has free is unknown.",
        "检测到 {gpu}，但无法得知其空闲显存。",
    ),
    "machine.verdict.gpus": (
        "{n:count GPU|GPUs} with {free:size} of VRAM free together.",
        "共 {n:num} 个 GPU，合计空闲显存 {free:size}。",
    ),
    "machine.verdict.gpu_unusable": (
        "{gpu} is there, but this llama-server cannot use it: everything runs on the CPU.",
        "检测到 {gpu}，但当前的 llama-server 无法使用它：全部计算将在 CPU 上进行。",
    ),
    "machine.verdict.igpu": (
        "Only integrated graphics ({gpu}): it shares the RAM, so it adds no memory and little decode speed.",
        "只有集成显卡（{gpu}）：它与 CPU 共用内存，不会增加容量，对解码速度帮助也很小。",
    ),
    "machine.verdict.no_gpu": (
        "No GPU was found: the whole model runs on the CPU, from RAM.",
        "没有检测到 GPU：整个模型将在 CPU 上运行，全部放在内存中。",
    ),
    "machine.verdict.ram_measured": (
        "What stays in RAM is read at {gbs:num} GB/s (measured): that limits decode.",
        "留在内存中的部分以 {gbs:num} GB/s（实测）读取，这决定了解码速度。",
    ),
    "machine.verdict.ram_theory": (
        "What stays in RAM is read at up to {gbs:num} GB/s ({channels:count channel|channels}, in theory): that limits "
        "decode.",
        "留在内存中的部分读取速度最高 {gbs:num} GB/s（{channels:num} 通道理论值），这决定了解码速度。",
    ),
    "machine.verdict.ram_one_channel": (
        "Decode will be limited by RAM: one channel, {gbs:num} GB/s measured.",
        "解码速度受内存限制：单通道，实测 {gbs:num} GB/s。",
    ),
    "machine.verdict.ram_one_channel_theory": (
        "Decode will be limited by RAM: one channel, at most {gbs:num} GB/s.",
        "解码速度受内存限制：单通道，最高 {gbs:num} GB/s。",
    ),
    "machine.verdict.ram_unknown": (
        "How fast the RAM is, is not known yet: measure it to get a speed prediction.",
        "内存速度尚不清楚：请先测量，才能预测解码速度。",
    ),
}

_FINDINGS: Entries = {
    "problem.no_gpu": (
        "No GPU was found, so every layer runs on the CPU. If there is one, install its driver and look again.",
        "没有检测到 GPU，所有层都将在 CPU 上运行。如果装有显卡，请安装驱动后重新检测。",
    ),
    "problem.only_integrated_gpu": (
        "{gpu} is integrated and shares the RAM: layers placed there save no RAM. Compare both placements by measuring.",
        "{gpu} 是集成显卡，与 CPU 共用内存：把层放在上面不会节省内存。请实测比较两种放置方式。",
    ),
    "problem.engine_does_not_see_gpu": (
        "This llama-server cannot use {gpu}. Choose a build for it (CUDA, Vulkan, ROCm) in the settings, or update the "
        "driver.",
        "当前的 llama-server 无法使用 {gpu}。请在设置中选择支持它的版本（CUDA、Vulkan、ROCm），或更新显卡驱动。",
    ),
    "problem.software_gpu": (
        "{device} ({gpu}) is no graphics card: it runs on the CPU, slowly. Switch this column off.",
        "{device}（{gpu}）不是真正的显卡，它在 CPU 上运行，速度很慢。请关闭这一列。",
    ),
    "problem.single_channel": (
        "The RAM seems to run on one channel ({gbs:num} GB/s): there is one module. A second equal one in the other "
        "channel's slot doubles that bandwidth.",
        "内存似乎只有单通道（{gbs:num} GB/s）：只装了一条内存。在另一通道的插槽再加一条相同的内存，带宽可翻倍。",
    ),
    "problem.single_channel_slots": (
        "The RAM seems to run on one channel ({gbs:num} GB/s). If there are several modules, put them into the slots "
        "of different channels (see the board's manual).",
        "内存似乎只有单通道（{gbs:num} GB/s）。如果装有多条内存，请插到不同通道的插槽中（参见主板说明书）。",
    ),
    "problem.narrow_pcie": (
        "{gpu} is connected by {width} of {max_width} PCIe lanes. Check that it sits in the widest slot; prompts are "
        "processed more slowly like this.",
        "{gpu} 只用了 {max_width} 条 PCIe 通道中的 {width} 条。请确认显卡插在最宽的插槽中，否则预填充会变慢。",
    ),
    "problem.narrow_pcie_slot": (
        "{gpu} has a link of only {width} PCIe lanes. Weights in RAM reach it slowly: keep the micro-batch large for "
        "long prompts.",
        "{gpu} 的 PCIe 连接只有 {width} 条通道，内存中的权重传输较慢。处理长提示时请使用较大的微批次（-ub）。",
    ),
    "problem.ram_small": (
        "RAM ({ram_bytes:size}) and VRAM ({vram_bytes:size}) together are small for a 30B MoE model (about 17 GiB at 4 "
        "bits). Choose a smaller model or a smaller quantization.",
        "内存（{ram_bytes:size}）加显存（{vram_bytes:size}）对 30B 级 MoE 模型（4 位量化约 17 GiB）来说偏小。"
        "请选择更小的模型或更低的量化。",
    ),
    "problem.saved_machine_not_measured": (
        "These are the figures of a saved machine. Go back to this machine on the Machine page to measure its RAM.",
        "这里显示的是已保存的机器。请先在“本机”页回到本机，再测量内存速度。",
    ),
    "problem.virtual_machine": (
        "This is a virtual machine: it does not show P-cores, E-cores or memory channels. Run Lanewise on the host to "
        "see them.",
        "当前在虚拟机中运行：看不到大核、小核和内存通道。在宿主机上运行 Lanewise 才能看到。",
    ),
    "problem.cpu_limited": (
        "This program may use less than all {cpus:count CPU|CPUs}, so the engine gets {threads:count thread|threads}. "
        "Lift the container's or the affinity's limit for more.",
        "本程序不能使用全部 {cpus:num} 个 CPU，因此引擎使用 {threads:num} 个线程。如需更多，请放宽容器或亲和性限制。",
    ),
    "problem.few_p_cores": (
        "There are only {p:count P-core|P-cores} beside {e:count E-core|E-cores}: P-cores alone may not be fastest. Measure "
        "-t {p}, -t {p_threads} and -t {cores} (all cores but the low-power ones) and keep the fastest.",
        "只有 {p:num} 个大核，另有 {e:num} 个小核：只用大核未必最快。请分别实测 -t {p}、-t {p_threads} 和 -t {cores}"
        "（除低功耗小核外的全部核心），选用最快的。",
    ),
}

_PROBLEMS: Entries = {
    "problem.cpu_probe_failed": (
        "The processor could not be examined fully. Set the number of threads by hand if it is wrong.",
        "无法完整检测处理器。如果线程数不对，请手动设置。",
    ),
    "problem.memory_probe_failed": (
        "The amount of RAM could not be read. Enter it by hand (--ram-mib).",
        "无法读取内存大小。请手动输入（--ram-mib）。",
    ),
    "problem.memory_modules_failed": (
        "The firmware does not tell about memory modules. Measure the RAM speed instead.",
        "固件没有提供内存条信息。请改为测量内存速度。",
    ),
    "problem.gpu_probe_failed": (
        "The graphics cards could not be examined fully. The engine's own list is used instead.",
        "无法完整检测显卡，改用引擎自己的设备列表。",
    ),
    "problem.os_probe_failed": (
        "The system's version could not be read. Nothing depends on it.",
        "无法读取系统版本，不影响使用。",
    ),
    "problem.nvml_missing": (
        "There is an NVIDIA card, but its management library (NVML) was not found. Install or update the NVIDIA driver.",
        "检测到 NVIDIA 显卡，但找不到其管理库 (NVML)。请安装或更新 NVIDIA 驱动。",
    ),
    "problem.nvml_failed": (
        "The NVIDIA driver does not answer. Restart the computer, or reinstall the driver.",
        "NVIDIA 驱动没有响应。请重启电脑，或重新安装驱动。",
    ),
    "problem.nvml_conflict": (
        "Another package provides the module “pynvml”. Uninstall it and install nvidia-ml-py again.",
        "另一个软件包占用了 pynvml 模块。请卸载它，然后重新安装 nvidia-ml-py。",
    ),
    "problem.snapshot_missing": (
        "There is no machine snapshot {path}. Check the path.",
        "找不到硬件快照 {path}。请检查路径。",
    ),
    "problem.snapshot_unreadable": (
        "{path} is not a machine snapshot. Save a new one with “lanewise machine --json”.",
        "{path} 不是有效的硬件快照。请用 lanewise machine --json 重新保存。",
    ),
    "problem.without_words": (
        "This file holds a note that only another version of Lanewise can read (code {code}). Open it with a newer one.",
        "此文件中有一条只有其他版本的 Lanewise 才能解读的提示（代码 {code}）。请用更新的版本打开。",
    ),
    "problem.snapshot_newer": (
        "{path} was written by a newer Lanewise (layout {version}). Update Lanewise to open it.",
        "{path} 由更新版本的 Lanewise 保存（格式版本 {version}）。请更新 Lanewise 后再打开。",
    ),
    "problem.snapshot_not_saved": (
        "The snapshot could not be written to {path}. Choose a folder you may write to.",
        "无法将快照写入 {path}。请选择有写入权限的文件夹。",
    ),
    "problem.bandwidth_cancelled": (
        "The RAM measurement was stopped. Start it again for a figure.",
        "内存测速已取消。需要结果时请重新测量。",
    ),
    "problem.bandwidth_no_memory": (
        "Too little RAM is free to measure its speed (about {needed_bytes:size} needed). Close other programs and try "
        "again.",
        "空闲内存不足，无法测速（约需 {needed_bytes:size}）。请关闭其他程序后重试。",
    ),
    "problem.sampler_failed": (
        "One of the live readings failed ({sampler}); its curve has gaps. The others go on.",
        "一项实时读数（{sampler}）失败，其曲线会有缺口，其余不受影响。",
    ),
}

ENTRIES: Entries = {**_CORES, **_LABELS, **_SOURCES, **_VERDICTS, **_FINDINGS, **_PROBLEMS}
