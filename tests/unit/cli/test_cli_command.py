"""``command`` and ``export``: every form gives the plan's argv back."""

import json
import os
import shutil
import subprocess

import pytest

from app.common.problem import ProblemError
from app.planner.shell_split import split_bash, split_cmd, split_powershell
from app.work.exporting import command_text, export_script
from tests.unit.cli.conftest import NO_GPU

SPLIT = {"bash": split_bash, "cmd": split_cmd, "powershell": split_powershell}


@pytest.fixture
def options(moe):
    return [moe, "--hardware", NO_GPU, "--device", "CUDA0=4096", "--preset", "experts-cpu", "--api-key", "lw-key"]


@pytest.fixture
def argv(run, options):
    return run("plan", *options, "--json").json["argv"]


@pytest.mark.parametrize("shell", SPLIT)
def test_that_a_command_read_by_its_shell_is_the_plans_argv(run, options, argv, shell):
    said = run("command", *options, "--shell", shell)
    assert said.code == 0
    (line,) = said.out.splitlines()
    assert list(SPLIT[shell](line)) == ["llama-server", *argv]
    assert "--api-key lw-key" in line


def test_that_the_json_shell_is_the_list_of_arguments(run, options, argv):
    assert run("command", *options, "--shell", "json").json == ["llama-server", *argv]
    assert run("command", *options, "--json").json == ["llama-server", *argv]
    quoted = run("command", *options, "--json", "--shell", "bash").json
    assert list(split_bash(quoted["command"])) == ["llama-server", *quoted["argv"]]


def test_that_warnings_about_a_command_go_to_standard_error(run, moe):
    said = run("command", moe, "--hardware", NO_GPU, "--extra", "--mlok")
    assert said.code == 0
    assert "--mlok" in said.err
    assert len(said.out.splitlines()) == 1


def test_that_a_command_longer_than_its_shell_takes_is_printed_whole_with_a_warning(run, moe, tmp_path):
    options = (moe, "--hardware", NO_GPU, "--extra", "x" * 8000)
    long = run("command", *options, "--shell", "cmd")
    assert long.code == 0
    assert "x" * 8000 in long.out
    assert "that cmd accepts" in long.err
    assert "accepts" not in run("command", *options, "--shell", "powershell").err
    assert "that cmd accepts" in run("export", *options, "--to", tmp_path / "go.bat").err


def test_that_a_command_that_does_not_fit_is_printed_and_the_answer_is_no(run, moe):
    said = run("command", moe, "--hardware", NO_GPU, "--ram-mib", "10")
    assert said.code == 1
    assert "llama-server" in said.out
    assert "over-full" in said.err


@pytest.mark.parametrize("suffix", [".bat", ".ps1", ".sh", ".SH"])
def test_that_export_writes_a_script_for_the_shell_of_its_ending(run, options, tmp_path, suffix):
    path = tmp_path / f"启动 it{suffix}"
    said = run("export", *options, "--to", path)
    assert said.code == 0
    assert said.out == f"Saved to {path}.\n"
    assert "LLAMA_ARG_" in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]


def test_that_export_tells_a_script_where_the_file_went(run, options, tmp_path):
    path = tmp_path / "go.sh"
    assert run("export", *options, "--to", path, "--json").json == {
        "path": str(path),
        "shell": "bash",
        "kind": "script",
    }


def test_that_a_folder_that_cannot_be_written_is_told(run, options, tmp_path):
    said = run("export", *options, "--to", tmp_path / "absent" / "go.sh")
    assert said.code == 1
    assert "absent" in said.sentence


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_that_an_exported_bash_script_runs_exactly_the_argv_in_a_clean_environment(tmp_path, argv):
    program = tmp_path / "fake 引擎" / "llama-server"
    program.parent.mkdir()
    program.write_text(
        '#!/usr/bin/env bash\nprintf "%s\\0" "$@" > "$(dirname "$0")/argv"\nenv -0 > "$(dirname "$0")/env"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    script = tmp_path / "go.sh"
    tricky = (*argv, "--alias", "a b'c\"d$HOME`x`\\", "", "/m/\udcc4\udca3.gguf")
    export_script(script, str(program), tricky, "bash")
    env = {**os.environ, "HOME": str(tmp_path), "LLAMA_ARG_CTX_SIZE": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([str(script)], check=True, timeout=30, env=env)
    assert (program.parent / "argv").read_bytes().split(b"\0")[:-1] == [os.fsencode(word) for word in tricky]
    seen = (program.parent / "env").read_bytes().split(b"\0")
    assert not [pair for pair in seen if pair.startswith(b"LLAMA_ARG_")]
    (home,) = [pair for pair in seen if pair.startswith(b"XDG_CONFIG_HOME=")]
    assert home.startswith(f"XDG_CONFIG_HOME={tmp_path}".encode())


@pytest.mark.skipif(os.name != "posix", reason="Windows has no permission bits")
@pytest.mark.parametrize(("suffix", "shell"), [(".sh", "bash"), (".bat", "cmd"), (".ps1", "powershell")])
def test_that_a_script_with_a_key_is_for_its_owner_alone(tmp_path, suffix, shell):
    script = tmp_path / f"go{suffix}"
    script.write_text("an older one that everybody may read", encoding="utf-8")
    export_script(script, None, ("-m", "m.gguf", "--api-key", "lw-secret"), shell)
    assert script.stat().st_mode & 0o777 == (0o700 if suffix == ".sh" else 0o600)
    export_script(script, None, ("-m", "m.gguf"), shell)
    assert script.stat().st_mode & 0o044


def test_that_the_commands_of_a_relative_path_run_from_any_folder(run, moe, monkeypatch, tmp_path):
    monkeypatch.chdir(moe.parent)
    argv = run("command", moe.name, "--hardware", NO_GPU, "--shell", "json").json
    assert argv[argv.index("-m") + 1] == str(moe)
    run("export", moe.name, "--hardware", NO_GPU, "--to", tmp_path / "go.sh")
    assert str(moe) in (tmp_path / "go.sh").read_text(encoding="utf-8")


def test_that_an_older_script_is_replaced_whole(tmp_path):
    script = tmp_path / "go.bat"
    script.write_text("old", encoding="utf-8")
    export_script(script, None, ("-m", "m.gguf"), "cmd")
    assert "llama-server -m m.gguf" in script.read_text(encoding="utf-8").replace("^\n  ", "")
    with pytest.raises(ProblemError, match="shell_cannot_carry"):
        export_script(script, None, ("two\nlines",), "cmd")
    assert "llama-server" in script.read_text(encoding="utf-8")


def test_that_a_line_break_cannot_be_said_in_cmd():
    with pytest.raises(ProblemError, match="shell_cannot_carry"):
        command_text(None, ("two\nlines",), "cmd")
    assert json.dumps(command_text(None, ("two\nlines",), "bash"))
