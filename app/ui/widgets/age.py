"""How old a figure is, in words."""

from __future__ import annotations

from app.words import say


def age_text(seconds: float | None) -> str:
    """'12 s ago', '3 min ago'; '' where nothing is known."""
    if seconds is None:
        return ""
    if seconds < 2:
        return say("machine_page.age.now")
    if seconds < 120:
        return say("machine_page.age.seconds", n=int(seconds))
    if seconds < 7200:
        return say("machine_page.age.minutes", n=int(seconds // 60))
    return say("machine_page.age.hours", n=int(seconds // 3600))
