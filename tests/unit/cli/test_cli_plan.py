import dataclasses
import itertools
import json

import pytest

from app.engine.ports import free_port
from app.model.reader import read_model
from app.planner.presets import PRESETS
from app.planner.types import Wishes
from app.planner.wish_options import LOAD_MODES, WISH_OPTIONS
from app.settings import Settings, save_settings
from tests.unit.cli.conftest import LAPTOP, NO_GPU

MIB = 1 << 20
KEYS = {
    "model", "devices", "homes", "kv_home", "overrides", "argv", "extra", "speed", "figures", "problems",
}  # fmt: skip
DEVICE_KEYS = {"name", "kind", "weights", "kv", "compute", "overhead", "reserve", "total", "free", "fits"}


def _codes(said):
    return {problem["code"]: problem["severity"] for problem in said.json["problems"]}


def test_that_plan_prints_the_keys_of_the_contract(plan, moe):
    said = plan("--device", "CUDA0=2048")
    assert said.code == 0
    assert said.json.keys() >= KEYS
    assert "placement" not in said.json
    assert said.json["model"] == {
        "path": str(moe), "architecture": "qwen3moe", "name": "Small MoE", "file_bytes": moe.stat().st_size,
        "blocks": 8, "experts": {"count": 16, "used": 4, "shared": 0},
    }  # fmt: skip
    assert [(d["name"], d["kind"]) for d in said.json["devices"]] == [("CUDA0", "gpu"), ("RAM", "ram")]
    assert said.json["speed"] == {"decode": None, "prompt": None, "kind": "unknown", "limited_by": None}
    assert said.json["figures"] == "estimated"


@pytest.mark.share(3)
@pytest.mark.parametrize("options", [(), ("--device", "CUDA0=900"), ("--device", "CUDA0=450"), ("--ram-mib", "60")])
@pytest.mark.parametrize("cache", [(), ("--prompt-cache-mib", "64")])
def test_that_totals_are_sums_and_fits_follows_from_them(plan, options, cache):
    for device in plan(*options, *cache).json["devices"]:
        assert device.keys() >= DEVICE_KEYS
        parts = device["weights"] + device["kv"] + device["compute"] + device["overhead"]
        assert device["total"] == parts
        assert device["fits"] == (device["total"] + device["reserve"] <= device["free"])


def test_that_a_quiet_plan_says_it_in_the_command_and_as_a_remark(plan):
    said = plan("--ram-mib", "4096", "--quiet")
    argv = said.json["argv"]
    assert [argv[argv.index(flag) + 1] for flag in ("--prio", "--poll")] == ["-1", "0"]
    assert int(argv[argv.index("-t") + 1]) >= 1
    assert _codes(said)["plan_is_quiet"] == "info"
    assert "--prio" not in plan("--ram-mib", "4096").json["argv"]


def test_that_every_option_of_a_wish_is_one_of_plan(run):
    listed = run("plan", "--help").out
    assert [option for option in WISH_OPTIONS.values() if option not in listed] == []
    assert set(WISH_OPTIONS) <= {field.name for field in dataclasses.fields(Wishes)}


@pytest.mark.share(2)
@pytest.mark.parametrize("mode", LOAD_MODES)
def test_that_the_way_to_read_weights_can_be_chosen(plan, mode):
    argv = plan("--load-mode", mode).json["argv"]
    assert argv[argv.index("-lm") + 1] == mode


def test_that_an_over_full_device_is_the_answer_no(plan):
    said = plan("--ram-mib", "30")
    assert said.code == 1
    assert _codes(said)["over_full_ram"] == "error"
    assert "Error: RAM is over-full" in said.err
    assert said.json["devices"][-1]["fits"] is False


def test_that_two_gpus_are_planned_together_and_one_that_gains_nothing_is_told(plan):
    said = plan("--device", "CUDA0=1024", "--device", "CUDA1=2048")
    (unused,) = [p for p in said.json["problems"] if p["code"] == "devices_unused"]
    assert (unused["severity"], unused["params"]) == ("info", {"devices": "CUDA0", "device": "CUDA1"})
    assert [d["name"] for d in said.json["devices"]] == ["CUDA0", "CUDA1", "RAM"]
    assert said.json["devices"][0]["total"] == 0
    argv = said.json["argv"]
    assert argv[argv.index("-dev") + 1] == "CUDA1"


@pytest.mark.slow
def test_that_a_model_too_large_for_either_gpu_is_spread_over_both(plan):
    said = plan("--device", "CUDA0=150", "--device", "CUDA1=136", "--reserve-mib", "0")
    argv = said.json["argv"]
    assert argv[argv.index("-dev") + 1] == "CUDA0,CUDA1"
    front, back = (int(n) for n in argv[argv.index("-ts") + 1].split(","))
    assert [(h["device"], h["last"]) for h in said.json["homes"]] == [("CUDA0", front - 1), ("CUDA1", front + back - 1)]
    assert all(d["fits"] and d["total"] > d["overhead"] for d in said.json["devices"][:2])


def test_that_a_gpu_can_be_left_off(plan):
    said = plan("--device", "CUDA0=1024", "--device", "CUDA1=2048", "--off", "CUDA1")
    (off,) = [p for p in said.json["problems"] if p["code"] == "devices_off"]
    assert off["params"] == {"devices": "CUDA1", "device": "CUDA0"}
    wrong = plan("--device", "CUDA0=1024", "--off", "CUDA7")
    assert wrong.code == 2
    assert "CUDA7" in wrong.err
    assert "CUDA0" in wrong.err


def test_that_homes_are_runs_over_all_blocks_and_the_output(plan):
    said = plan("--device", "CUDA0=4096", "--preset", "all-gpu", "--ngl", "5")
    assert said.json["homes"] == [
        {"device": "RAM", "first": 0, "last": 3},
        {"device": "CUDA0", "first": 4, "last": 8},
    ]
    assert plan("--preset", "all-cpu").json["homes"] == [{"device": "RAM", "first": 0, "last": 8}]


def test_that_the_command_begins_with_the_model_and_ends_with_the_extra_arguments(plan, moe):
    said = plan("--extra", "--no-warmup --grammar-file 'C:\\my grammars\\a.gbnf'")
    extra = ["--no-warmup", "--grammar-file", "C:\\my grammars\\a.gbnf"]
    assert said.json["argv"][:2] == ["-m", str(moe)]
    assert said.json["argv"][-3:] == extra
    assert said.json["extra"] == extra


def test_that_tensors_adds_the_place_of_every_tensor(plan, moe):
    said = plan("--device", "CUDA0=4096", "--preset", "experts-cpu", "--tensors")
    placement = said.json["placement"]
    model = read_model(moe)
    assert placement.keys() == {tensor.name for tensor in model.tensors}
    assert placement["blk.0.ffn_up_exps.weight"] == "RAM"
    assert placement["blk.0.attn_q.weight"] == "CUDA0"
    assert placement["token_embd.weight"] == "RAM"
    (rule,) = said.json["overrides"]
    expert_bytes = sum(t.n_bytes for t in model.tensors if "_exps" in t.name)
    assert (rule["device"], rule["tensors"], rule["bytes"]) == ("RAM", 24, expert_bytes)


def test_that_cards_are_placed_after_the_preset(plan):
    options = ("--device", "CUDA0=4096", "--preset", "all-gpu", "--tensors")
    placement = plan(*options, "--place", "experts:2-3=RAM", "--place", "experts:3:up=CUDA0").json["placement"]
    in_ram = {name for name, device in placement.items() if device == "RAM"}
    assert {n for n in in_ram if "_exps" in n} == {
        f"blk.{block}.ffn_{part}_exps.weight" for block in (2, 3) for part in ("gate", "up", "down")
    } - {"blk.3.ffn_up_exps.weight"}


def test_that_a_move_that_takes_more_along_says_so(plan):
    said = plan("--device", "CUDA0=4096", "--preset", "all-gpu", "--place", "attention:3=ram")
    assert said.code == 0
    assert _codes(said)["move_snapped_ram"] == "info"
    assert said.json["homes"][0] == {"device": "RAM", "first": 0, "last": 3}


@pytest.mark.parametrize(
    ("place", "code"),
    [("embeddings=CUDA0", 1), ("experts:90=RAM", 2), ("experts:1=CUDA7", 2), ("experts:1", 2), ("=RAM", 2)],
)
def test_that_a_move_that_cannot_be_made_gives_its_reason(plan, place, code):
    said = plan("--device", "CUDA0=4096", "--place", place)
    assert said.code == code
    assert said.sentence.startswith("Error: ")


@pytest.mark.share(3)
@pytest.mark.parametrize("preset", PRESETS)
def test_that_every_preset_makes_a_plan(plan, preset):
    said = plan("--device", "CUDA0=1024", "--preset", preset)
    assert said.code == 0
    assert (preset == "fit") == ("fit_decides" in _codes(said))


def test_that_wishes_reach_the_command(plan):
    argv = plan(
        "--ctx", "1024", "--ctk", "q8_0", "--ctv", "q8_0", "--flash-attn", "on", "--batch", "256", "--ubatch", "128",
        "--slots", "auto", "--threads", "3", "--prompt-cache-mib", "7", "--port", "9009", "--api-key", "lw-k",
    ).json["argv"]  # fmt: skip
    told = dict(itertools.pairwise(argv))
    expected = {
        "-c": "1024", "-ctk": "q8_0", "-ctv": "q8_0", "-fa": "on", "-b": "256", "-ub": "128", "-np": "4", "-t": "3",
        "-cram": "7", "--port": "9009", "--api-key": "lw-k",
    }  # fmt: skip
    assert {flag: told[flag] for flag in expected} == expected


def test_that_the_kv_cache_can_live_in_ram(plan):
    said = plan("--device", "CUDA0=4096", "--kv", "ram")
    assert said.json["kv_home"] == "ram"
    assert "-nkvo" in said.json["argv"]
    gpu, ram = said.json["devices"]
    assert (gpu["kv"], ram["kv"] > 0) == (0, True)


def test_that_a_snapshot_with_bandwidths_gives_a_speed(run, moe):
    said = run("plan", moe, "--json", "--hardware", LAPTOP)
    assert said.json["devices"][0]["kind"] == "gpu"
    assert said.json["speed"]["decode"] > 1
    assert said.json["speed"]["kind"] == "estimated"


def test_that_a_plan_without_an_engine_says_so(plan):
    assert _codes(plan())["engine_missing"] == "warning"


def test_that_an_engine_that_is_not_there_is_bad_input(plan, tmp_path):
    said = plan("--engine", tmp_path)
    assert said.code == 2
    assert str(tmp_path) in said.sentence


def test_that_an_rpc_server_that_does_not_answer_is_named(run, moe):
    endpoint = f"127.0.0.1:{free_port()}"
    said = run("plan", moe, "--rpc", endpoint)
    assert said.code == 2
    assert endpoint in said.sentence


def test_that_an_rpc_device_is_named_by_its_server_in_rules(plan):
    said = plan("--rpc", "10.0.0.7:50052", "--device", "RPC0=4096", "--preset", "experts-cpu", "--place",
                "output=RAM", "--ngl", "4", "--place", "experts:0=RPC0")  # fmt: skip
    argv = said.json["argv"]
    assert argv[argv.index("--rpc") + 1] == "10.0.0.7:50052"
    assert "=RPC0[10.0.0.7:50052]" in argv[argv.index("-ot") + 1]
    assert said.json["devices"][0] | {"kind": "rpc", "overhead": 0} == said.json["devices"][0]


def test_that_an_rpc_device_without_its_server_is_bad_input(plan):
    said = plan("--device", "RPC0=4096")
    assert said.code == 2
    assert "--rpc" in said.sentence


@pytest.mark.slow
def test_that_the_servers_of_a_saved_machine_are_named_in_the_command(run, moe, tmp_path):
    facts = run("machine", "--json", "--hardware", NO_GPU).json
    facts["gpus"] = [
        {"name": "10.0.0.7:50052", "kind": "rpc", "engine_name": "RPC0", "total_bytes": 8 << 30, "free_bytes": 8 << 30,
         "buffer_name": "RPC0[10.0.0.7:50052]"}
    ]  # fmt: skip
    facts["engine_asked"] = True
    saved = tmp_path / "with rpc.json"
    saved.write_text(json.dumps(facts), encoding="utf-8")
    argv = run("plan", moe, "--json", "--hardware", saved).json["argv"]
    assert argv[argv.index("--rpc") + 1] == "10.0.0.7:50052"


def test_that_the_engine_of_the_settings_is_used_unless_one_is_named(plan, lanewise_home, tmp_path):
    save_settings(lanewise_home / "config" / "settings.json", Settings(engine_path=str(tmp_path / "chosen")))
    assert "chosen" in plan().sentence
    assert "other" in plan("--engine", tmp_path / "other").sentence


@pytest.mark.parametrize(
    ("option", "value", "part"),
    [
        ("--ctx", "-5", "out of range"),
        ("--ctx", "0", "out of range"),
        ("--ctx", "8k", "not a number"),
        ("--ctx", "9" * 40, "out of range"),
        ("--ctx", "1e4", "not a number"),
        ("--ram-mib", "-1", "out of range"),
        ("--ram-mib", "99999999999", "out of range"),
        ("--reserve-mib", "many", "not a number"),
        ("--threads", "0", "out of range"),
        ("--slots", "0", "out of range"),
        ("--port", "70000", "out of range"),
        ("--device", "CUDA0", "NAME=MIB"),
        ("--device", "=5", "NAME=MIB"),
        ("--device", "CUDA0=12 GB", "not a number"),
        ("--device", "RAM=5", "--ram-mib"),
        ("--rpc", "somewhere", "HOST:PORT"),
        ("--rpc", "somewhere:0", "out of range"),
        ("--kv", "gpu", "home, ram"),
        ("--flash-attn", "yes", "on, off, auto"),
        ("--preset", "best", "experts-cpu"),
        ("--ctk", "q9_9", "q8_0"),
        ("--extra", "--grammar 'open", "never closed"),
        ("--api-key", "a,b", "commas"),
    ],
)
def test_that_a_bad_value_gives_one_sentence_that_helps(plan, option, value, part):
    said = plan(option, value)
    assert said.code == 2
    assert part in said.sentence


def test_that_a_plan_for_people_has_verdict_table_and_command(run, moe):
    said = run("plan", moe, "--hardware", NO_GPU, "--device", "CUDA0=2048", "--preset", "experts-cpu")
    lines = said.out.splitlines()
    assert lines[0].startswith("Small MoE · qwen3moe · 8 layers")
    assert lines[1].startswith("Fits. Left over: CUDA0 ")
    table = lines[4:7]
    assert table[0].split() == ["MiB", "weights", "KV", "compute", "overhead", "reserve", "needed", "free"]
    assert [line.split()[0] for line in table[1:]] == ["CUDA0", "RAM"]
    assert {line.index("fits") for line in table[1:]} == {table[0].index("free") + len("free") + 2}
    assert "24 tensors" in said.out
    assert "llama-server -m" in lines[-1]


def test_that_a_plan_for_people_speaks_chinese(run, moe):
    said = run("plan", moe, "--hardware", NO_GPU, "--ram-mib", "30", "--lang", "zh_CN")
    assert said.code == 1
    assert "放不下：RAM 超出容量。" in said.out
    assert "错误：内存超出" in said.out


def test_that_a_dense_model_gets_a_plan_and_a_note(run, dense):
    said = run("plan", dense, "--json", "--hardware", NO_GPU)
    assert said.code == 0
    assert _codes(said)["dense_model"] == "info"


@pytest.mark.slow
def test_that_the_trades_are_options_of_the_same_command(run, moe):
    asked = ("--hardware", NO_GPU, "--device", "CUDA0=187", "--ctx", "16384", "--reserve-mib", "0")
    offers = run("plan", moe, "--json", *asked).json["trades"]
    offer = next(t for t in offers if t["code"] == "kv_type" and t["value"] == "q8_0")
    assert offer["changes"] == {"--ctk": "q8_0", "--ctv": "q8_0"}
    assert offer["quality"] == "hardly"
    assert offer["freed_bytes"] > 0
    options = [word for change in offer["changes"].items() for word in change]
    before, after = (run("plan", moe, "--json", *asked, *more).json["devices"][1] for more in ((), options))
    assert after["weights"] + after["kv"] <= before["weights"] + before["kv"]


def test_that_a_machine_too_small_for_the_file_is_told_the_size_that_would_fit(run, moe):
    said = run("plan", moe, "--json", "--hardware", NO_GPU, "--ram-mib", "12")
    assert said.code == 1
    problem = next(p for p in said.json["problems"] if p["code"] == "does_not_fit_memory")
    assert problem["params"]["missing_bytes"] > 0
    assert problem["params"]["file_fits_16k_bytes"] <= problem["params"]["file_fits_8k_bytes"]
    assert "does not fit in memory" in said.err


def test_that_ram_is_left_to_other_programs(plan):
    ram = plan("--ram-mib", "4096", "--keep-ram-mib", "1024").json["devices"][-1]
    assert ram["reserve"] == 1024 << 20
    assert ram["fits"]
    full = plan("--ram-mib", "900", "--keep-ram-mib", "880")
    assert full.code == 1
    assert full.json["devices"][-1]["fits"] is False
    assert _codes(full)["over_full_ram"] == "error"
