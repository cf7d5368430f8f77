import json

import pytest

from app.model.gguf_writer import GgufWriter, ValueType
from app.model.types import Role
from tests.unit.cli.conftest import NO_GPU

KEYS = {
    "path", "architecture", "name", "version", "file_bytes", "parts", "blocks", "context_length", "vocab", "experts",
    "quants", "cards",
}  # fmt: skip


def test_that_inspect_prints_the_facts_of_the_header_as_json(run, moe):
    said = run("inspect", moe, "--json")
    facts = said.json
    assert (said.code, said.err) == (0, "")
    assert facts.keys() >= KEYS
    assert "tensors" not in facts
    assert facts["path"] == str(moe)
    assert (facts["architecture"], facts["name"], facts["version"]) == ("qwen3moe", "Small MoE", 3)
    assert (facts["blocks"], facts["context_length"], facts["vocab"], facts["parts"]) == (8, 4096, 256, 1)
    assert facts["experts"] == {"count": 16, "used": 4, "shared": 0}
    assert facts["file_bytes"] == moe.stat().st_size
    assert facts["quants"]["Q4_K"] == 24


def test_that_the_cards_of_inspect_hold_every_tensor_once(run, moe):
    facts = run("inspect", moe, "--json", "--tensors").json
    cards = {card["id"]: card for card in facts["cards"]}
    assert cards["experts:0-7"] == {
        "id": "experts:0-7", "role": "routed_expert", "first": 0, "last": 7, "tensors": 24,
        "bytes": 24 * 16 * 512 * 512 // 256 * 144,
    }  # fmt: skip
    assert sum(card["tensors"] for card in cards.values()) == len(facts["tensors"])
    assert sum(card["bytes"] for card in cards.values()) == sum(tensor["bytes"] for tensor in facts["tensors"])


def test_that_tensors_carry_the_roles_of_the_contract(run, moe):
    tensors = run("inspect", moe, "--json", "--tensors").json["tensors"]
    by_name = {tensor["name"]: tensor for tensor in tensors}
    assert {tensor["role"] for tensor in tensors} <= {role.value for role in Role}
    up = by_name["blk.3.ffn_up_exps.weight"]
    assert (up["shape"], up["type"], up["role"], up["block"]) == ([512, 512, 16], "Q4_K", "routed_expert", 3)
    assert by_name["output.weight"]["block"] is None


def test_that_inspect_speaks_both_languages(run, moe):
    english, chinese = run("inspect", moe), run("inspect", moe, "--lang", "zh_CN")
    assert english.code == chinese.code == 0
    assert "16 experts, 4 used per token" in english.out
    assert "16 个专家，每个 token 用 4 个" in chinese.out
    for said in (english, chinese):
        assert "experts:0-7" in said.out
        assert "4 096" in said.out


def test_that_a_dense_model_is_inspected_too(run, dense):
    assert run("inspect", dense, "--json").json["experts"]["count"] == 0
    assert "dense" in run("inspect", dense).out.splitlines()[0]


@pytest.fixture
def bad_files(tmp_path, moe):
    """Kind of trouble -> a path with a space and Chinese characters in it."""
    folder = tmp_path / "坏的 files"
    folder.mkdir()
    (folder / "text.gguf").write_text("this is no model", encoding="utf-8")
    (folder / "empty.gguf").touch()
    with moe.open("rb") as whole:
        (folder / "short.gguf").write_bytes(whole.read(20_000))
    return {
        "missing": folder / "absent.gguf",
        "folder": folder,
        "not gguf": folder / "text.gguf",
        "empty": folder / "empty.gguf",
        "truncated": folder / "short.gguf",
    }


@pytest.mark.parametrize("verb", ["inspect", "plan", "command"])
@pytest.mark.parametrize("kind", ["missing", "folder", "not gguf", "empty", "truncated"])
def test_that_a_bad_file_gives_one_sentence_and_exit_code_2(run, bad_files, verb, kind):
    said = run(verb, bad_files[kind], "--json")
    assert said.code == 2
    assert said.sentence.startswith("Error: ")
    assert str(bad_files[kind]) in said.sentence


def test_that_a_missing_part_is_named(run, tmp_path):
    from tests.tools.gguf_bytes import gguf, model_pairs, u32_pair

    pairs = [*model_pairs(), u32_pair("split.count", 3), u32_pair("split.no", 0)]
    (tmp_path / "m-00001-of-00003.gguf").write_bytes(gguf(pairs))
    said = run("inspect", tmp_path / "m-00001-of-00003.gguf")
    assert said.code == 2
    assert "m-00002-of-00003.gguf" in said.sentence


def test_that_a_name_that_is_no_unicode_stays_valid_json(run, tmp_path, moe):
    import os

    odd = os.fsencode(tmp_path) + b"/odd-\xff.gguf"
    try:
        os.link(os.fsencode(moe), odd)
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    facts = json.loads(run("inspect", os.fsdecode(odd), "--json").out)
    assert facts["path"].endswith("odd-\udcff.gguf")


def test_that_a_model_cannot_command_the_terminal(run, tmp_path):
    name = "\x1b]0;title\x07 \u202egnp"
    writer = GgufWriter()
    writer.add("general.architecture", ValueType.STRING, "llama")
    writer.add("general.name", ValueType.STRING, name)
    writer.add("llama.block_count", ValueType.U32, 1)
    writer.add_tensor("blk.0.attn_q.weight", (32, 32), "F16")
    path = tmp_path / "bad\x1b[31m.gguf"
    try:
        writer.write(path)
    except OSError:  # Windows takes no such character in a name
        path = tmp_path / "bad.gguf"
        writer.write(path)
    said = run("inspect", path)
    assert "\\x1b]0;title\\x07 \\u202egnp" in said.out
    assert not set("\x1b\x07\u202e") & set(said.out)
    assert run("inspect", path, "--json").json["name"] == name
    assert "\x1b" not in run("inspect", tmp_path / "gone\x1b[31m.gguf").err
    assert str(path) in run("command", path, "--hardware", NO_GPU, "--shell", "bash").out
