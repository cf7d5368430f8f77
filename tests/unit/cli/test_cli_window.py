"""What opens the window, and with which options."""

import sys
from types import SimpleNamespace

import pytest

from app.__main__ import main
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


@pytest.fixture
def window(monkeypatch):
    """Stands in for the real one, which needs Qt: what ``run_window`` does is up to the test."""

    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")

    def stand_in(run_window):
        monkeypatch.setitem(sys.modules, "app.ui.start", SimpleNamespace(run_window=run_window))

    return stand_in


def test_that_the_exit_code_is_the_windows(window):
    window(lambda options: 0 if options == WindowOptions(theme="light") else 9)
    assert main(["--theme", "light"]) == 0


def test_that_a_file_that_was_double_clicked_opens_at_once(window, moe):
    opened = []
    window(lambda options: opened.append(options) or 0)
    assert main([str(moe)]) == 0
    assert opened == [WindowOptions(model=str(moe))]


def test_that_a_bug_at_the_start_is_reported(window, capsys, lanewise_home):
    def broken(_):
        raise ZeroDivisionError("a bug")

    window(broken)
    assert main([]) == 1
    (report,) = (lanewise_home / "data" / "logs").glob("crash-*.txt")
    assert str(report) in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "code"), [(["--smoke"], 1), (["--tour", "out"], 1), ([], 0)])
def test_that_an_unattended_window_fails_when_anything_crashed_in_it(window, arguments, code):
    def crashing(_):
        error = ZeroDivisionError("a bug in a slot")
        sys.excepthook(type(error), error, None)
        return 0

    window(crashing)
    assert main(arguments) == code


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a screen")
def test_that_a_computer_without_a_display_is_told_instead_of_an_abort(window, monkeypatch, capsys):
    window(lambda options: pytest.fail("opened"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main([]) == 2
    assert "no display" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x" * 300, "/" + "x" * 300, "x" * 300 + ".gguf"])
def test_that_a_name_that_no_system_takes_is_only_a_missing_file(name, capsys):
    assert window_options([name]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
