"""Runs inside Windows for ``benchmarks.kill_tests``: starts a program and ends it with TerminateProcess, as told.

One JSON order a line comes in (``{"start": words, "home": folder}``, ``"poll"``, ``"kill"``), one answer goes out.
"""

import json
import os
import subprocess
import sys


def main() -> None:
    """Until the orders end."""
    process: subprocess.Popen[bytes] | None = None
    for line in sys.stdin:
        order = json.loads(line)
        answer: object = None
        if isinstance(order, dict):
            environment = {**os.environ, "LANEWISE_HOME": order["home"]}
            nothing = subprocess.DEVNULL
            process = subprocess.Popen(order["start"], env=environment, stdin=nothing, stdout=nothing, stderr=nothing)
            answer = process.pid
        elif process is not None and order == "poll":
            answer = process.poll() is None
        elif process is not None and order == "kill":
            process.kill()  # TerminateProcess, of this process alone
            answer = process.wait()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
