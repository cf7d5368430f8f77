"""Texts of the command: rules and their proof, flags the engine lacks, extra arguments, long commands.

Each entry is code: (English, Chinese).
"""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "problem.override_proof_failed": (
        "The rules made for this board would put {tensor} on {got} instead of {wanted}. This is a mistake in "
        "Lanewise: undo the last move and please report it.",
        "按此布局生成的规则会把 {tensor} 放到 {got}，而不是 {wanted}。这是 Lanewise 的错误：请撤销上一步移动并反"
        "馈给我们。",
    ),
    "problem.override_rule_invalid": (
        "The rule {pattern} for {device} cannot be passed to llama-server. This is a mistake in Lanewise: undo "
        "the last move and please report it.",
        "规则 {pattern}（目标 {device}）无法传给 llama-server。这是 Lanewise 的错误：请撤销上一步移动并反馈给我们。",
    ),
    "problem.override_too_many": (
        "This board needs {n:num} rules, but llama-server takes at most {most:num}. Move whole layers instead of "
        "single tensors.",
        "此布局需要 {n:num} 条规则，但 llama-server 最多接受 {most:num} 条。请按整层移动，而不是逐个张量移动。",
    ),
    "problem.override_unknown_tensor": (
        "The plan moves {tensor}, which this file does not have ({n:count such tensor|such tensors}). The plan "
        "was made for another model: choose a preset to start over.",
        "方案要移动 {tensor}，但此文件中没有它（共 {n} 个这样的张量）。该方案是为另一个模型制作的：请选择一个预设"
        "重新开始。",
    ),
    "problem.placement_device_off": (
        "The plan puts tensors on {device}, which is switched off or missing. Switch it on, or choose a preset to start "
        "over.",
        "方案把张量放在 {device} 上，但该设备已停用或不存在。请启用它，或选择一个预设重新开始。",
    ),
    "problem.homes_proof_failed": (
        "llama-server would not divide the layers among the devices as the board shows (first difference at unit "
        "{unit}). Choose a preset to start over and please report this.",
        "llama-server 不会按布局所示把各层分配到设备（第一处差异在单元 {unit}）。请选择一个预设重新开始，并反馈此"
        "问题。",
    ),
    "problem.engine_lacks_flag": (
        "This llama-server does not know {flag}: “{setting}” is left out and its own default applies. Choose a "
        "newer llama-server to use it.",
        "此 llama-server 不支持 {flag}：已省略“{setting}”，将使用它自己的默认值。如需此设置，请选择更新的 "
        "llama-server。",
    ),
    "problem.engine_lacks_placement": (
        "This llama-server does not know {flag}, so “{setting}” of this placement cannot be carried out. "
        "Choose another llama-server.",
        "此 llama-server 不支持 {flag}，因此无法执行该布局中的“{setting}”。请选择另一个 llama-server。",
    ),
    "problem.extra_repeats_flag": (
        "Your extra arguments give {flag} again. llama-server uses the last one, so the plan's figures may no "
        "longer hold. Remove it from the extra arguments, or set it in the plan.",
        "附加参数中又出现了 {flag}。llama-server 以最后一个为准，方案中的数字可能不再成立。请从附加参数中删除它，"
        "或在方案中设置。",
    ),
    "problem.extra_moves_tensors": (
        "Your extra arguments contain {flag}, which moves tensors behind the board's back. Move the cards "
        "instead and remove it.",
        "附加参数中的 {flag} 会在布局之外移动张量。请删除它，改为移动卡片。",
    ),
    "problem.extra_unknown_flag": (
        "This llama-server does not know {flag} from your extra arguments and would stop at once. Remove it or "
        "choose another llama-server.",
        "此 llama-server 不支持附加参数中的 {flag}，会立即退出。请删除它，或选择另一个 llama-server。",
    ),
    "problem.extra_stops_fit": (
        "Your extra arguments contain {flag}: with it llama-server gives up its automatic fit and loads the plan "
        "unfitted. Remove it, or use a placement of the board instead of the automatic fit.",
        "附加参数中包含 {flag}：llama-server 会因此放弃自动适配，按未适配的状态加载。请删除它，或改用布局中的放置"
        "方案。",
    ),
    "problem.command_too_long": (
        "The command has {n:num} characters, more than the {most:num} that {shell} accepts. Move whole layers "
        "instead of single tensors, or launch from Lanewise.",
        "命令共有 {n:num} 个字符，超过了 {shell} 可接受的 {most:num} 个。请按整层移动而不是逐个张量移动，或直接在"
        " Lanewise 中启动。",
    ),
}
