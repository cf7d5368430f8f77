"""Texts around the doctor: logs that cannot be read, its verb and its page. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

_LOGS: Entries = {
    "problem.doctor_log_missing": (
        "There is no log {path}. Name the file that llama-server wrote, or - for standard input.",
        "找不到日志 {path}。请指定 llama-server 写出的文件，或用 - 表示标准输入。",
    ),
    "problem.doctor_log_denied": (
        "The log {path} may not be read. Give your user read permission, or copy it to your folder.",
        "无权读取日志 {path}。请为当前用户添加读取权限，或复制到自己的文件夹。",
    ),
    "problem.doctor_log_folder": (
        "{path} is a folder. Name the log file in it.",
        "{path} 是文件夹。请指定其中的日志文件。",
    ),
    "problem.doctor_log_no_file": (
        "{path} is a device or a pipe, not a log file. Name a file, or pipe the log in with --log -.",
        "{path} 是设备或管道，不是日志文件。请指定文件，或用 --log - 从管道读入。",
    ),
    "problem.doctor_log_unreadable": (
        "The log {path} could not be read ({why}). Copy it to this computer's disk and try again.",
        "无法读取日志 {path}（{why}）。请把它复制到本机磁盘后重试。",
    ),
    "problem.doctor_log_binary": (
        "{path} is no text, so it is no log. Name the text that llama-server printed.",
        "{path} 不是文本，因此不是日志。请指定 llama-server 输出的文本。",
    ),
    "problem.doctor_log_is_model": (
        "{path} is a model, not a log. Give it as MODEL, and the log after --log.",
        "{path} 是模型，不是日志。请把它作为 MODEL，并在 --log 之后指定日志。",
    ),
    "problem.doctor_log_no_stdin": (
        "There is no standard input to read a log from. Name a file after --log.",
        "没有可读取日志的标准输入。请在 --log 之后指定文件。",
    ),
}

_CLI: Entries = {
    "cli.verb.doctor": (
        "What is wrong with a log, this machine or a plan, and what changes it.",
        "诊断日志、这台电脑或方案的问题，并给出修正。",
    ),
    "cli.group.doctor": ("Log", "日志"),
    "cli.help.log": (
        "the log of a llama-server to read; - for standard input",
        "要读取的 llama-server 日志；- 表示标准输入",
    ),
    "cli.doctor.fine": ("Nothing is wrong that Lanewise can see.", "Lanewise 没有发现问题。"),
    "cli.doctor.count": (
        "{errors:count error|errors}, {warnings:count warning|warnings}, {notes:count note|notes}",
        "{errors} 个错误，{warnings} 个警告，{notes} 条提示",
    ),
    "cli.doctor.check": ("Check: {text}", "检查：{text}"),
    "cli.doctor.fix": ("Fix: {text}", "修正：{text}"),
}

_PAGE: Entries = {
    "run.to_doctor": ("See cause and fix", "查看原因和修正"),
    "page.doctor": ("Doctor", "诊断"),
    "doctor_page.open": ("Open a log…", "打开日志…"),
    "doctor_page.paste": ("Paste a log", "粘贴日志"),
    "doctor_page.again": ("Look again", "重新检查"),
    "doctor_page.copy": ("Copy report", "复制报告"),
    "doctor_page.copied": ("Copied", "已复制"),
    "doctor_page.copy_tip": (
        "Findings, evidence and machine as text, without keys and without your name in paths",
        "以文本复制结论、证据和机器信息，不含密钥，路径中的用户名已隐去",
    ),
    "doctor_page.close_log": ("Back to this machine and plan", "返回这台电脑和方案"),
    "doctor_page.of_log": ("Log: {name}", "日志：{name}"),
    "doctor_page.of_text": ("Pasted log", "粘贴的日志"),
    "doctor_page.of_run": ("Machine, plan and last run", "电脑、方案和上次运行"),
    "doctor_page.of_plan": ("Machine and plan", "电脑和方案"),
    "doctor_page.busy": ("Looking…", "正在检查…"),
    "doctor_page.check": ("Check: {text}", "检查：{text}"),
    "doctor_page.more": ("{n:count more line|more lines}", "再显示 {n} 行"),
    "doctor_page.less": ("Fewer lines", "收起"),
    "doctor_page.fix_tip": (
        "Changes the plan on the board; Ctrl+Z takes it back",
        "修改当前方案；按 Ctrl+Z 可撤销",
    ),
    "doctor_page.launch_again": ("Apply and launch again", "应用并重新启动"),
    "doctor_page.fine_plan": ("Nothing is wrong with this machine and plan", "这台电脑和方案没有问题"),
    "doctor_page.fine_run": ("Nothing is wrong with the last run", "上次运行没有问题"),
    "doctor_page.fine_log": ("This log shows no failure", "这份日志没有显示故障"),
    "doctor_page.fine_note": (
        "After a failed launch the cause stands here, with its evidence and a fix. Drop the log of any llama-server, "
        "LM Studio, ollama or koboldcpp here to have it read.",
        "启动失败后，这里会显示原因、证据和修正办法。也可以把 llama-server、LM Studio、ollama 或 koboldcpp 的日志拖到这里。",
    ),
    "doctor_page.log_files": ("Logs (*.log *.txt *.out);;All files (*)", "日志 (*.log *.txt *.out);;所有文件 (*)"),
}

ENTRIES: Entries = {
    **_LOGS,
    **_CLI,
    **_PAGE,
}
