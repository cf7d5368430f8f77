"""Real logs and answers of llama-server, kept in tests/data."""

import functools
import gzip
import json
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
LOGS = DATA / "engine_logs"
HTTP = DATA / "engine_http"


def log_names(start=""):
    """Names of the kept logs; long ones are compressed on disk."""
    names = {path.name.removesuffix(".gz") for path in LOGS.iterdir() if ".log" in path.name}
    return sorted(name for name in names if name.startswith(start))


def log_lines(name):
    """The lines of one, in a list of the caller's own."""
    return list(_lines(name))


@functools.cache
def _lines(name):
    packed = LOGS / f"{name}.gz"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else (LOGS / name).read_bytes()
    return data.decode("utf-8", "replace").splitlines()


def expected():
    return json.loads((LOGS / "expected.json").read_text())
