"""Sentences about what was learned on this computer: overheads of cards, corrections of estimates."""

ENTRIES: dict[str, tuple[str, str]] = {
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
