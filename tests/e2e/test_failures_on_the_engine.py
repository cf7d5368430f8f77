"""Real failures of a real llama-server: the doctor names the cause, and the plan that its fix leads to runs."""

import sys

import pytest

from app.common.paths import app_paths
from tests.tools import failing_runs as runs

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform != "linux", reason="limits and permissions are set with Linux's tools"),
]

CASES = [
    (runs.weights_do_not_fit, "weights_oom", "placed_anew"),
    (runs.cache_does_not_fit, "kv_oom", "placed_anew"),
    (runs.compute_does_not_fit, "compute_oom", "experts_more"),
    (runs.renamed_flag, "unknown_argument", "extra_replaced"),
    (runs.broken_pattern, "bad_regex", "extra_dropped"),
    (runs.rule_that_finds_nothing, "override_unmatched", "extra_dropped"),
    (runs.port_taken, "port_in_use", "port"),
    (runs.context_full, "context_full", "larger_context"),
    (runs.file_cut_short, "file_truncated", None),
    (runs.library_missing, "engine_dll_missing", None),
    (runs.server_killed, "engine_killed", "context"),
    (runs.card_lost_while_generating, "rpc_lost", None),
]


@pytest.fixture
def shop(engine, tmp_path):
    return runs.Workshop(engine, app_paths(), tmp_path)


@pytest.mark.parametrize(("produce", "code", "fix"), CASES, ids=[case[0].__name__ for case in CASES])
def test_that_a_real_failure_is_named_and_its_fix_runs(shop, produce, code, fix):
    outcome = produce(shop)
    assert outcome.finding.code == code
    assert (outcome.finding.fix.code if outcome.finding.fix else None) == fix
    assert outcome.second == (None if fix is None else "ready")


GOOD = [
    (True, {"extra": ("-lv", "5")}),
    (False, {"extra": ("-lv", "5"), "cache_type_k": "q8_0", "cache_type_v": "q8_0"}),
    (False, {"n_slots": 4, "load_mode": "mmap"}),
]


@pytest.mark.parametrize(("has_card", "wishes"), GOOD)
def test_that_a_good_run_has_no_error(shop, has_card, wishes):
    with runs.RpcServer(shop.engine, shop.paths) as card:
        inputs = shop.inputs(card if has_card else None, **wishes)
        plan = runs.make_plan(inputs)
        ended = shop.run(plan, while_ready=lambda server: runs.ask(server.url, n=4))
        assert ended.is_ready
        assert [f.code for f in shop.examined(inputs, plan, ended) if f.severity.value == "error"] == []
