"""Settings for other programs: exactly what they need, and commands that reach them whole."""

import json
import shlex

import pytest

from app.planner.shells import Shell
from app.work.other_apps import AppAccess, access_of, recipes

ARGV = ("-m", "x.gguf", "-a", "Qwen3 30B 模型", "--host", "127.0.0.1", "--port", "8081")
ACCESS = AppAccess("http://127.0.0.1:8081/v1", "Qwen3 30B 模型", "lw-secret")


def _texts(access=ACCESS, shell="bash", is_linux=True):
    return {recipe.code: recipe.text for recipe in recipes(access, shell, is_linux=is_linux)}


def test_that_before_a_launch_the_plan_tells_where_the_server_will_answer():
    assert access_of(ARGV, None, "lw-secret") == ACCESS


def test_that_the_running_servers_own_address_counts():
    assert access_of(ARGV, "http://127.0.0.1:9999/", "k").base_url == "http://127.0.0.1:9999/v1"


def test_that_any_free_port_is_not_known_before_the_launch():
    assert access_of(("--port", "0"), None, None) is None
    assert access_of((), None, None) is None


def test_that_a_server_on_all_interfaces_is_asked_on_this_one():
    assert access_of(("--host", "0.0.0.0", "--port", "80"), None, None).base_url == "http://127.0.0.1:80/v1"


def test_that_an_engine_without_an_alias_has_a_name_all_the_same():
    assert access_of(("--port", "80"), None, None).model == "default"


def test_that_curl_gets_address_key_and_question_whole():
    argv = shlex.split(_texts()["curl"])
    assert argv[:2] == ["curl", "http://127.0.0.1:8081/v1/chat/completions"]
    assert "Authorization: Bearer lw-secret" in argv
    assert json.loads(argv[argv.index("-d") + 1])["model"] == "Qwen3 30B 模型"


@pytest.mark.parametrize("shell", list(Shell))
def test_that_every_shell_gets_a_curl_that_is_one(shell):
    program = _texts(shell=shell)["curl"].split()[0]
    assert program == ("curl.exe" if shell in (Shell.POWERSHELL, Shell.PWSH) else "curl")


def test_that_a_container_on_linux_shares_the_network_and_one_of_docker_desktop_has_a_name_for_the_host():
    linux = shlex.split(_texts()["open_webui_docker"])
    assert "--network=host" in linux
    assert "OPENAI_API_BASE_URL=http://127.0.0.1:8081/v1" in linux
    assert "PORT=3000" in linux
    desktop = shlex.split(_texts(is_linux=False)["open_webui_docker"])
    assert "OPENAI_API_BASE_URL=http://host.docker.internal:8081/v1" in desktop
    assert "3000:8080" in desktop
    for argv in (linux, desktop):
        assert "OPENAI_API_KEY=lw-secret" in argv


def test_that_open_webui_does_not_take_the_servers_own_port():
    taken = AppAccess("http://127.0.0.1:3000/v1", "m", None)
    assert "PORT=3001" in shlex.split(_texts(taken)["open_webui_docker"])


def test_that_continues_file_holds_the_model_under_its_whole_name():
    lines = _texts()["continue"].splitlines()
    assert '    model: "Qwen3 30B 模型"' in lines
    assert '    apiBase: "http://127.0.0.1:8081/v1"' in lines
    assert '    apiKey: "lw-secret"' in lines


def test_that_without_a_key_none_is_written():
    for text in _texts(AppAccess("http://127.0.0.1:8081/v1", "m", None)).values():
        assert "None" not in text
        assert "Bearer" not in text
        assert "Key" not in text
        assert "KEY" not in text
