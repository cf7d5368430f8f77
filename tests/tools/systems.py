"""What the system that runs a test can do."""

import os
import sys
import tempfile


def _is_wine() -> bool:
    if sys.platform != "win32":
        return False
    import ctypes

    return hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")


def _makes_links() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        link = os.path.join(folder, "link")
        try:
            os.symlink(folder, link)
        except OSError:
            return False
        return os.path.islink(link)  # Wine says yes and makes none


UNDER_WINE = _is_wine()
"""Wine 8 stands in for Windows and lacks some of it; a test that asks for that says what is lacking."""

MAKES_LINKS = _makes_links()
"""Windows needs rights or the developer mode for it."""
