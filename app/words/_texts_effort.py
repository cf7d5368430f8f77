"""Texts of quiet and full speed: the wish, the choices for mains and battery, the question before a launch."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "plan.wish.effort": ("Effort", "运行强度"),
    "plan.wish.effort.tip": (
        "Quiet: half the threads, low priority and no busy waiting (-t, --prio, --poll). The processor stays cooler and "
        "its fan slower; the graphics card works as before.",
        "安静：线程减半、低优先级、不忙等（-t、--prio、--poll）。处理器温度和风扇转速都会降低；显卡不受影响。",
    ),
    "effort.full": ("Full speed", "全速"),
    "effort.quiet": ("Quiet", "安静"),
    "effort.ask": ("Ask before each launch", "每次启动前询问"),
    "effort.on_mains": ("On mains", "接通电源时"),
    "effort.on_battery": ("On battery", "使用电池时"),
    "effort.note": (
        "Quiet plans use half the threads at low priority, and other programs stay quick. A plan is never changed "
        "unseen: when the plug was pulled since, the launch asks first.",
        "安静的方案只用一半线程和低优先级，其他程序不受拖累。方案不会被悄悄更改：如果之后拔掉了电源，启动前会先询问。",
    ),
    "problem.plan_is_quiet": (
        "This plan is quiet: {threads:count thread|threads} instead of {usual}, low priority, no busy waiting. The speed "
        "shown is that of full speed; a quiet run is slower wherever the processor computes.",
        "这是安静方案：{threads} 个线程（全速为 {usual} 个）、低优先级、不忙等。显示的是全速时的速度；凡由处理器计算的部分都会变慢。",
    ),
    "problem.plan_is_quiet_same_threads": (
        "This plan is quiet: low priority and no busy waiting, with {threads:count thread|threads} as chosen. The speed "
        "shown is that of full speed; a quiet run is slower wherever the processor computes.",
        "这是安静方案：低优先级、不忙等，线程数保持所选的 {threads} 个。显示的是全速时的速度；凡由处理器计算的部分都会变慢。",
    ),
    "problem.launch_on_battery": (
        "The computer runs on its battery, and this plan runs at full speed. Quiet changes the command: {changes}.",
        "电脑正在使用电池，而这个方案以全速运行。改为安静后命令的变化：{changes}。",
    ),
    "problem.launch_on_mains": (
        "The computer is plugged in again, and this plan was made quiet for the battery. Full speed changes the command: "
        "{changes}.",
        "电脑已重新接通电源，而这个方案是为电池设为安静的。改为全速后命令的变化：{changes}。",
    ),
    "launch.answer.make_quiet": ("Launch quietly", "安静启动"),
    "launch.answer.make_full": ("Launch at full speed", "全速启动"),
    "launch.answer.stay": ("Launch as it is", "按原样启动"),
    "cli.help.quiet": (
        "half the threads, low priority, no busy waiting: cooler and slower",
        "线程减半、低优先级、不忙等：更凉，也更慢",
    ),
}
