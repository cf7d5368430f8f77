"""Texts of what goes in and out of the plan page: pasted commands, plan files, comparisons, exports, closing.

Each entry is code: (English, Chinese).
"""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    # pasting a command
    "problem.paste_other_model": (
        "The command is for {named}; it is judged and loaded for the open model, {here}.",
        "此命令针对 {named}；这里按当前打开的模型 {here} 检查和载入。",
    ),
    "problem.paste_listens": (
        "With --host {host} other computers can reach the server. Keep it only if you want that; an API key is then all "
        "that can protect it.",
        "使用 --host {host} 时，其他电脑也能访问该服务器。只在确有需要时保留；此时只有 API 密钥能保护它。",
    ),
    "problem.paste_rpc_servers": (
        "The command uses the RPC servers {servers}, which Lanewise was not started with; the board leaves them out. "
        "Start it with --rpc to plan with them.",
        "命令使用了 RPC 服务器 {servers}，但 Lanewise 启动时没有指定它们，因此布局不包含这些设备。用 --rpc 启动即可一起规划。",
    ),
    "paste.title": ("Paste a command", "粘贴命令"),
    "paste.open": ("Paste a command…", "粘贴命令…"),
    "paste.prompt": (
        "Paste any llama-server command: cmd, PowerShell or bash, one line or many",
        "粘贴任意 llama-server 命令：cmd、PowerShell 或 bash，单行或多行均可",
    ),
    "paste.box": ("The pasted command", "粘贴的命令"),
    "paste.clear": ("Clear", "清空"),
    "paste.kept_aside": (
        "({n:num} characters in all. Only the beginning is shown; the whole text is checked.)",
        "（共 {n:num} 个字符。只显示开头，检查的是全文。）",
    ),
    "paste.findings": ("What it does here", "它在这里的效果"),
    "paste.waiting": (
        "Every rule is checked against the open model, every option against the engine.",
        "每条规则都会与当前模型核对，每个选项都会与引擎核对。",
    ),
    "paste.checking": ("Checking…", "正在检查…"),
    "paste.clean": ("No problem found.", "未发现问题。"),
    "paste.counts": (
        "{errors:count error|errors}, {warnings:count warning|warnings}, {notes:count note|notes}",
        "{errors} 个错误，{warnings} 个警告，{notes} 条提示",
    ),
    "paste.rules": ("Placement rules", "放置规则"),
    "paste.rule": (
        "{hits:count tensor|tensors} found, {size:size}; {moved} decided by this rule",
        "命中 {hits} 个张量，{size:size}；其中 {moved} 个由此规则决定",
    ),
    "paste.rule_nothing": ("matches no tensor of this file", "在此文件中没有匹配到任何张量"),
    "paste.rule_shadowed": ("shadowed by {rule}", "被 {rule} 抢先匹配"),
    "paste.rule_device": ("→ {device}", "→ {device}"),
    "paste.rule_no_device": ("→ no device of this machine ({device})", "→ 本机没有此设备（{device}）"),
    "paste.more_rules": (
        "and {n:count more rule|more rules}, which are counted but not listed",
        "另有 {n} 条规则，已计入但未列出",
    ),
    "paste.more_problems": (
        "and {n:count more problem|more problems} of the same kinds",
        "另有 {n} 个同类问题",
    ),
    "paste.converted": ("The command as Lanewise writes it", "Lanewise 写出的命令"),
    "paste.load": ("Load onto the board", "载入布局"),
    "paste.load.tip": (
        "One step of undo; what the board does not model is kept as it is",
        "只占一步撤销；布局未涉及的内容按原样保留",
    ),
    "problem.paste_no_model": (
        "Open a model first: a command is checked against its file.",
        "请先打开模型：命令要对照模型文件检查。",
    ),
    "paste.copy": ("Copy", "复制"),
    "undo.paste": ("load the pasted command", "载入粘贴的命令"),
    "ui.close": ("Close", "关闭"),
    # what the board does not model
    "kept.title": ("Kept as is:", "按原样保留："),
    "kept.tip": (
        "Options that the board does not model. They stay in the command, word for word.",
        "布局未涉及的选项，会一字不差地留在命令中。",
    ),
    "kept.remove": ("Remove", "移除"),
    "kept.remove.tip": ("Take these options out of the command", "从命令中去掉这些选项"),
    # plan files
    "planfile.menu": ("Plan", "方案"),
    "planfile.menu.tip": ("Save, open, compare; paste a command", "保存、打开、对比；粘贴命令"),
    "planfile.save": ("Save plan", "保存方案"),
    "planfile.save_as": ("Save plan as…", "方案另存为…"),
    "planfile.open": ("Open plan…", "打开方案…"),
    "planfile.recent": ("Recent plans", "最近的方案"),
    "planfile.recent_none": ("No plan saved yet", "尚未保存过方案"),
    "planfile.recent_item": ("{name} — {folder}", "{name} — {folder}"),
    "planfile.compare_before": ("Compare with the plan before", "与上一步的方案对比"),
    "planfile.compare_file": ("Compare with a saved plan…", "与已保存的方案对比…"),
    "planfile.kind": ("Lanewise plans", "Lanewise 方案"),
    "undo.open_plan": ("open the plan {name}", "打开方案 {name}"),
    "problem.plan_saved": ("The plan is saved in {path}.", "方案已保存到 {path}。"),
    "problem.plan_opened": (
        "The plan {name} is on the board, but {n:count thing|things} of it could not be taken over as saved; the evidence "
        "lists each.",
        "方案 {name} 已载入布局，但其中有 {n} 处无法按保存时的样子采用；“依据”中逐一列出。",
    ),
    "problem.plan_needs_model": (
        "The plan {name} is for {model}. Open that model (or another one) first, then the plan.",
        "方案 {name} 针对 {model}。请先打开该模型（或其他模型），再打开方案。",
    ),
    "window.title_plan": ("{plan}[*] — {file} — Lanewise", "{plan}[*] — {file} — Lanewise"),
    "window.key.save_plan": ("Save the plan", "保存方案"),
    "window.key.open_plan": ("Open a saved plan", "打开已保存的方案"),
    "window.key.paste": ("Paste a command", "粘贴命令"),
    "window.key.compare": ("Compare with the plan before", "与上一步的方案对比"),
    # comparing
    "problem.compare_no_plan": (
        "There is no plan before this one: nothing has been changed yet.",
        "还没有上一步的方案：尚未做过任何更改。",
    ),
    "compare.title": ("Compare plans", "对比方案"),
    "compare.before": ("The plan before", "上一步的方案"),
    "compare.board": ("On the board", "当前布局"),
    "compare.against": ("Against", "对比对象"),
    "compare.same": ("Both plans do the same.", "两个方案的效果相同。"),
    "compare.speed": ("Speed", "速度"),
    "compare.decode": ("decode, tok/s", "解码，tok/s"),
    "compare.prompt": ("prompt, tok/s", "预填充，tok/s"),
    "compare.read": ("read from RAM per token", "每个 token 从内存读取"),
    "compare.memory": ("Memory per device", "各设备内存"),
    "compare.left": ("{device}, left free", "{device}，剩余"),
    "compare.moved": ("Cards that moved", "移动了的卡片"),
    "compare.nothing_moved": ("Every tensor stays where it is.", "所有张量的位置都没有变化。"),
    "compare.options": ("Options of the command", "命令选项"),
    "compare.same_options": ("The options are the same.", "选项相同。"),
    "compare.layers": ("layers {blocks}", "第 {blocks} 层"),
    "compare.change": ("Change", "变化"),
    "compare.file": ("Saved plan…", "已保存的方案…"),
    # exports
    "plan.export.preset": ("Router preset (.ini)…", "路由预设（.ini）…"),
    "plan.export.llama-swap": ("llama-swap entry (.yaml)…", "llama-swap 条目（.yaml）…"),
    "plan.export.transformers": ("transformers script (.py)…", "transformers 脚本（.py）…"),
    "export.kind.cmd": ("cmd scripts", "cmd 脚本"),
    "export.kind.powershell": ("PowerShell scripts", "PowerShell 脚本"),
    "export.kind.bash": ("Shell scripts", "Shell 脚本"),
    "export.kind.preset": ("Router presets", "路由预设"),
    "export.kind.llama-swap": ("llama-swap configurations", "llama-swap 配置"),
    "export.kind.transformers": ("Python scripts", "Python 脚本"),
    "export.dialog.preset": ("Export the router preset", "导出路由预设"),
    "export.dialog.llama-swap": ("Export the llama-swap entry", "导出 llama-swap 条目"),
    "export.dialog.transformers": ("Export the transformers script", "导出 transformers 脚本"),
    # what Qt's own Chinese translation of its file dialog lacks; & marks the key
    "qt.look_in": ("&Look in:", "查找范围(&L)："),
    "qt.files_of_type": ("Files of &type:", "文件类型(&T)："),
    "qt.drive": ("Drive", "驱动器"),
    "qt.folder": ("Folder", "文件夹"),
    "qt.file": ("File", "文件"),
    "qt.control": ("Control", "Ctrl"),
    # closing
    "close.title": ("A server is running", "服务器正在运行"),
    "close.question": (
        "llama-server is still running. Stop it and close Lanewise?",
        "llama-server 仍在运行。要停止它并关闭 Lanewise 吗？",
    ),
    "close.note": (
        "A server never outlives the window, so that no memory stays taken unseen.",
        "服务器不会在窗口关闭后继续运行，以免内存被暗中占用。",
    ),
    "close.stop": ("Stop it and close", "停止并关闭"),
    "close.keep": ("Keep the window open", "保持窗口打开"),
    "close.remember": ("Do not ask again", "不再询问"),
    "settings.closing": ("Closing while a server runs", "服务器运行时关闭窗口"),
    "settings.closing_ask": ("Ask first", "先询问"),
    "settings.closing_stop": ("Stop the server and close", "停止服务器并关闭"),
    # a start that failed
    "start.failed.title": ("Lanewise could not start", "Lanewise 无法启动"),
    "start.failed.text": (
        "Something in Lanewise itself broke while it was starting: {why}. Your files are as they were. Copy the report "
        "and send it to the developers, or quit and start again.",
        "Lanewise 在启动过程中自身出错：{why}。你的文件没有被改动。请复制报告发给开发者，或退出后重新启动。",
    ),
    "start.failed.copy": ("Copy report", "复制报告"),
    "start.failed.copied": ("Copied", "已复制"),
    "start.failed.quit": ("Quit", "退出"),
    # the key on screen
    "key.show": ("Show the API key", "显示 API 密钥"),
    "key.hide": ("Hide the API key", "隐藏 API 密钥"),
    # the chat
    "problem.chat_server_ended": (
        "The server ended while it was answering; what is above is all that had arrived. Launch it again and ask once "
        "more.",
        "服务器在回答过程中结束了；上面是已收到的全部内容。请重新启动后再次提问。",
    ),
}
