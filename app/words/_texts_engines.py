"""Texts of the engine manager: which llama.cpp, from where, what is wrong with it. Each is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_RELEASE: Entries = {
    "problem.release_list_bad": (
        "The list of llama.cpp builds cannot be read ({why}). Try again later, or set a mirror; an archive that you fetched yourself works without the list.",
        "无法读取 llama.cpp 发行列表（{why}）。请稍后重试或设置镜像；自己下载的压缩包不需要这个列表。",
    ),
    "problem.release_none_here": (
        "There is no official llama.cpp build for this computer ({system} {arch}). Build it from source instead.",
        "官方没有适用于这台电脑（{system} {arch}）的 llama.cpp。请改为从源码编译。",
    ),
    "problem.release_no_package": (
        "There is no package called {name} for this computer. To be had: {known}",
        "没有适用于这台电脑的安装包 {name}。可选：{known}",
    ),
    "problem.engine_sees_no_card": (
        "The {package} package starts but does not see {gpu}, so the model would run on the processor alone. It was not kept; try the next package.",
        "{package} 安装包可以启动，但看不到 {gpu}，模型会只在处理器上运行。该包未保留；请尝试下一个。",
    ),
}

_ARCHIVE: Entries = {
    "problem.archive_missing": (
        "The archive {path} cannot be read ({why}). Choose the file again.",
        "无法读取压缩包 {path}（{why}）。请重新选择文件。",
    ),
    "problem.archive_kind": (
        "{name} is neither a zip nor a tar.gz archive. Choose the archive as it was downloaded, not unpacked.",
        "{name} 不是 zip 或 tar.gz 压缩包。请选择下载得到的原始压缩包，不要先解压。",
    ),
    "problem.archive_damaged": (
        "The archive {name} is damaged ({why}). Download it again.",
        "压缩包 {name} 已损坏（{why}）。请重新下载。",
    ),
    "problem.archive_unsafe": (
        "The archive {name} holds {entry} ({why}), which no honest llama.cpp has; nothing was installed. Get it from the official page.",
        "压缩包 {name} 中含有 {entry}（{why}），正常的 llama.cpp 不会有这种内容；未安装任何东西。请从官方页面获取。",
    ),
    "problem.archive_too_big": (
        "The archive {name} unpacks to far more than a llama.cpp has; nothing was installed. Get it from the official page.",
        "压缩包 {name} 解压后远大于正常的 llama.cpp；未安装任何东西。请从官方页面获取。",
    ),
    "problem.archive_not_written": (
        "The archive cannot be unpacked into {folder} ({why}). Free some space or fix the folder's permissions.",
        "无法解压到 {folder}（{why}）。请释放磁盘空间或修正该文件夹的权限。",
    ),
    "problem.archive_no_server": (
        "There is no llama-server in {name}. Choose an archive whose name begins with llama-b…-bin-.",
        "{name} 中没有 llama-server。请选择文件名以 llama-b…-bin- 开头的压缩包。",
    ),
    "problem.archive_not_published": (
        "{name} is not what llama.cpp published under this name: its SHA-256 is {sha256}. It was not installed; download it again.",
        "{name} 与 llama.cpp 以该名称发布的文件不一致：其 SHA-256 为 {sha256}。未安装；请重新下载。",
    ),
    "problem.archive_unconfirmed": (
        "Nobody here knows {name}. Compare its SHA-256 with the download page and confirm it: {sha256}",
        "这里没有 {name} 的记录。请与下载页面核对其 SHA-256 后再确认：{sha256}",
    ),
}

_KNOWN: Entries = {
    "problem.engine_list_not_saved": (
        "The list of engines {path} cannot be written ({why}). Free some space or fix the folder's permissions.",
        "无法写入引擎列表 {path}（{why}）。请释放磁盘空间或修正该文件夹的权限。",
    ),
    "problem.engine_unknown_id": (
        "No engine is called {id}. `lanewise engines` lists them.",
        "没有名为 {id} 的引擎。用 `lanewise engines` 查看列表。",
    ),
    "problem.engine_not_forgotten": (
        "The engine's folder {path} cannot be removed ({why}). Stop the server that uses it, then try again.",
        "无法删除引擎文件夹 {path}（{why}）。请先停止正在使用它的服务，然后重试。",
    ),
    "problem.engine_none_before": (
        "There is no earlier engine to go back to.",
        "没有可以退回的先前引擎。",
    ),
    "problem.engine_changed": (
        "The engine {id} is another program than before ({before} → {after}). Its saved plans were checked again: look at them before you launch.",
        "引擎 {id} 的程序已变化（{before} → {after}）。用它保存的方案已重新检查，启动前请先看一下。",
    ),
    "problem.plan_file_other_engine": (
        "The plan was saved with another engine ({build}); its command was made anew for the one in use.",
        "该方案是用另一个引擎（{build}）保存的；已按当前引擎重新生成命令。",
    ),
    "problem.engine_missing_file": (
        "The program {path} is gone. An antivirus program may have removed it: look into its quarantine, or get the engine again.",
        "程序 {path} 已不存在。可能被杀毒软件删除：请查看隔离区，或重新获取引擎。",
    ),
    "problem.engine_no_cuda_runtime": (
        "This is a CUDA build, but NVIDIA's runtime (cudart, cublas) is not in {folder}: it will use the processor and not {gpu}. Get the package again, or unpack its cudart archive there.",
        "这是 CUDA 版本，但 {folder} 中缺少 NVIDIA 运行库（cudart、cublas）：它会使用处理器而不是 {gpu}。请重新获取安装包，或把对应的 cudart 压缩包解压到该文件夹。",
    ),
    "problem.engine_cuda_no_card": (
        "This CUDA build does not see {gpu} (driver {driver}): the driver is too old for it, or it no longer supports the card. Update the driver, or get another package.",
        "这个 CUDA 版本看不到 {gpu}（驱动 {driver}）：驱动过旧，或该版本已不支持这块显卡。请更新驱动，或换一个安装包。",
    ),
    "problem.engine_cpu_only": (
        "This build uses the processor alone, although there is {gpu}. Get a package for the card.",
        "这个版本只使用处理器，而这台电脑有 {gpu}。请获取支持显卡的安装包。",
    ),
    "problem.engine_vulkan_but_cuda": (
        "This build reaches {gpu} through Vulkan; the engine {other} reaches it through CUDA, which is mostly faster.",
        "这个版本通过 Vulkan 使用 {gpu}；引擎 {other} 通过 CUDA 使用它，通常更快。",
    ),
    "problem.engine_lacks_architecture": (
        "This build ({build}) does not know models of the kind {architecture}. Get a newer engine.",
        "这个版本（{build}）不认识 {architecture} 类模型。请获取更新的引擎。",
    ),
    "problem.engine_other_kind": (
        "{path} is neither llama.cpp nor ik_llama.cpp; plans may use options that it does not have.",
        "{path} 既不是 llama.cpp 也不是 ik_llama.cpp；方案可能用到它没有的参数。",
    ),
}

_OFFER: Entries = {
    "engine.offer.cuda": (
        "CUDA {cuda} for {gpu}: the fastest way to this card, and the driver is new enough.",
        "适用于 {gpu} 的 CUDA {cuda}：这块显卡最快的方式，驱动版本也足够新。",
    ),
    "engine.offer.cuda_driver_unknown": (
        "CUDA {cuda} for {gpu}. The driver's version is not known; the engine is asked after unpacking.",
        "适用于 {gpu} 的 CUDA {cuda}。驱动版本未知，解压后会询问引擎确认。",
    ),
    "engine.offer.cuda_no_card": ("Needs an NVIDIA card; there is none here.", "需要 NVIDIA 显卡，这台电脑没有。"),
    "engine.offer.cuda_no_runtime": (
        "The CUDA runtime that belongs to it is missing from the release.",
        "该发行版缺少与之配套的 CUDA 运行库。",
    ),
    "engine.offer.cuda_card_too_old": (
        "CUDA {cuda} no longer supports {gpu} (compute capability {capability}): it would silently run on the processor.",
        "CUDA {cuda} 已不支持 {gpu}（计算能力 {capability}）：会悄悄退回到处理器运行。",
    ),
    "engine.offer.cuda_driver_too_old": (
        "CUDA {cuda} needs driver {needed} or newer for {gpu}; {driver} is installed. Update the driver to use it.",
        "{gpu} 使用 CUDA {cuda} 需要驱动 {needed} 或更新版本，当前为 {driver}。更新驱动后即可使用。",
    ),
    "engine.offer.cuda_driver_not_new_enough": (
        "CUDA {cuda} needs a newer driver for {gpu} than {driver}. Update the driver to use it.",
        "{gpu} 使用 CUDA {cuda} 需要比 {driver} 更新的驱动。更新驱动后即可使用。",
    ),
    "engine.offer.vulkan": (
        "Vulkan for {gpu}: works with every maker's cards and with older drivers.",
        "适用于 {gpu} 的 Vulkan：各厂商的显卡和较旧的驱动都能用。",
    ),
    "engine.offer.vulkan_no_card": ("Needs a graphics card; there is none here.", "需要显卡，这台电脑没有。"),
    "engine.offer.rocm": (
        "ROCm for {gpu}: may be faster than Vulkan on some cards, needs AMD's ROCm driver.",
        "适用于 {gpu} 的 ROCm：在部分显卡上可能比 Vulkan 快，需要 AMD 的 ROCm 驱动。",
    ),
    "engine.offer.rocm_no_card": ("Needs an AMD card; there is none here.", "需要 AMD 显卡，这台电脑没有。"),
    "engine.offer.metal": ("For this Mac, with Metal.", "适用于这台 Mac，使用 Metal。"),
    "engine.offer.cpu": ("For the processor alone: no graphics card was found.", "仅使用处理器：没有找到显卡。"),
    "engine.offer.cpu_beside_card": (
        "For the processor alone; {gpu} would not be used.",
        "仅使用处理器；不会用到 {gpu}。",
    ),
}

_GETTING: Entries = {
    "engine.get.listing": ("Loading the list of builds…", "正在获取发行列表…"),
    "engine.get.downloading": ("Downloading {name}", "正在下载 {name}"),
    "engine.get.checking": ("Checking the archive…", "正在检查压缩包…"),
    "engine.get.unpacking": ("Unpacking… {done:size}", "正在解压… {done:size}"),
    "engine.get.testing": (
        "Asking the engine for its version and devices… An antivirus program may take a minute to look at the new files.",
        "正在询问引擎的版本和设备… 杀毒软件检查新文件可能需要一分钟。",
    ),
    "engine.get.done": ("{id} is installed.", "{id} 已安装。"),
    "engine.get.next": ("Trying the next package: {package}", "正在尝试下一个安装包：{package}"),
}

_SHOWN: Entries = {
    "engine.recheck.agrees": ("{name}: the same command; the engine confirms it.", "{name}：命令不变，引擎已确认。"),
    "engine.recheck.same": ("{name}: the same command.", "{name}：命令不变。"),
    "engine.source.downloaded": ("official build", "官方版本"),
    "engine.source.built": ("built here", "本机编译"),
    "engine.source.own": ("your own", "自己的"),
    "engine.kind.mainline": ("llama.cpp", "llama.cpp"),
    "engine.kind.ik_llama.cpp": ("ik_llama.cpp", "ik_llama.cpp"),
    "engine.kind.other": ("another program", "其他程序"),
}

_CLI: Entries = {
    "cli.verb.engines": (
        "The llama-servers known here; gets an official one (--get).",
        "列出已知的 llama-server；可获取官方版本（--get）。",
    ),
    "cli.group.engines": ("Engines", "引擎"),
    "cli.help.get": (
        "fetch an official llama.cpp: the package that suits this machine, or the named one; uses the network",
        "下载官方 llama.cpp：适合这台电脑的安装包，或指定的安装包；会使用网络",
    ),
    "cli.help.packages": (
        "the packages of the newest release and which suits; uses the network",
        "列出最新发行版的安装包及其是否适合；会使用网络",
    ),
    "cli.help.from": (
        "install this archive, fetched by hand; repeat it for the CUDA runtime's",
        "安装手动下载的压缩包；CUDA 运行库的压缩包可重复指定",
    ),
    "cli.help.confirm": (
        "the SHA-256 of an archive that the list does not know, as you have checked it",
        "列表中没有的压缩包的 SHA-256（由你核对确认）",
    ),
    "cli.help.mirror": ("base address to use instead of the official one", "代替官方地址的镜像地址"),
    "cli.help.use": ("use this engine from now on", "从现在起使用这个引擎"),
    "cli.help.back": ("go back to the engine in use before", "退回先前使用的引擎"),
    "cli.help.forget": (
        "take this engine off the list; a downloaded or built one is deleted",
        "从列表中移除这个引擎；下载或编译得到的会被删除",
    ),
    "cli.help.add": ("add a llama-server, or a folder with one, to the list", "把 llama-server 或其文件夹加入列表"),
    "cli.engines.none": (
        "There is no llama-server here yet. Get one with: lanewise engines --get",
        "这里还没有 llama-server。获取方法：lanewise engines --get",
    ),
    "cli.engines.back": ("Go back to {id} with: lanewise engines --back", "退回 {id}：lanewise engines --back"),
    "cli.engines.used": ("In use now: {id}  {path}", "当前使用：{id}  {path}"),
    "cli.engines.packages": ("Packages of {tag} for this computer:", "{tag} 中适用于这台电脑的安装包："),
    "cli.engines.size": ("{size:size}", "{size:size}"),
    "problem.cli_engines_one": (
        "Only one of these at a time: {options}.",
        "以下选项一次只能用一个：{options}。",
    ),
}

_WINDOW: Entries = {
    "engines.title": ("Engines side by side", "引擎列表"),
    "engines.none": (
        "No engine is known yet. Get an official one, add a folder of your own, or build one from source above.",
        "还没有已知的引擎。可以获取官方版本、添加自己的文件夹，或用上面的按钮从源码编译。",
    ),
    "engines.cancel": ("Cancel", "取消"),
    "engines.in_use": ("in use", "使用中"),
    "engines.use": ("Use", "使用"),
    "engines.use_name": ("Use {name}", "使用 {name}"),
    "engines.forget": ("Remove {name} from the list", "从列表中移除 {name}"),
    "engines.get": ("Get an engine…", "获取引擎…"),
    "engines.add": ("Add a folder…", "添加文件夹…"),
    "engines.add_title": ("Folder with a llama-server", "包含 llama-server 的文件夹"),
    "engines.back": ("Go back to {name}", "退回 {name}"),
    "engines.devices_unknown": ("It does not tell its devices.", "它不报告自己的设备。"),
    "engines.devices_none": ("No graphics card; it computes on the processor.", "没有显卡，仅在处理器上计算。"),
    "engines.get_title": ("Get an engine", "获取引擎"),
    "engines.intro": (
        "llama.cpp comes from its official releases. Lanewise asks there only when you click, fetches one package, compares its size and SHA-256 with what was published, and tests whether it sees your card.",
        "llama.cpp 来自其官方发行页。只有在你点击后，Lanewise 才会访问该页：下载一个安装包，核对其大小和 SHA-256，并测试它能否看到你的显卡。",
    ),
    "engines.mirror": ("Mirror", "镜像地址"),
    "engines.mirror_none": ("none: the official address", "无：使用官方地址"),
    "engines.packages": ("Packages for this computer", "适用于这台电脑的安装包"),
    "engines.package": ("{name} · {tag} · {size:size}", "{name} · {tag} · {size:size}"),
    "engines.recommended": ("recommended", "推荐"),
    "engines.tried": ("Tried: it does not work here.", "已尝试：在这台电脑上不可用。"),
    "engines.nothing_yet": (
        "Click “Show the builds” to load the list, or choose an archive that you have fetched yourself.",
        "点击“显示可用版本”获取列表，或选择自己下载好的压缩包。",
    ),
    "engines.show": ("Show the builds", "显示可用版本"),
    "engines.install": ("Get it", "获取"),
    "engines.confirm": ("I have compared it: install", "已核对，安装"),
    "engines.compare": (
        "Nobody here knows {name}. Compare its SHA-256 with the page where you got it:",
        "这里没有 {name} 的记录。请与下载页面上的 SHA-256 核对：",
    ),
    "engines.done": ("{name} is installed and in use now.", "{name} 已安装，现在正在使用。"),
    "engines.archive": ("Use an archive…", "使用压缩包…"),
    "engines.archive_tip": (
        "A llama-…-bin-… archive that you fetched with a browser; for CUDA put the cudart archive beside it",
        "用浏览器下载的 llama-…-bin-… 压缩包；CUDA 版本请把 cudart 压缩包放在同一文件夹",
    ),
    "engines.archive_title": ("Archive of llama.cpp", "llama.cpp 压缩包"),
    "engines.windows": (
        "Windows: Defender looks at the new files for up to a minute, and the first start is slower for it. If SmartScreen asks about llama-server, choose “More info”, then “Run anyway”. If a file disappears, look into the protection history and allow it; the engine is then found again.",
        "Windows：Defender 会花最多一分钟检查新文件，因此首次启动较慢。如果 SmartScreen 询问 llama-server，请点“更多信息”，再点“仍要运行”。如果文件消失，请在“保护历史记录”中允许它，之后引擎即可重新找到。",
    ),
    "engine.backend.cpu": ("CPU", "处理器"),
    "engine.backend.cuda": ("CUDA", "CUDA"),
    "engine.backend.vulkan": ("Vulkan", "Vulkan"),
    "engine.backend.rocm": ("ROCm", "ROCm"),
    "engine.backend.hip": ("HIP", "HIP"),
    "engine.backend.sycl": ("SYCL", "SYCL"),
    "engine.backend.metal": ("Metal", "Metal"),
    "engine.backend.rpc": ("RPC", "RPC"),
    "engine.backend.opencl": ("OpenCL", "OpenCL"),
    "engine.backend.musa": ("MUSA", "MUSA"),
    "engine.backend.cann": ("CANN", "CANN"),
}

ENTRIES: Entries = {**_WINDOW, **_CLI, **_RELEASE, **_ARCHIVE, **_KNOWN, **_OFFER, **_GETTING, **_SHOWN}
