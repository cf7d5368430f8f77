"""Plans saved and opened again: the same command, another model, another machine, damage by hand; the router preset."""

import json
import os

import pytest

from app.engine.capabilities import FALLBACK
from app.planner.other_exports import SwapValueError, llama_swap_entry
from app.planner.router_preset import PresetValueError, router_preset
from app.planner.shell_split import parse_command_line_to_argv_w, split_bash
from tests.tools.small_moe import write_small_moe
from tests.unit.cli.conftest import NO_GPU

MACHINE = ("--hardware", NO_GPU, "--device", "CUDA0=4096")
WISHES = ("--preset", "experts-cpu", "--ctx", "2048", "--ctk", "q8_0", "--ctv", "q8_0", "--slots", "2", "--kv", "ram")
PLACES = ("--place", "experts:2=CUDA0", "--place", "attention:7=CUDA0", "--extra", "--jinja --temp 0.5")


@pytest.fixture(scope="module")
def once():
    """What was exported first: the same question gives the same file."""
    return []


@pytest.fixture
def saved(run, moe, tmp_path, once):
    path = tmp_path / "方案 1.json"
    if once:
        path.write_bytes(once[0])
        return path
    said = run("export", moe, *MACHINE, *WISHES, *PLACES, "--to", path, "--json")
    assert (said.code, said.json) == (0, {"path": str(path), "shell": None, "kind": "plan"})
    once.append(path.read_bytes())
    return path


@pytest.fixture
def edited(saved):
    """The saved file with something changed in its JSON."""

    def change(edit):
        content = json.loads(saved.read_text(encoding="utf-8"))
        edit(content)
        saved.write_text(json.dumps(content), encoding="utf-8")
        return saved

    return change


def _codes(said):
    return [p["code"] for p in said.json["problems"] if p["code"].startswith("plan_file")]


def test_that_an_opened_plan_is_the_saved_one(run, moe, saved):
    before = run("plan", moe, *MACHINE, *WISHES, *PLACES, "--json", "--tensors").json
    said = run("plan", moe, *MACHINE, "--plan", saved, "--json", "--tensors")
    assert said.code == 0
    after = said.json
    for key in ("argv", "placement", "homes", "overrides", "devices", "context", "slots", "kv_home", "extra"):
        assert after[key] == before[key], key
    assert _codes(said) == []


def test_that_every_wish_verb_takes_a_plan_file(run, moe, saved):
    assert "-ctk q8_0" in run("command", moe, *MACHINE, "--plan", saved, "--shell", "bash").out
    again = saved.with_name("again.json")
    assert run("export", moe, *MACHINE, "--plan", saved, "--to", again).code == 0
    assert json.loads(again.read_text(encoding="utf-8")) == json.loads(saved.read_text(encoding="utf-8"))


def test_that_options_named_beside_a_plan_replace_its_own(run, moe, saved):
    plan = run("plan", moe, *MACHINE, "--plan", saved, "--ctx", "1024", "--place", "experts:3=CUDA0", "--json").json
    assert plan["context"] == 1024
    assert plan["slots"] == 2
    assert sum(rule["tensors"] for rule in plan["overrides"]) == 18
    anew = run("plan", moe, *MACHINE, "--plan", saved, "--preset", "all-gpu", "--json").json
    assert anew["overrides"] == []
    assert anew["slots"] == 2


def test_that_a_plan_for_another_model_says_what_it_dropped(run, moe, dense, saved):
    said = run("plan", dense, *MACHINE, "--plan", saved, "--json")
    assert _codes(said) == ["plan_file_other_model"]
    (problem,) = [p for p in said.json["problems"] if p["code"].startswith("plan_file")]
    assert problem["params"] == {"name": "Small MoE", "n": 21}
    assert said.json["context"] == 2048
    assert "dropped" in run("plan", dense, *MACHINE, "--plan", saved).out


def test_that_another_file_of_the_same_model_keeps_the_placement(run, moe, edited):
    path = edited(lambda content: content["model"].update(file_bytes=1, file_name="other.gguf"))
    said = run("plan", moe, *MACHINE, "--plan", path, "--json")
    assert _codes(said) == ["plan_file_other_quant"]
    assert sum(rule["tensors"] for rule in said.json["overrides"]) == 21


def test_that_a_device_that_is_not_here_is_replaced_and_told(run, moe, saved):
    said = run("plan", moe, "--hardware", NO_GPU, "--device", "Vulkan0=4096", "--plan", saved, "--json")
    assert _codes(said) == ["plan_file_no_device"]
    assert said.json["homes"] == [{"device": "Vulkan0", "first": 0, "last": 8}]
    none = run("plan", moe, "--hardware", NO_GPU, "--plan", saved, "--json")
    assert _codes(none) == ["plan_file_no_device"]
    assert [home["device"] for home in none.json["homes"]] == ["RAM"]


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("edit", "codes"),
    [
        (lambda c: c["wishes"].update(n_batch="many"), ["plan_file_dropped"]),
        (lambda c: c["wishes"].update(cache_type_k="q9", flash_attn=1, kv_home="moon"), ["plan_file_dropped"] * 3),
        (lambda c: c["wishes"].update(invented=[1, {"a": 2}]), ["plan_file_dropped"]),
        (lambda c: c["wishes"].update(extra=["--jinja", 5]), ["plan_file_dropped"]),
        (lambda c: c.update(wishes=[1, 2]), ["plan_file_dropped"]),
        (lambda c: c.update(version=99), ["plan_file_newer"]),
        (lambda c: c.update(version="x"), ["plan_file_newer"]),
        (lambda c: c["placement"]["runs"].append(["CUDA0", -3]), ["plan_file_dropped"]),
        (lambda c: c["placement"]["runs"].append(["CUDA0", 5000]), []),
        (lambda c: c["placement"]["rules"].append("x"), ["plan_file_dropped"]),
        (lambda c: c["placement"]["rules"][0].update(pattern="(bad"), ["plan_file_lost_tensors", "plan_file_dropped"]),
        (lambda c: c["placement"]["rules"][0].update(device=None), ["plan_file_dropped"]),
        (lambda c: c.pop("placement"), []),
        (lambda c: c.pop("model"), ["plan_file_dropped"]),
        (lambda c: c.update(server=None), ["plan_file_dropped"]),
        (lambda c: c["server"].update(port=99999999), ["plan_file_dropped"]),
        (lambda c: c["server"].update(host="0.0.0.0"), ["plan_file_opens_network"]),
        (lambda c: c["server"].update(host="::1"), []),
        (lambda c: c["server"].update(host="pc; ls"), ["plan_file_opens_network"]),
    ],
)
def test_that_damage_by_hand_loads_what_it_can(run, moe, edited, edit, codes):
    said = run("plan", moe, *MACHINE, "--plan", edited(edit), "--json")
    assert said.code == 0
    assert sorted(_codes(said)) == sorted(codes)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "line 1"),
        (b'{\n"format": "lanewise-plan",\n', "line 3"),
        (b"[1, 2]", "no plan of Lanewise"),
        (b'{"format": "other"}', "no plan of Lanewise"),
        (b"\xff\xfe{", "line 1"),
        (b"[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_that_a_file_that_is_no_plan_is_one_sentence(run, moe, tmp_path, data, words):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    said = run("plan", moe, *MACHINE, "--plan", path)
    assert said.code == 2
    assert words in said.sentence


def test_that_a_file_far_larger_than_any_plan_is_refused_as_that(run, moe, tmp_path):
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate((8 << 20) + 1)
    said = run("plan", moe, *MACHINE, "--plan", huge)
    assert said.code == 2
    assert "larger than 8.0 MiB" in said.err
    assert "JSON" not in said.err


def test_that_a_missing_plan_file_is_one_sentence(run, moe, tmp_path):
    assert run("plan", moe, "--plan", tmp_path / "absent.json").code == 2
    assert run("plan", moe, "--plan", tmp_path).code == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in a folder are a matter of Unix")
def test_that_a_pipe_is_no_plan_and_nobody_waits_for_it(run, moe, tmp_path):
    os.mkfifo(tmp_path / "plan.json")
    said = run("plan", moe, *MACHINE, "--plan", tmp_path / "plan.json")
    assert said.code == 2
    assert "is no file" in said.sentence


def test_that_a_plan_file_holds_no_key(run, moe, tmp_path):
    path = tmp_path / "plan.json"
    run("export", moe, *MACHINE, "--api-key", "secret-1", "--extra", "--hf-token secret-2", "--to", path)
    assert "secret" not in path.read_text(encoding="utf-8")


def test_that_the_fit_preset_is_saved_without_a_placement(run, moe, tmp_path):
    path = tmp_path / "plan.json"
    run("export", moe, *MACHINE, "--preset", "fit", "--to", path)
    assert "placement" not in json.loads(path.read_text(encoding="utf-8"))
    assert "on" in run("plan", moe, *MACHINE, "--plan", path, "--json").json["argv"]


def test_that_a_router_preset_has_one_section_with_the_plans_options(run, moe, tmp_path):
    path = tmp_path / "models.ini"
    said = run("export", moe, *MACHINE, *WISHES, "--to", path, "--json")
    assert (said.code, said.json["kind"]) == (0, "preset")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "[small-小-moe]"
    values = dict(line.split(" = ", 1) for line in lines[1:])
    assert values["model"] == str(moe)
    assert values["cpu-moe"] == "true"
    assert values["ctx-size"] == "2048"
    assert values["no-kv-offload"] == values["kv-unified"] == "true"
    assert not {"host", "port", "alias", "api-key"} & set(values)


def test_that_what_a_preset_cannot_carry_is_told(run, tmp_path):
    with pytest.raises(PresetValueError):
        router_preset(["-m", "a;b.gguf"], "m", FALLBACK)
    model = write_small_moe(tmp_path / "a#1.gguf")
    said = run("export", model, *MACHINE, "--to", tmp_path / "m.ini")
    assert said.code == 1
    assert "router preset" in said.sentence


def test_that_two_plans_are_compared_by_cards_bytes_and_options(run, moe, saved):
    same = run("plan", moe, *MACHINE, "--plan", saved, "--against", saved, "--json").json["against"]
    assert same["same"] is True
    assert (same["moved"], same["options"]) == ([], [])
    said = run(
        "plan",
        moe,
        *MACHINE,
        "--plan",
        saved,
        "--place",
        "experts:3=CUDA0",
        "--ctx",
        "1024",
        "--against",
        saved,
        "--json",
    )
    against = said.json["against"]
    assert against["same"] is False
    (moved,) = against["moved"]
    assert (moved["role"], moved["from"], moved["to"], moved["blocks"], moved["tensors"]) == (
        "routed_expert",
        "RAM",
        "CUDA0",
        [3],
        3,
    )
    changed = {option["after"][0]: (option["before"][1:], option["after"][1:]) for option in against["options"]}
    assert changed["-c"] == (["2048"], ["1024"])
    assert set(changed) == {"-c", "-ot"}
    (card,) = [d for d in against["devices"] if d["name"] == "CUDA0"]
    assert card["after"] > card["before"]


def test_that_the_comparison_is_told_in_words(run, moe, saved):
    text = run("plan", moe, *MACHINE, "--preset", "all-gpu", "--against", saved, "--lang", "zh_CN").out
    assert "与已保存的方案相比" in text
    assert "RAM → CUDA0" in text
    assert "The saved plan does the same." in run("plan", moe, *MACHINE, "--plan", saved, "--against", saved).out
    assert run("plan", moe, *MACHINE, "--against", "absent.json").code == 2


@pytest.mark.parametrize("for_windows", [False, True])
def test_that_a_llama_swap_entry_runs_exactly_the_argv(for_windows):
    argv = [
        "-m",
        "D:\\我的 models\\q.gguf",
        "-ot",
        r"^blk\.(1|2)\.ffn_(up|down)_exps\.=CPU",
        "--port",
        "8080",
        "--x",
        'a"b',
    ]
    text = llama_swap_entry("/opt/llama server", argv, "q 1", for_windows=for_windows)
    head, _, body = text.partition("    cmd: |\n")
    assert head == 'models:\n  "q 1":\n'
    command = " ".join(line.strip() for line in body.splitlines())
    words = parse_command_line_to_argv_w(command) if for_windows else split_bash(command)
    assert words == ("/opt/llama server", "--port", "${PORT}", *argv[:4], *argv[6:])
    with pytest.raises(SwapValueError):
        llama_swap_entry("x", ["-m", "${HOME}"], "q", for_windows=for_windows)


def test_that_exports_for_other_programs_are_written(run, moe, tmp_path):
    swap, script = tmp_path / "config.yaml", tmp_path / "plan_c.py"
    assert run("export", moe, *MACHINE, "--to", swap, "--json").json["kind"] == "llama-swap"
    assert "--port ${PORT}" in swap.read_text(encoding="utf-8")
    said = run("export", moe, *MACHINE, *WISHES, "--place", "experts:2=CUDA0", "--to", script, "--json")
    assert said.json["kind"] == "transformers"
    text = script.read_text(encoding="utf-8")
    compile(text, "plan_c.py", "exec")
    assert "EXPERTS_IN_RAM = {0, 1, 3, 4, 5, 6, 7}" in text
    assert "not computed on the CPU" in text
    assert "not computed on the CPU" in said.err
