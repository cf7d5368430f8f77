"""Reading values below HKEY_LOCAL_MACHINE; elsewhere than on Windows there is no registry and nothing is found."""

from __future__ import annotations

import sys


def registry_text(key: str, name: str) -> str | None:
    """A text value with single blanks; None when it is missing, empty or no text."""
    value = _value(key, name)
    return " ".join(value.split()) or None if isinstance(value, str) else None


def registry_number(key: str, name: str) -> int | None:
    """A DWORD or QWORD, or eight bytes of binary that hold one; None when it is missing or something else."""
    value = _value(key, name)
    if isinstance(value, bytes) and len(value) in (4, 8):
        return int.from_bytes(value, "little")
    return value if isinstance(value, int) else None


def _value(key: str, name: str) -> str | int | bytes | None:
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as handle:
                value, _ = winreg.QueryValueEx(handle, name)
        except OSError:
            return None
        return value if isinstance(value, (str, int, bytes)) else None
    else:
        return None
