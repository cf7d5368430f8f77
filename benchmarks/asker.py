"""A client in a process of its own that asks a server without a pause.

``python -m benchmarks.asker URL``, the key in the variable ASKER_KEY.

Prints the decode speed of each answer, one a line, until its standard input is closed or it is ended. ``Asker`` starts
one and collects the figures.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from app.common.problem import ProblemError
from app.engine.client import ServerClient

_TOKENS = 64
_PAUSE_S = 0.2


class Asker:
    """``tokens_per_s``: what the answers so far told."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self.tokens_per_s: list[float] = []
        environment = {**os.environ, "ASKER_KEY": api_key or ""}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.asker", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._reader = threading.Thread(target=self._read, name="asker", daemon=True)
        self._reader.start()

    @property
    def answered(self) -> int:
        """How many requests were answered."""
        return len(self.tokens_per_s)

    def stop(self) -> None:
        """End it and wait."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.tokens_per_s.append(float(line))


def main() -> int:
    """Ask until nobody listens."""
    is_over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    number = 0
    with ServerClient(sys.argv[1], os.environ.get("ASKER_KEY") or None) as client:
        while not is_over.is_set():
            try:
                done = client.completion("Once upon a time", _TOKENS, seed=number)
            except ProblemError:
                is_over.wait(_PAUSE_S)
                continue
            number += 1
            print(done.predicted_tps or 0.0, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
