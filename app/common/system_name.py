"""The processor's and the system's name, without starting a program.

On Windows the module ``platform`` asks ``cmd /c ver`` for its part (3.11 to 3.13, where WMI does not answer or is left
out, as in our installer): a program started for a name that the environment and ``sys.getwindowsversion`` know.
"""

from __future__ import annotations

import os
import sys


def machine_name() -> str:
    """'x86_64', 'AMD64', 'ARM64'...; empty where it cannot be told. Of Windows itself for a 32-bit program; a 64-bit
    one that Windows for ARM emulates is told AMD64, and what it starts may be of that kind too."""
    if sys.platform == "win32":
        return os.environ.get("PROCESSOR_ARCHITEW6432") or os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return os.uname().machine


def system_name() -> str:
    """For reports: 'Windows-10.0.22631', 'Linux-6.1.0-x86_64-with-glibc2.36'."""
    if sys.platform == "win32":
        windows = sys.getwindowsversion()
        return "Windows-" + ".".join(str(n) for n in windows.platform_version or windows[:3])
    import platform  # 2 ms that only a report needs

    return platform.platform()
