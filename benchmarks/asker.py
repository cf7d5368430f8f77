"""A client in a process of its own that asks a server without a pause.

``python -m benchmarks.asker URL [TOKENS] [--same]``, the key in the variable ASKER_KEY.

Each request writes TOKENS tokens (64), never fewer, at temperature 0 and without the prompt cache; with ``--same`` all
are the very same request. Prints when each began and ended (``time.monotonic``, the same clock for every process) and
its decode speed, one a line, until its standard input is closed or it is ended. ``Asker`` starts one and collects the
figures.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass

from app.common.problem import ProblemError
from app.engine.client import ServerClient

_TOKENS = 64
_PAUSE_S = 0.2
_KEPT = 2000


@dataclass(frozen=True, slots=True)
class Answered:
    """One request: from when to when, and the decode speed that the engine told."""

    began_s: float
    ended_s: float
    tokens_per_s: float


class Asker:
    """``requests``: the newest that were answered; ``answered``: how many there were. It must not grow in a soak."""

    def __init__(self, url: str, api_key: str | None, n_tokens: int = _TOKENS, *, is_same: bool = False) -> None:
        self.requests: deque[Answered] = deque(maxlen=_KEPT)
        self.answered = 0
        environment = {**os.environ, "ASKER_KEY": api_key or ""}
        same = ["--same"] if is_same else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.asker", url, str(n_tokens), *same],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._reader = threading.Thread(target=self._read, name="asker", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The client's process."""
        return self._process.pid

    def between(self, since_s: float, until_s: float) -> list[float]:
        """Decode speeds of the requests that began and ended in this time."""
        return [r.tokens_per_s for r in tuple(self.requests) if r.began_s >= since_s and r.ended_s <= until_s]

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
            self.requests.append(Answered(*map(float, line.split())))
            self.answered += 1


def main() -> int:
    """Ask until nobody listens."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("tokens", type=int, nargs="?", default=_TOKENS)
    parser.add_argument("--same", action="store_true")
    options = parser.parse_args()
    is_over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    number = 0
    with ServerClient(options.url, os.environ.get("ASKER_KEY") or None) as client:
        while not is_over.is_set():
            began_s = time.monotonic()
            try:
                done = client.completion(
                    "Once upon a time", options.tokens, seed=0 if options.same else number, return_tokens=False
                )
            except ProblemError:
                is_over.wait(_PAUSE_S)
                continue
            number += 1
            print(began_s, time.monotonic(), done.predicted_tps or 0.0, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
