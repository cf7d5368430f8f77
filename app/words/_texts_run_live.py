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

ENTRIES: Entries = {**_BEFORE}
