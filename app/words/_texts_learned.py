"""Sentences about what was learned on this computer: overheads of cards, corrections of estimates."""

ENTRIES: dict[str, tuple[str, str]] = {
    "problem.compute_estimated": (
        "The compute buffers of {architecture} models have not been checked against the engine. Until it has been asked "
        "about this plan they are an estimate on the safe side.",
        "{architecture} 架构的计算缓冲区尚未与引擎核对过；在就此方案询问引擎之前，显示的是偏保守的估计。",
    ),
    "learned.overhead": (
        "{device}: fixed overhead {size:size}, learned from {n:count launch|launches} on this card.",
        "{device}：固定开销 {size:size}，由这张卡上的 {n} 次启动测得。",
    ),
    "learned.corrected": (
        "{device}: corrected by {sign}{size:size}, as the engine said in a like case.",
        "{device}：按引擎在类似情形下的报告修正 {sign}{size:size}。",
    ),
    "board.part.estimated": ("{name}: {size:size} (estimated)", "{name}：{size:size}（估计）"),
    "board.part.from_launches": (
        "{name}: {size:size} (learned from {n:count launch|launches} on this card)",
        "{name}：{size:size}（由这张卡上的 {n} 次启动测得）",
    ),
    "board.part.corrected": (
        "{name}: {size:size} (calibrated: our formula says {formula:size}, the engine said otherwise in a like case)",
        "{name}：{size:size}（已校准：公式给出 {formula:size}，引擎在类似情形下的报告与此不同）",
    ),
    "board.check.taken": (
        "✓ calibrated by the engine: {gap} to our formula",
        "✓ 已按引擎校准：与公式相差 {gap}",
    ),
    "settings.learned": ("Learned on this computer", "本机经验"),
    "settings.learned_nothing": (
        "Nothing yet. Launches tell how much a card takes beyond the model and how fast it runs; the engine's checks"
        " tell where an estimate was wrong.",
        "暂无。启动模型后可得知显卡的额外开销和实际速度，引擎核对则能发现估计的偏差。",
    ),
    "settings.learned_overheads": (
        "Fixed overhead of {cards:count card|cards}, from {launches:count launch|launches}.",
        "{cards} 张显卡的固定开销，来自 {launches} 次启动。",
    ),
    "settings.learned_corrections": (
        "{n:count estimate|estimates} corrected by the engine.",
        "{n} 项估计已按引擎报告修正。",
    ),
    "settings.learned_speeds": ("{n:count measured run|measured runs} behind the speeds.", "速度依据 {n} 次实测。"),
    "settings.learned_note": (
        "The next plans use it. It stays on this computer and is never used for another one.",
        "供后续方案使用。数据只保存在本机，不会用于其他电脑的方案。",
    ),
    "settings.learned_forget": ("Forget what was learned", "清除本机经验"),
    "settings.learned_forget_tip": (
        "Plans use the usual constants again until the next launch",
        "清除后方案改用一般常数，直到下次启动",
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
