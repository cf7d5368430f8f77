"""These tests need Windows (or Wine); ``python dev.py wine`` runs them. Elsewhere they are skipped, and say so."""

import sys

import pytest

if sys.platform != "win32":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def under_wine():
    """Is this Wine? It lacks some of what Windows has; what a test expects then differs and says how."""
    import ctypes

    return hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")
