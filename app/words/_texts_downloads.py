"""Texts of downloads: why a transfer failed and how far it is. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_SERVER: Entries = {
    "problem.download_cancelled": (
        "The download was cancelled. What has arrived is kept: the next start goes on from there.",
        "已取消下载。已下载的部分会保留，下次从断点继续。",
    ),
    "problem.download_address_bad": (
        "{address} is no web address. It must begin with http:// or https:// and name a host.",
        "{address} 不是有效的网址。它必须以 http:// 或 https:// 开头并包含主机名。",
    ),
    "problem.download_redirect_refused": (
        "{host} sent the download on to {address}, which is not safe to follow. Use another mirror or the official address.",
        "{host} 把下载重定向到 {address}，跟随它不安全。请换一个镜像或使用官方地址。",
    ),
    "problem.download_redirects": (
        "{host} keeps sending the download in circles. Use another mirror, or fetch the file with a browser.",
        "{host} 的重定向不断循环。请换一个镜像，或用浏览器下载该文件。",
    ),
    "problem.download_not_found": (
        "{host} has no {name} (any more). Load the list again, or use another mirror.",
        "{host} 上没有（或已没有）{name}。请重新获取列表，或换一个镜像。",
    ),
    "problem.download_forbidden": (
        "{host} does not hand out {name} (HTTP {status}). It may want a login, or not serve your country: use a mirror, or fetch the file with a browser.",
        "{host} 拒绝提供 {name}（HTTP {status}）。它可能需要登录，或不向你所在的地区提供：请使用镜像，或用浏览器下载该文件。",
    ),
    "problem.download_too_many": (
        "{host} takes no more requests from this network for now. Wait some minutes and try again, or set a mirror.",
        "{host} 暂时不再接受来自本网络的请求。请等几分钟后重试，或设置镜像地址。",
    ),
    "problem.download_http": (
        "{host} answered with HTTP {status}. Try again later, or use a mirror.",
        "{host} 返回了 HTTP {status}。请稍后重试，或使用镜像。",
    ),
    "problem.download_encoded": (
        "{host} packs the file in a way that was not asked for. Use another mirror.",
        "{host} 以未请求的编码方式发送文件。请换一个镜像。",
    ),
    "problem.download_is_page": (
        "{host} sent a web page instead of {name}. A network that wants a login does that, and so does a link to a page "
        "about the file: log in, or use the file's own link.",
        "{host} 返回的是网页而不是 {name}。需要登录的网络会这样，指向介绍页的链接也会这样：请先登录网络，或使用文件本身的链接。",
    ),
}

_NETWORK: Entries = {
    "problem.download_no_such_host": (
        "The name {host} is not known here. Check the internet connection and the address, or set a mirror.",
        "无法解析主机名 {host}。请检查网络连接和地址，或设置镜像。",
    ),
    "problem.download_unreachable": (
        "{host} cannot be reached ({why}). Check the internet connection and the proxy, or set a mirror.",
        "无法连接 {host}（{why}）。请检查网络连接和代理设置，或设置镜像。",
    ),
    "problem.download_silent": (
        "{host} does not answer. Try again later: what has arrived is kept.",
        "{host} 没有响应。请稍后重试：已下载的部分会保留。",
    ),
    "problem.download_slow": (
        "{host} sends less than 1 KiB a second, so the download would never end. Use another mirror, or try again later: "
        "what has arrived is kept.",
        "{host} 的速度低于每秒 1 KiB，下载无法完成。请换一个镜像，或稍后重试：已下载的部分会保留。",
    ),
    "problem.download_head_too_large": (
        "{host} answers with more than {kib} KiB of headers, as no proper server does. Use another mirror, or check the "
        "proxy.",
        "{host} 返回的 HTTP 头超过 {kib} KiB，不是正常的服务器。请换一个镜像，或检查代理。",
    ),
    "problem.download_cut": (
        "The connection to {host} broke off again and again. Try again later: what has arrived is kept.",
        "与 {host} 的连接反复中断。请稍后重试：已下载的部分会保留。",
    ),
    "problem.download_odd_answer": (
        "{host} does not speak proper HTTP ({why}). Use another mirror, or check the proxy.",
        "{host} 的 HTTP 响应不符合规范（{why}）。请换一个镜像，或检查代理。",
    ),
    "problem.download_tls": (
        "No encrypted connection to {host} could be made ({why}). Check the address, the proxy and the computer's clock.",
        "无法与 {host} 建立加密连接（{why}）。请检查地址、代理和电脑时钟。",
    ),
    "problem.download_certificate": (
        "{host} cannot prove who it is ({why}), so nothing was taken from it. Check the computer's clock, and whether a "
        "company proxy or an antivirus program reads encrypted traffic.",
        "{host} 无法证明自己的身份（{why}），因此没有从它下载任何内容。请检查电脑时钟，以及公司代理或杀毒软件是否在拦截加密流量。",
    ),
    "problem.download_proxy_kind": (
        "The proxy {proxy} is of a kind that Lanewise cannot use. Set an HTTP proxy, or fetch the file with a browser.",
        "Lanewise 不支持代理 {proxy} 的类型。请设置 HTTP 代理，或用浏览器下载该文件。",
    ),
    "problem.download_proxy_login": (
        "The proxy wants a name and a password. Put them into its address (http://name:password@host:port).",
        "代理需要用户名和密码。请写入代理地址（http://用户名:密码@主机:端口）。",
    ),
    "problem.download_proxy_refused": (
        "The proxy does not let the connection to {host} through ({why}). Ask whoever runs it, or use a mirror.",
        "代理不允许连接 {host}（{why}）。请联系代理管理员，或使用镜像。",
    ),
}

_FILE: Entries = {
    "problem.download_too_long": (
        "{host} sends more than the {size:size} that were expected; the transfer was ended. Use another mirror.",
        "{host} 发送的数据超过预期的 {size:size}，已中止传输。请换一个镜像。",
    ),
    "problem.download_size_differs": (
        "{name} has {found:size} at {host}, but {size:size} were published: it is not the same file. Use another mirror, or load the list again.",
        "{host} 上的 {name} 为 {found:size}，而公布的大小是 {size:size}：不是同一个文件。请换一个镜像，或重新获取列表。",
    ),
    "problem.download_damaged": (
        "{name} from {host} is not what was published: its SHA-256 differs. It was thrown away; use another mirror or try again.",
        "来自 {host} 的 {name} 与公布的内容不符：SHA-256 不一致。文件已丢弃，请换一个镜像或重试。",
    ),
    "problem.download_no_space": (
        "The disk of {folder} is too small: {needed:size} are needed, {free:size} are free. Make room or choose another folder; what has arrived is kept.",
        "{folder} 所在磁盘空间不足：需要 {needed:size}，剩余 {free:size}。请清理空间或换一个文件夹；已下载的部分会保留。",
    ),
    "problem.download_file_too_large": (
        "The disk of {folder} holds no file as large as {name}: a stick or card with FAT32 ends at 4 GiB. Choose a folder on another disk; what has arrived is kept.",
        "{folder} 所在磁盘存不下 {name} 这么大的文件：FAT32 格式的 U 盘或存储卡最大只支持 4 GiB。请换一个磁盘上的文件夹；已下载的部分会保留。",
    ),
    "problem.download_disk": (
        "{path} cannot be written ({why}). Choose a folder that you may write to.",
        "无法写入 {path}（{why}）。请选择一个有写入权限的文件夹。",
    ),
    "problem.download_exists": (
        "{path} is there already and is another file, or one that cannot be checked. Move it away, or choose another folder.",
        "{path} 已存在，且是另一个文件或无法核对。请把它移走，或换一个文件夹。",
    ),
    "problem.download_busy": (
        "Another Lanewise is downloading {name} at this moment. Let it finish.",
        "另一个 Lanewise 正在下载 {name}。请等它完成。",
    ),
}

_PROGRESS: Entries = {
    "download.progress": ("{done:size} of {total:size}", "{done:size} / {total:size}"),
    "download.progress_unknown": ("{done:size}", "{done:size}"),
    "download.speed": ("{speed:size}/s", "{speed:size}/秒"),
    "download.left_minutes": ("{n:count minute|minutes} left", "剩余 {n} 分钟"),
    "download.left_seconds": ("{n:count second|seconds} left", "剩余 {n} 秒"),
    "download.retrying": ("Connection lost, trying again ({n})…", "连接中断，正在重试（第 {n} 次）…"),
}

ENTRIES: Entries = {**_SERVER, **_NETWORK, **_FILE, **_PROGRESS}
