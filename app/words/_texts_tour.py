"""Texts of the tour (``--tour``). Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "tour.stand_in": (
        "No graphics card here: an RPC server at {endpoint} stands in for one. It is this computer's own processor.",
        "这台电脑没有显卡：用 {endpoint} 上的 RPC 服务器代替，实际由本机处理器计算。",
    ),
    "tour.open": (
        "Opened {name}: {n} tensors, and made the best plan for this machine.",
        "打开 {name}：{n} 个张量，并生成了适合本机的最佳方案。",
    ),
    "tour.machine": ("Looked at the machine page.", "查看本机页。"),
    "tour.move": (
        "Moved {card} ({size:size}) to RAM; the command now says {pattern}",
        "把 {card}（{size:size}）移到内存；命令行现在是 {pattern}",
    ),
    "tour.undo": ("Undone: every tensor is back where it was.", "已撤销：所有张量回到原处。"),
    "tour.slider": (
        "Slider: {n} of {total} expert layers in RAM.",
        "滑块：{total} 个专家层中有 {n} 个放内存。",
    ),
    "tour.launch": (
        "Launched: {url} answers, pinned to CPUs {cpus}; {n} buffer sizes agree with the plan.",
        "已启动：{url} 可用，绑定在 CPU {cpus}；{n} 个缓冲区大小与方案一致。",
    ),
    "tour.prompt": (
        "Chatted for 20 seconds: {n} tokens, {tps:num} tok/s live, {samples} samples on the curves.",
        "对话 20 秒：{n} 个 token，实时 {tps:num} tok/s，曲线上有 {samples} 个采样。",
    ),
    "tour.stop": ("Stopped the server.", "已停止服务器。"),
    "tour.export": ("Exported the command as a script: {path}", "命令已导出为脚本：{path}"),
    "tour.done": ("All {n} steps worked. The pictures are in {folder}", "全部 {n} 步成功。图片在 {folder}"),
    "tour.failed": ("The tour stopped: {why}", "演示中止：{why}"),
    "tour.not_seen": ("This did not happen: {what}.", "没有发生：{what}。"),
    "tour.no_picture": ("The picture {path} could not be written.", "无法写入图片 {path}。"),
    "tour.buffers_differ": (
        "{n:count buffer differs|buffers differ} from the plan.",
        "有 {n} 个缓冲区与方案不符。",
    ),
    "tour.what.machine": ("the machine was looked at and the engine answered", "查看本机并得到引擎回应"),
    "tour.what.plan": ("a plan with a graphics card", "带显卡的方案"),
    "tour.what.checked": ("the engine's own dry run agreed with the plan", "引擎试运行与方案一致"),
    "tour.what.card": ("an expert card on the graphics card", "显卡上的专家卡片"),
    "tour.what.move": ("the card moved", "卡片移动"),
    "tour.what.undo": ("the move was undone", "移动被撤销"),
    "tour.what.slider": ("the slider moved that many layers", "滑块移动了相应层数"),
    "tour.what.server": ("the server became ready", "服务器就绪"),
    "tour.what.answer": ("an answer began", "开始回答"),
    "tour.what.answer_end": ("the answer stopped", "回答停止"),
    "tour.what.curves": ("an answer with live curves", "带实时曲线的回答"),
    "tour.what.stop": ("the server stopped", "服务器停止"),
    "tour.what.script": ("a script with the command", "含命令的脚本"),
}
