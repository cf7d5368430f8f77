"""``lint`` and ``import``: the contract's JSON, exit codes, standard input, and sentences in both languages."""

import io
import json

import pytest

from tests.unit.cli.conftest import NO_GPU

CARD = ("--hardware", NO_GPU, "--device", "CUDA0=4096")
GOOD = ("-ngl", "99", "-fit", "off", "-c", "2048", "-np", "1", "-cram", "0", "-ot", "exps=CPU")


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    monkeypatch.setenv("PROGRAMDATA", str(tmp_path))


@pytest.fixture
def stdin(monkeypatch):
    def give(data):
        stream = io.TextIOWrapper(io.BytesIO(data), encoding="ascii")
        monkeypatch.setattr("sys.stdin", stream)

    return give


def test_that_lint_json_has_the_keys_of_the_contract(run, moe):
    said = run("lint", moe, "--json", *CARD, "--", "llama-server", *GOOD)
    assert said.code == 0
    assert set(said.json) == {"rules", "problems", "converted"}
    (rule,) = said.json["rules"]
    assert {key: rule[key] for key in ("pattern", "device", "hits", "shadowed_by", "problems", "moved")} == {
        "pattern": "exps",
        "device": "RAM",
        "hits": 24,
        "shadowed_by": None,
        "problems": [],
        "moved": 24,
    }
    assert rule["bytes"] > 0
    assert said.json["converted"][0] == "-m"
    assert [p["code"] for p in said.json["problems"]] == ["engine_missing"]


def test_that_a_rule_without_a_hit_makes_the_answer_no(run, moe):
    said = run("lint", moe, "--json", *CARD, "--", *GOOD[:-1], "mlp.experts=CPU")
    assert said.code == 1
    assert said.json["rules"][0]["problems"] == ["lint_no_match_meant"]
    assert "matches no tensor" in said.err


@pytest.mark.parametrize(
    "lead", [["llama-server"], [], ["./bin/llama-server.exe"], ["LLAMA_ARG_UBATCH=64", "llama-server"]]
)
def test_that_the_programs_name_may_be_there_or_not(run, moe, lead):
    argv = run("import", moe, "--json", *CARD, "--", *lead, *GOOD).json["argv"]
    assert argv[argv.index("-ub") + 1] == ("64" if len(lead) == 2 else "512")
    assert argv[argv.index("-c") + 1] == "2048"


def test_that_import_gives_a_plan_with_the_rest_in_extra(run, moe):
    said = run("import", moe, "--json", "--tensors", *CARD, "--", *GOOD, "--temp", "0.6", "--jinja")
    assert said.code == 0
    plan = said.json
    assert plan["extra"] == ["--temp", "0.6", "--jinja"]
    assert plan["argv"][-3:] == ["--temp", "0.6", "--jinja"]
    assert plan["placement"]["blk.0.ffn_up_exps.weight"] == "RAM"
    assert plan["placement"]["blk.0.attn_q.weight"] == "CUDA0"
    assert plan["overrides"][0]["tensors"] == 24
    assert plan["context"] == 2048


def test_that_a_pasted_command_is_read_from_standard_input(run, moe, stdin):
    lines = ["llama-server.exe ^", '  -m "C:\\模型\\m.gguf" ^', "  -ngl 99 -fit off -c 2048 -np 1 -cram 0 ^"]
    text = "\r\n".join([*lines, '  -ot "ffn_(up|down)_exps=CPU"', ""])
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        stdin(text.encode(encoding))
        said = run("import", moe, "--json", *CARD, "--stdin")
        assert said.code == 0
        assert said.json["overrides"][0]["tensors"] == 16


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no command"),
        (b"hello there", "no word in it begins"),
        (b"-m 'x", "never closed"),
        (b"\xff\xfa-m", "not UTF-8"),
    ],
)
def test_that_what_is_no_command_is_one_sentence(run, moe, stdin, data, words):
    stdin(data)
    said = run("lint", moe, *CARD, "--stdin")
    assert said.code == 2
    assert words in said.sentence


def test_that_a_missing_command_is_bad_usage(run, moe):
    assert run("lint", moe, *CARD).code == 2
    assert run("import", moe, *CARD, "--").code == 2
    assert run("lint", "--", "-c", "1").code == 2


def test_that_both_verbs_speak_both_languages(run, moe):
    bad = (*GOOD[:-1], r"hot_expert=gpu,blk\.{1,2}=CPU", "--mlock")
    english = run("lint", moe, "--lang", "en", *CARD, "--", *bad)
    chinese = run("lint", moe, "--lang", "zh_CN", *CARD, "--", *bad)
    assert english.code == chinese.code == 1
    assert "is no buffer type" in english.out
    assert "区分" in chinese.out or "缓冲区类型" in chinese.out
    assert run("import", moe, "--lang", "zh_CN", *CARD, "--", *GOOD).code == 0


def test_that_this_machines_own_settings_are_told(run, moe, tmp_path, monkeypatch):
    folder = tmp_path / "llama.cpp"
    folder.mkdir()
    (folder / "config.ini").write_text("override-tensor = exps=CUDA0\n", encoding="utf-8")
    monkeypatch.setenv("LLAMA_ARG_UBATCH", "64")
    said = run("lint", moe, "--json", *CARD, "--", *GOOD)
    codes = [p["code"] for p in said.json["problems"]]
    assert codes.count("lint_outside_rules") == 1
    assert codes.count("lint_outside_setting") == 1
    assert said.json["rules"][1]["shadowed_by"] == "exps"


def test_that_without_an_engine_the_cards_of_the_command_are_taken_to_exist(run, moe):
    said = run("import", moe, "--json", "--hardware", NO_GPU, "--", *GOOD, "-dev", "CUDA0", "-ot", "attn=CPU")
    assert [d["name"] for d in said.json["devices"]] == ["CUDA0", "RAM"]


def test_that_every_problem_has_a_sentence(run, moe):
    argv = [
        "-ngl",
        "x",
        "-c",
        "--foo=1",
        "stray",
        "-sm",
        "row",
        "-ctk",
        "q9",
        "-dev",
        "CUDA9",
        "--ctx-size=5",
        "-hf",
        "a/b",
    ]
    rules = [
        "-ot",
        "a=1=CPU,b,(=CPU,exps=cpu,(?i)x=CPU,exps=CPU,exps=CUDA0",
        "-ncmoe",
        "4",
        "-ts",
        "a",
        "--no-mmap",
        "-fmoe",
    ]
    said = run("lint", moe, *CARD, "--", *argv, *rules)
    assert said.code == 1
    assert json.loads(run("lint", moe, "--json", *CARD, "--", *argv, *rules).out)["problems"]


@pytest.mark.parametrize("verb", ["lint", "import"])
def test_that_a_server_that_other_computers_can_reach_is_a_warning(run, moe, verb):
    def listens(*host):
        told = run(verb, moe, "--json", *CARD, "--", *GOOD, *host).json["problems"]
        return [p["severity"] for p in told if p["code"] == "paste_listens"]

    assert listens("--host", "0.0.0.0") == ["warning"]
    assert listens() == listens("--host", "127.0.0.1") == listens("--host", "/run/x.sock") == []


@pytest.mark.parametrize(
    "option", [("-ot", "(" * 10_000 + "=CPU"), ("-c", "9" * 5_000), ("--" + "x" * 3_000, "1"), ("-dev", "D" * 3_000)]
)
def test_that_no_message_repeats_a_value_of_thousands_of_characters(run, moe, option):
    said = run("lint", moe, "--json", *CARD, "--", *GOOD, *option)
    texts = [v for p in said.json["problems"] for v in p["params"].values() if isinstance(v, str)]
    assert any(text.endswith("…") and len(text) == 100 for text in texts)
    assert max(map(len, texts)) <= 100
    assert max(map(len, said.err.split("\n"))) < 500
