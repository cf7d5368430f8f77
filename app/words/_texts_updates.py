"""Texts of looking for a newer Lanewise and a newer llama.cpp, which happens only when the user asks."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "updates.title": ("Newer versions", "新版本"),
    "updates.look": ("Check for updates", "检查更新"),
    "updates.stop": ("Stop", "停止"),
    "updates.note": (
        "Nothing is asked unless you press the button, and nothing is installed by it. What is sent is an ordinary "
        "request for the list.",
        "只有按下按钮才会查询，也不会自动安装任何东西。发送的只是获取列表的普通请求。",
    ),
    "updates.address": ("List of Lanewise versions", "Lanewise 版本列表"),
    "updates.address_hint": ("https://… (not needed)", "https://…（可不填）"),
    "updates.app": ("Lanewise", "Lanewise"),
    "updates.engine": ("llama.cpp", "llama.cpp"),
    "updates.asking": ("Asking…", "正在查询…"),
    "updates.never": ("Not asked yet.", "尚未查询。"),
    "updates.newer": ("{newest} is there; you have {here}.", "有新版本 {newest}；当前是 {here}。"),
    "updates.newest": ("You have the newest: {here}.", "已是最新：{here}。"),
    "updates.unlike": (
        "The newest is {newest}; yours ({here}) has no number to compare.",
        "最新版本是 {newest}；当前版本（{here}）没有可比较的编号。",
    ),
    "updates.none_here": ("The newest is {newest}; there is none here yet.", "最新版本是 {newest}；本机还没有。"),
    "updates.page": ("Open the page", "打开网页"),
    "updates.page_name": ("Open the page of {name}", "打开 {name} 的网页"),
    "updates.get": ("Get this llama.cpp…", "获取这个 llama.cpp…"),
    "problem.update_no_address": (
        "Not checked: no list of Lanewise versions is set, and none is needed. llama.cpp is checked all the same.",
        "未检查：没有设置 Lanewise 版本列表，不设置也没关系。llama.cpp 照常检查。",
    ),
    "problem.update_none_listed": (
        "That list holds no finished version of Lanewise.",
        "该列表中没有 Lanewise 的正式版本。",
    ),
    "problem.update_list_bad": (
        "What lies at that address is no list of versions ({why}). Check the address, or try again later.",
        "该地址的内容不是版本列表（{why}）。请检查地址，或稍后重试。",
    ),
}
