"""Names that Windows gives to devices: a file of such a name cannot be made there, whatever follows its first point."""

from __future__ import annotations

import re

_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:[.:]|$)", re.IGNORECASE)
"""Also with blanks in front of the point, and with the small raised figures (Microsoft, "Naming Files, Paths, and
Namespaces")."""


def is_device(name: str) -> bool:
    """Would Windows take this file name, without folders, for a device?"""
    return _DEVICE.match(name) is not None
