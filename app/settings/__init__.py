"""The user's settings: one frozen value, loaded once and written as a whole."""

from app.settings.settings import (
    CLOSINGS,
    EFFORTS_ON_BATTERY,
    EFFORTS_ON_MAINS,
    LANGUAGES,
    PINNINGS,
    SAMPLE_RATES,
    SHELLS,
    THEMES,
    Settings,
    changed,
    default_shell,
)
from app.settings.store import LoadedSettings, load, load_settings, save_settings

__all__ = [
    "CLOSINGS",
    "EFFORTS_ON_BATTERY",
    "EFFORTS_ON_MAINS",
    "LANGUAGES",
    "PINNINGS",
    "SAMPLE_RATES",
    "SHELLS",
    "THEMES",
    "LoadedSettings",
    "Settings",
    "changed",
    "default_shell",
    "load",
    "load_settings",
    "save_settings",
]
