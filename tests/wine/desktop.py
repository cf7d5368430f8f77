"""A pytest plugin of the tests under Wine: makes the desktop before the first test.

Wine starts ``explorer.exe`` for the first program that wants a desktop (DXGI does), and it inherits that program's
pipes: a test that captures the output of such a program would wait for ever for their end.
"""

import sys

if sys.platform == "win32":
    import ctypes

    ctypes.WinDLL("user32").GetDesktopWindow()
