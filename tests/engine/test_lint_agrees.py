"""The real engine agrees with lint: what it refuses is an error there, and a converted command allocates the same."""

import pytest

from app.common.problem import ProblemError
from app.diagnose.lint import lint
from app.engine.capabilities import read_capabilities
from app.engine.logparse import OverrideConfirmed, parse_log_line
from app.engine.probe import dry_run
from app.model.reader import read_model
from app.planner.command_import import read_command
from app.planner.command_plan import plan_of_command
from app.planner.plan import PlanInputs
from app.planner.tensor_rules import match_rules, rules_of
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from tests.tools.sparse_models import make_sparse

pytestmark = pytest.mark.engine

_GIB = 1 << 30


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("sparse") / "qwen3-30b.gguf"
    make_sparse("qwen3-30b", path)
    return read_model(str(path))


@pytest.fixture
def inputs(model, engine, rpc_server, app_folders):
    gpu = Device("RPC0", DeviceKind.RPC, 64 * _GIB, 64 * _GIB, buffer_name=f"RPC0[{rpc_server.endpoint}]")
    devices = DeviceSet((gpu,), Device(RAM, DeviceKind.RAM, 64 * _GIB, 64 * _GIB), rpc_servers=(rpc_server.endpoint,))
    capabilities = read_capabilities(engine, app_folders.cache)
    return PlanInputs(model, devices, Wishes(), capabilities, n_threads=2)


def _ask(engine, argv, folders):
    """(what the engine would allocate, the tensors it moves)."""
    moved = {}

    def on_line(line):
        fact = parse_log_line(line)
        if isinstance(fact, OverrideConfirmed):
            moved.setdefault(fact.tensor, fact.buffer_name)

    rows = dry_run(engine, argv, folders, on_line=on_line)
    figures = {row.device: (row.weights_bytes, row.kv_bytes, row.compute_bytes) for row in rows}
    return figures, moved


def _whole(words, inputs):
    server = inputs.devices.rpc_servers[0]
    text = [word.replace("GPU0", f"RPC0[{server}]") for word in words]
    return ["-m", inputs.model.path, "--rpc", server, "-nr", *text]


@pytest.mark.parametrize(
    "words",
    [
        ["-ot", r"blk\.[0-9]{1,2}\.ffn_.*_exps=CPU"],
        ["-ot", "exps"],
        ["-ot", "exps=cpu"],
        ["-ot", "exps=gpu"],
        ["-ot", "exps=CPU_REPACK"],
        ["-ot", "exps=RPC0"],
        ["-ot", "'exps=CPU'"],
        ["-ot", "(=CPU"],
        ["-ot", "(?i)exps=CPU"],
        ["-ot", r"blk(?=\.1)=CPU"],
        ["--mlock"],
        ["--no-mmap"],
        ["-fmoe"],
        ["-c=4096"],
        ["-ctk", "q9_9"],
        ["-ncmoe", "-1"],
        ["-dev", "CUDA7"],
        ["-fa", "-ngl", "3"],
        ["stray"],
    ],
    ids=" ".join,
)
def test_that_what_the_engine_refuses_is_an_error_of_lint(engine, inputs, app_folders, words):
    argv = _whole(["-c", "4096", "-np", "1", *words], inputs)
    with pytest.raises(ProblemError):
        dry_run(engine, argv, app_folders)
    report = lint(read_command(argv, inputs.capabilities), inputs)
    assert report.has_errors
    assert _ask(engine, report.converted, app_folders)[0]


def test_that_an_rpc_device_must_be_registered_before_it_is_named(engine, inputs, app_folders):
    server = inputs.devices.rpc_servers[0]
    argv = ["-m", inputs.model.path, "-c", "4096", "-ot", f"exps=RPC0[{server}]", "--rpc", server]
    with pytest.raises(ProblemError):
        dry_run(engine, argv, app_folders)
    report = lint(read_command(argv, inputs.capabilities), inputs)
    assert "lint_rpc_late" in [p.code for p in report.problems]
    assert _ask(engine, report.converted, app_folders)[0]


@pytest.mark.parametrize(
    "words",
    [
        ["-ngl", "99", "-ot", r"mlp\.experts=CPU"],
        ["-ngl", "99", "-ot", "exps=CPU", "-ctk", "q8_0", "-ctv", "q8_0"],
        ["-ngl", "99", "--n-cpu-moe", "7", "-ub", "1024"],
        ["-ngl", "99", "-ot", r"blk\.2\.ffn_up_exps=GPU0", "--n-cpu-moe", "8"],
        ["-ngl", "99", "--n-cpu-moe", "8", "-ot", r"blk\.2\.ffn_up_exps=GPU0"],
        ["-ngl", "20", "-ot", r"blk\.([0-9])\.ffn_.*_exps=GPU0,token_embd=GPU0", "-np", "2"],
        ["-ngl", "24", "-nkvo", "-np", "2", "-kvu"],
        ["-ngl", "99", "-ot", r"^(?!.*(attn|norm)).*exps=CPU", "-ot", r"output\.weight=CPU", "-b", "256"],
        ["-dev", "none"],
        ["-ngl", "99", "-cmoe", "-fa", "off"],
    ],
    ids=" ".join,
)
def test_that_the_engine_does_the_same_for_the_plan_of_a_command(engine, inputs, app_folders, words):
    argv = _whole(["-c", "4096", *words], inputs)
    command = read_command(argv, inputs.capabilities)
    plan = plan_of_command(command, inputs).plan
    figures, moved = _ask(engine, argv, app_folders)
    again, moved_again = _ask(engine, plan.argv, app_folders)
    assert again == figures
    hits = match_rules(rules_of(command.given), [t.name for t in inputs.model.tensors])
    assert set(moved) == {name for names in hits.wins for name in names}
    away = plan.placement.overrides
    assert {name: moved_again[name] for name in away} == {name: moved[name] for name in away}
