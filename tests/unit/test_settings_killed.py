"""A program that is killed while it saves its settings leaves a whole file: the old one or the new one."""

import json
import subprocess
import sys

import pytest

from app.settings import load

_WRITE_FOR_EVER = """
import sys
from pathlib import Path
from app.settings import Settings, save_settings
path, n = Path(sys.argv[1]), 0
while True:
    n += 1
    save_settings(path, Settings(last_model="m" * (n % 5000), recent_plans=("模型",) * (n % 50)))
    if n == 1:
        print("ready", flush=True)
"""


@pytest.mark.slow
def test_that_a_kill_in_the_middle_of_saving_never_leaves_half_a_file(tmp_path):
    path = tmp_path / "空 格" / "settings.json"
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", _WRITE_FOR_EVER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline().strip() == b"ready"
            seen = {path.read_bytes() for _ in range(50)}  # read while it is being replaced
            writer.kill()
        seen.add(path.read_bytes())
        assert all(json.loads(text)["version"] == 1 for text in seen)
        assert load(path).problem is None
