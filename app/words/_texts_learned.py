"""Sentences about what was learned on this computer: overheads of cards, corrections of estimates."""

ENTRIES: dict[str, tuple[str, str]] = {
    "learned.overhead": (
        "{device}: fixed overhead {size:size}, learned from {n:count launch|launches} on this card.",
        "{device}：固定开销 {size:size}，由这张卡上的 {n} 次启动测得。",
    ),
    "learned.corrected": (
        "{device}: corrected by {sign}{size:size}, as the engine said in a like case.",
        "{device}：按引擎在类似情形下的报告修正 {sign}{size:size}。",
    ),
    "cli.verify.learned": (
        "The difference is kept and used for the next plan of this kind.",
        "已记录该差异，下次同类方案会据此修正。",
    ),
    "problem.learned_damaged": (
        "The file with what was learned on this computer is damaged, so it starts anew. The old file is kept as"
        " {kept}.",
        "记录本机经验数据的文件已损坏，将重新积累。原文件保留为 {kept}。",
    ),
    "problem.learned_unreadable": (
        "What was learned on this computer cannot be read from {path} ({reason}), so the usual constants are used."
        " Check the permissions of the file.",
        "无法从 {path} 读取本机的经验数据（{reason}），已改用一般常数。请检查该文件的权限。",
    ),
    "problem.learned_not_saved": (
        "What was learned could not be saved to {path} ({reason}); it holds until Lanewise is closed. Check the free"
        " space and the permissions of the folder.",
        "经验数据无法保存到 {path}（{reason}），关闭 Lanewise 后即失效。请检查磁盘空间和文件夹权限。",
    ),
}
