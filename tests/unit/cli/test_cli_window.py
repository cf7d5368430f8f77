"""What opens the window, and with which options."""

import sys

import pytest

from app.cli.window import window_options
from app.common.start_options import WindowOptions


def test_that_no_argument_opens_the_window_with_nothing_said():
    assert window_options([]) == WindowOptions()


def test_that_all_options_reach_the_window(moe):
    arguments = [
        str(moe), "--lang", "zh_CN", "--theme", "dark", "--hardware", "m.json", "--engine", "e", "--rpc", "a:1",
        "--rpc", "b:2", "--build-engine", "--smoke", "--tour", "out",
    ]  # fmt: skip
    assert window_options(arguments) == WindowOptions(
        model=str(moe), language="zh_CN", theme="dark", hardware="m.json", engine="e", rpc_servers=("a:1", "b:2"),
        build_engine=True, smoke=True, tour="out",
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--theme"], ["inspct"], ["gone.gguf"]])
def test_that_a_mistake_is_told_instead_of_opening_the_window(arguments, capsys):
    assert window_options(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_that_without_a_console_the_window_itself_says_that_a_file_is_gone(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdout", None)
    assert window_options(["gone.gguf"]) == WindowOptions(model="gone.gguf")
