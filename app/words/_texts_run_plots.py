"""Texts of the run page's further views: speed against depth, the table of all figures. Code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "plot.view_of": ("{title}: {view}. Choose another view", "{title}：{view}。选择其他视图"),
    "plot.view_tip": ("Choose what the speed is drawn against", "选择速度图的横轴"),
    "plot.request_rows": ("{n:count request|requests}, newest first", "{n} 个请求，最新的在前"),
    "run.plot_depth": ("Decode speed against depth", "解码速度与深度"),
    "run.depth_title": ("By depth", "按深度"),
    "run.view_time": ("Decode speed over time", "解码速度随时间变化"),
    "run.view_depth": ("Decode speed against context depth", "解码速度与上下文深度"),
    "run.depth_empty": ("A point for each request", "每个请求一个点"),
    "run.depth_newest": ("at {depth:num} tokens", "深度 {depth:num} token"),
    "run.depth_column.depth": ("Depth (tokens)", "深度（token）"),
    "run.depth_column.decode_tps": ("Decode", "解码"),
    "run.depth_column.decode_tokens": ("Tokens written", "生成的token"),
    "run.depth_column.prompt_tps": ("Prompt", "预填充"),
    "run.depth_column.prompt_tokens": ("Tokens read", "读入的token"),
    "run.note_server": ("server's own", "服务器占用"),
    "run.all_figures": ("All figures", "全部数据"),
    "run.figure.util": ("{device}, load", "{device} 负载"),
    "run.figure.mem_util": ("{device}, memory busy", "{device} 显存读写"),
    "run.figure.temperature": ("{device}, temperature", "{device} 温度"),
    "run.figure.power_w": ("{device}, power", "{device} 功率"),
    "run.figure.clock": ("{device}, clock", "{device} 频率"),
    "run.figure.used": ("{device}, used", "{device} 已用"),
    "run.figure.process": ("{device}, server", "{device} 服务器占用"),
    "run.figure.dedicated": ("{device}, server", "{device} 服务器占用"),
    "run.figure.shared": ("{device}, shared RAM", "{device} 共享内存"),
    "run.figure.allocated": ("{device}, allocated", "{device} 已分配"),
    "run.figure.ram_used": ("RAM, system", "内存（系统）"),
    "run.figure.server_rss": ("RAM, server", "内存（服务器）"),
    "run.figure.commit_free": ("Commit left", "可提交内存剩余"),
    "run.figure.swap_used": ("Swap", "交换区"),
    "run.figure.context": ("Context", "上下文"),
    "run.figure.decode": ("Decode", "解码"),
    "run.figure.prompt": ("Prompt", "预填充"),
    "run.figure.server_cpu": ("Server CPU", "服务器 CPU"),
    "run.figure.cpu": ("CPU {n} ({kind})", "CPU {n}（{kind}）"),
}
