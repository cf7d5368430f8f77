"""Texts of every day: one window, the tray, the start with the system, saved plans, other programs' settings."""

from __future__ import annotations

from app.words.catalogue import Entries

_WINDOW: Entries = {
    "crash.title": ("Lanewise met a bug", "Lanewise 遇到了程序错误"),
    "crash.text": (
        "Something in Lanewise went wrong: {why}. The window goes on; if it behaves oddly, save the plan and start again.",
        "Lanewise 内部出错：{why}。窗口会继续运行；如果表现异常，请保存方案后重新启动。",
    ),
    "crash.where": (
        "The report lies in {path}. It holds versions and source lines, no prompt and no answer, and is sent nowhere.",
        "报告保存在 {path}，只包含版本和源代码行，没有提问和回答，也不会发送到任何地方。",
    ),
    "crash.not_written": (
        "The report could not be written to a file. It holds versions and source lines, no prompt and no answer.",
        "报告无法写入文件。其中只包含版本和源代码行，没有提问和回答。",
    ),
    "crash.copy": ("Copy the report", "复制报告"),
    "crash.copied": ("Copied", "已复制"),
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
        "The picture {name} could not be read ({why}). PNG, JPEG and BMP up to 100 megapixels can be used.",
        "无法读取图片 {name}（{why}）。可以使用不超过 1 亿像素的 PNG、JPEG 和 BMP。",
    ),
}

_TRAY: Entries = {
    "close.tray": ("Keep it running in the tray", "留在托盘中继续运行"),
    "close.note_tray": (
        "In the tray the server keeps its memory and stays reachable for other apps. The icon shows its speed, stops it "
        "and brings the window back.",
        "留在托盘时，服务器继续占用内存，其他应用仍可连接。托盘图标显示速度，也可以停止服务器或重新打开窗口。",
    ),
    "settings.closing_tray": ("Keep it running in the tray", "留在托盘中继续运行"),
    "tray.recent": ("Recent plans", "最近的方案"),
    "tray.open": ("Open Lanewise", "打开 Lanewise"),
    "tray.quit": ("Stop and quit", "停止并退出"),
    "tray.question": ("The launch waits for an answer", "启动正在等待你的回答"),
    "tray.no_model": ("No model", "无模型"),
    "tray.address": ("{url} · copy", "{url} · 复制"),
    "everyday.title": ("Every day", "日常使用"),
    "everyday.start": ("Start with the system", "随系统启动"),
    "everyday.start_off": ("No", "否"),
    "everyday.start_plain": ("Yes, in the tray", "是，留在托盘"),
    "everyday.start_plan": ("Yes, and launch “{name}”", "是，并启动“{name}”"),
    "everyday.start_note": (
        "For this user only. Saved plans can be chosen here once they were opened or saved.",
        "仅对当前用户生效。保存或打开过的方案可以在这里选择。",
    ),
    "problem.autostart_failed": (
        "The start with the system could not be changed at {where} ({why}). Nothing was changed there.",
        "无法在 {where} 更改随系统启动（{why}），未作任何更改。",
    ),
    "problem.autostart_from_source": (
        "Lanewise runs from its source folder, which Windows cannot start at sign-in. Install it with the installer or pip, "
        "then switch this on there.",
        "Lanewise 正从源码文件夹运行，Windows 登录时无法这样启动它。请先用安装程序或 pip 安装，再在那里打开此项。",
    ),
    "problem.autostart_too_long": (
        "The command to start with Windows has {characters} characters, and Windows passes over more than {most}. Keep the "
        "plan in a folder with a shorter path and choose it again.",
        "随 Windows 启动的命令有 {characters} 个字符，超过 {most} 个会被 Windows 忽略。请把方案放到路径更短的文件夹里，再重新选择。",
    ),
    "problem.slept_server_well": (
        "The computer slept for about {minutes} min. The server answers again.",
        "电脑睡眠了约 {minutes} 分钟。服务器已恢复响应。",
    ),
    "problem.slept_server_silent": (
        "The computer slept for about {minutes} min, and the server does not answer since. Stop it and launch it again: "
        "a graphics driver may lose its memory over a sleep.",
        "电脑睡眠了约 {minutes} 分钟，之后服务器没有响应。请停止并重新启动：显卡驱动可能在睡眠时丢失显存内容。",
    ),
    "cli.help.tray": (
        "begin in the tray, without a window; with a window where there is no tray",
        "启动后只留在托盘，不显示窗口；没有托盘时显示窗口",
    ),
    "cli.help.launch": (
        "launch the plan of the file as soon as model and engine are known",
        "模型和引擎就绪后立即启动文件中的方案",
    ),
}

_FOREIGN: Entries = {
    "planfile.foreign": ("Settings of another program…", "其他程序的设置…"),
    "planfile.foreign_kind": ("LM Studio, KoboldCpp, Ollama", "LM Studio、KoboldCpp、Ollama"),
    "problem.foreign_left_out": (
        "{program}: {name} = {value} has no counterpart here and was left out.",
        "{program}：{name} = {value} 在这里没有对应的选项，已略去。",
    ),
    "problem.foreign_unknown": (
        "{name} holds no settings of LM Studio, KoboldCpp or Ollama that can be read here. Paste the command instead.",
        "{name} 中没有可以识别的 LM Studio、KoboldCpp 或 Ollama 设置。可以改为粘贴命令。",
    ),
    "problem.foreign_unreadable": (
        "{name} could not be read ({why}). Choose another file, or paste the command.",
        "无法读取 {name}（{why}）。请选择其他文件，或粘贴命令。",
    ),
    "cli.help.settings": (
        "settings of LM Studio, KoboldCpp (.kcpps) or Ollama (Modelfile) instead of a command",
        "以 LM Studio、KoboldCpp（.kcpps）或 Ollama（Modelfile）的设置文件代替命令",
    ),
}

_SHELF: Entries = {
    "shelf.title": ("Plans of this model", "此模型的方案"),
    "shelf.empty": (
        "No plan is kept for this model yet. Give the plan on the board a name, write down what it is for, and keep it.",
        "此模型还没有保存的方案。给当前方案起个名字，写下用途，然后保存。",
    ),
    "shelf.all": ("Of all models", "显示所有模型"),
    "shelf.column.name": ("Name", "名称"),
    "shelf.column.model": ("Model", "模型"),
    "shelf.column.context": ("Context", "上下文"),
    "shelf.column.saved": ("Saved", "保存时间"),
    "shelf.column.note": ("Note", "备注"),
    "shelf.name_hint": ("Name, for example: long documents", "名称，例如：长文档"),
    "shelf.note_hint": (
        "Note: what it is for, how fast it was, what to watch",
        "备注：用途、速度、注意事项",
    ),
    "shelf.keep": ("Keep the plan on the board", "保存当前方案"),
    "shelf.keep_note": ("Under this name, as one more plan of this model", "以此名称另存为该模型的一个方案"),
    "shelf.rename": ("Change name and note", "修改名称和备注"),
    "shelf.delete": ("Delete", "删除"),
    "shelf.delete_really": ("Delete {n:count plan|plans} for good", "永久删除 {n} 个方案"),
    "shelf.router": ("Router preset…", "路由预设…"),
    "shelf.router_note": (
        "One file for llama-server --models-preset, with a section for each marked plan",
        "生成一个用于 llama-server --models-preset 的文件，每个选中的方案一节",
    ),
    "shelf.router_run": ("Start it with: {command}", "启动命令：{command}"),
    "shelf.router_one": (
        "Every plan was made for the whole machine: with --models-max 1 one model leaves before the next is loaded.",
        "每个方案都按整台电脑制定：使用 --models-max 1 时，加载下一个模型前会先卸载当前模型。",
    ),
    "problem.router_exported": (
        "Written to {path}. Start it with {command}; requests ask for a model by the name {names}.",
        "已写入 {path}。启动命令：{command}；请求中用模型名 {names} 指定模型。",
    ),
    "problem.router_lost": (
        "These models are not where their plans say: {paths}. The router will refuse them until they are back.",
        "以下模型不在方案记录的位置：{paths}。在恢复之前，路由无法加载它们。",
    ),
    "problem.preset_no_command": (
        "The plan {name} holds no command, so it has no model to load. Open it with its model and keep it once more.",
        "方案 {name} 中没有命令，无法确定要加载的模型。请打开它和对应的模型，再保存一次。",
    ),
    "shelf.open": ("Open", "打开"),
}

_PASSED: Entries = {
    "passed.open": ("Sampling and chat template…", "采样与对话模板…"),
    "passed.title": ("Sampling and chat template", "采样与对话模板"),
    "passed.note": (
        "Handed to llama-server as they are. They move no memory; an empty field leaves the engine's default.",
        "原样传给 llama-server，不影响内存占用；留空则使用引擎默认值。",
    ),
    "passed.none": (
        "This llama-server lists none of these options. Choose a newer one on the Settings page.",
        "这个 llama-server 没有这些选项。请在设置页选择较新的版本。",
    ),
    "passed.default": ("engine's default", "引擎默认值"),
    "passed.temp": ("Temperature", "温度"),
    "passed.top_k": ("Top-k", "Top-k"),
    "passed.top_p": ("Top-p", "Top-p"),
    "passed.min_p": ("Min-p", "Min-p"),
    "passed.repeat_penalty": ("Repeat penalty", "重复惩罚"),
    "passed.chat_template": ("Chat template (name)", "对话模板（名称）"),
    "passed.chat_template_file": ("Chat template (file)", "对话模板（文件）"),
    "passed.jinja": ("Jinja templates", "Jinja 模板"),
    "passed.reasoning_budget": ("Reasoning budget (tokens)", "推理预算（token）"),
    "passed.sleep_idle": ("Unload when idle for (seconds)", "空闲多久后卸载（秒）"),
    "passed.choose": ("Choose a file", "选择文件"),
    "passed.apply": ("Apply", "应用"),
    "passed.cancel": ("Cancel", "取消"),
    "problem.passed_bad_value": (
        "{option} cannot be “{value}”: a number from {least:num} to {most:num} is needed.",
        "{option} 不能是“{value}”：需要 {least:num} 到 {most:num} 之间的数字。",
    ),
}

ENTRIES: Entries = {**_WINDOW, **_CHAT, **_TRAY, **_FOREIGN, **_SHELF, **_PASSED}
