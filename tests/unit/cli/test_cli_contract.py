"""docs/cli.md is kept: every JSON key that it writes down is in what the verb really answers."""

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import LAPTOP, NO_GPU

pytestmark = pytest.mark.slow

TEXT = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
TOKEN = re.compile(r'"([^"]*)"|([{}\[\],:])|[^"{}\[\],:]+')
COMMAND = ("--", "-m", "x.gguf", "-ngl", "99", "-c", "4096", "-ot", "exps=CPU")


def promised(after):
    """The shape that stands behind these words: objects with their keys, lists with what they hold, None for values."""
    assert TEXT.count(after) == 1, after
    rest = TEXT[TEXT.index(after) + len(after) :]
    tokens = TOKEN.finditer(rest[re.search(r"[{\[]", rest).start() :])
    return _object(tokens) if next(tokens)[2] == "{" else _list(tokens)


def _object(tokens):
    """Objects whose keys are data (tensor names, options) promise no key."""
    found, key, is_value = {}, None, False
    for token in tokens:
        if token[2] == "}":
            return {name: shape for name, shape in found.items() if re.fullmatch("[a-z][a-z0-9_]*", name)}
        if token[2] in ("{", "["):
            shape = _object(tokens) if token[2] == "{" else _list(tokens)
            if key is not None:
                found[key] = shape
            is_value = False
        elif token[2]:
            is_value = token[2] == ":"
        elif token[1] is not None and not is_value:
            key = token[1]
            found[key] = None
    raise AssertionError("an object in docs/cli.md has no end")


def _list(tokens):
    held = []
    for token in tokens:
        if token[2] == "]":
            return held[:1]
        if token[2] in ("{", "["):
            held.append(_object(tokens) if token[2] == "{" else _list(tokens))
    raise AssertionError("a list in docs/cli.md has no end")


def missing(shape, answer, where="answer"):
    """The keys that are promised and not there; an unknown (null) part promises nothing."""
    if isinstance(shape, dict) and isinstance(answer, dict):
        gone = [f"{where}.{key}" for key in shape if key not in answer]
        return gone + [m for key in shape if key in answer for m in missing(shape[key], answer[key], f"{where}.{key}")]
    if isinstance(shape, list) and shape and isinstance(answer, list):
        return [m for i, item in enumerate(answer) for m in missing(shape[0], item, f"{where}[{i}]")]
    return []


def test_that_a_shape_is_read_with_its_lists_and_unknown_values():
    shape = promised("`plan --json` (keys")
    assert shape["model"] == {
        "path": None, "architecture": None, "name": None, "file_bytes": None, "blocks": None,
        "experts": {"count": None, "used": None, "shared": None},
    }  # fmt: skip
    assert shape["devices"][0].keys() >= {"name", "kind", "fits"}
    assert shape["placement"] == {}
    assert missing({"a": [{"b": None}], "c": {"d": None}}, {"a": [{"b": 1}, {}], "c": None}) == ["answer.a[1].b"]


@pytest.mark.parametrize(
    ("after", "arguments", "part"),
    [
        ("`plan --json` (keys", ("plan", "MODEL", "--tensors", "--hardware", LAPTOP), None),
        ("- `plan --json`: `trades`, what", ("plan", "MODEL", "--hardware", LAPTOP, "--ctx", "16384"), "trades"),
        ("`second_gpu`, null with one card, else",
         ("plan", "MODEL", "--hardware", NO_GPU, "--device", "CUDA0=30", "--device", "CUDA1=30"), "second_gpu"),
        ("\n`inspect --json`:", ("inspect", "MODEL", "--tensors"), None),
        ("\n`lint --json`:", ("lint", "MODEL", "--hardware", LAPTOP, *COMMAND), None),
        ("\n`plan --json` (keys", ("import", "MODEL", "--tensors", "--hardware", LAPTOP, *COMMAND), None),
        ("instead. JSON:", ("fits", "--arch", "qwen3moe", "--size-gib", "17.3", "--hardware", LAPTOP), None),
        ("- `command --json --shell X`:", ("command", "MODEL", "--shell", "bash", "--hardware", LAPTOP), None),
        ("- `export --json`:", ("export", "MODEL", "--hardware", LAPTOP, "--to", "OUT.json"), None),
        ("beside the snapshot it has `facts`", ("machine", "--hardware", LAPTOP), "facts"),
        ("unknown one), `verdict`", ("machine", "--hardware", LAPTOP), "verdict"),
        ("- `machine --compare FILE --json`:", ("machine", "--hardware", LAPTOP, "--compare", NO_GPU), None),
        ("lists and never uses the network. JSON:", ("engines",), None),
        ("(also `--engine`; `--json`:", ("selftest", "OUT.json"), None),
    ],
)  # fmt: skip
def test_that_every_key_of_the_contract_is_in_the_answer(run, moe, tmp_path, after, arguments, part):
    places = {"MODEL": moe, "OUT.json": tmp_path / "out.json"}
    verb, *rest = (places.get(word, word) for word in arguments)
    said = run(verb, "--json", *rest)
    answer = said.json if part is None else said.json[part]
    assert answer, said.err
    assert missing(promised(after), answer) == []
    if verb != "machine":  # the snapshot's own keys are those of app/hardware/types.py
        assert [name for name in said.json if not re.search(f'["`]{name}["`]', TEXT)] == []


def test_that_a_doctors_finding_and_its_fix_have_the_keys_of_the_contract(run, moe):
    wishes = ("--hardware", NO_GPU, "--device", "CUDA0=4096", "--extra", "-ot nothing_here=CPU")
    findings = run("doctor", moe, *wishes, "--json").json
    assert missing(promised("`doctor --json`:"), findings) == []
    fixes = [finding["fix"] for finding in findings["findings"] if finding["fix"]]
    assert fixes
    assert [missing(promised("too; `fix`:"), fix) for fix in fixes] == [[]] * len(fixes)


def test_that_a_plan_file_and_a_comparison_with_it_have_the_keys_of_the_contract(run, moe, tmp_path):
    path = tmp_path / "plan.json"
    assert run("export", moe, "--hardware", LAPTOP, "--to", path).code == 0
    assert missing(promised("Plan files are JSON:"), json.loads(path.read_text(encoding="utf-8"))) == []
    other = run("plan", moe, "--json", "--hardware", LAPTOP, "--ctx", "4096", "--preset", "all-cpu", "--against", path)
    assert other.json["against"]["moved"]
    assert missing(promised('JSON: `"against":'), other.json["against"]) == []


def test_that_the_file_of_a_self_test_has_the_keys_of_the_contract(run, tmp_path):
    path = tmp_path / "self.json"
    assert run("selftest", path).code == 0
    elsewhere = {f"answer.raw.{key}" for key in ("processor_information", "cpu_sets", "dxgi")}  # Windows' own
    elsewhere |= {f"answer.engine.{key}" for key in ("version", "devices", "options")}  # there is no engine here
    answer = json.loads(path.read_text("utf-8"))
    assert set(missing(promised('`{"path","bytes","facts","unknown"}`):'), answer)) <= elsewhere
