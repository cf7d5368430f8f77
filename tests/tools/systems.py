"""What the system that runs a test can do."""

import sys


def _is_wine() -> bool:
    if sys.platform != "win32":
        return False
    import ctypes

    return hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")


UNDER_WINE = _is_wine()
"""Wine 8 stands in for Windows and lacks some of it; a test that asks for that says what is lacking."""
