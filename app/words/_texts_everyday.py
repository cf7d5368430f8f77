"""Texts of every day: one window, the tray, the start with the system, saved plans, other programs' settings."""

from __future__ import annotations

from app.words.catalogue import Entries

_WINDOW: Entries = {
    "problem.window_silent": (
        "Another Lanewise window of yours is running but does not answer, so this one was opened beside it. If it is "
        "not on the screen, end it in the Task Manager.",
        "你的另一个 Lanewise 窗口正在运行但没有响应，因此另开了这个窗口。如果屏幕上看不到它，请在任务管理器中结束它。",
    ),
    "cli.help.new-window": (
        "open another window although one is running",
        "已有窗口在运行时仍另开一个窗口",
    ),
    "cli.handed_over": (
        "Handed over to the Lanewise window that is already running. With --new-window another one is opened.",
        "已交给正在运行的 Lanewise 窗口。使用 --new-window 可另开一个窗口。",
    ),
}

_CHAT: Entries = {
    "chat.new": ("New chat", "新对话"),
    "chat.new_note": ("Forget this conversation and begin another", "忘记当前对话，重新开始"),
    "chat.system": ("System prompt", "系统提示词"),
    "chat.system_hint": (
        "What the model is told before every question, for example its role or its language",
        "每次提问前先告诉模型的内容，例如角色或回答语言",
    ),
    "chat.page": ("Engine's page", "引擎网页"),
    "chat.page_note": (
        "Open the page that llama-server itself shows in your browser",
        "在浏览器中打开 llama-server 自带的网页",
    ),
    "chat.attach": ("Add a picture", "添加图片"),
    "chat.pictures": ("Pictures", "图片"),
    "chat.pasted_picture": ("Pasted picture", "粘贴的图片"),
    "chat.drop_picture": ("Take out {name}", "移除 {name}"),
    "chat.picture": ("[picture: {name}]", "[图片：{name}]"),
    "chat.code": ("Code", "代码"),
    "chat.copy": ("Copy", "复制"),
    "chat.again": ("Ask again", "重新回答"),
    "chat.first_token": ("first token after {x:num} s", "首 token 延迟 {x:num} 秒"),
    "problem.chat_no_page": (
        "This llama-server has no page of its own: it was built without one, or --no-ui is among the extra arguments. "
        "Chat here, or use another app with the address above.",
        "这个 llama-server 没有自带网页：构建时未包含，或附加参数中有 --no-ui。请在这里对话，或用上方地址连接其他应用。",
    ),
    "problem.chat_page_key": (
        "The engine's page opens in your browser. It asks for a key: paste it under Settings there, it is on the "
        "clipboard now.",
        "引擎网页将在浏览器中打开。它需要密钥：密钥已复制到剪贴板，请在该网页的设置中粘贴。",
    ),
    "problem.picture_unreadable": (
        "The picture {name} could not be read ({why}). PNG, JPEG, WebP, BMP and GIF up to 100 megapixels can be used.",
        "无法读取图片 {name}（{why}）。可以使用不超过 1 亿像素的 PNG、JPEG、WebP、BMP 和 GIF。",
    ),
}

ENTRIES: Entries = {**_WINDOW, **_CHAT}
