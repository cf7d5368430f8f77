"""The device list of real engines."""

import pytest

from app.common.problem import ProblemError
from app.common.units import MIB
from app.engine.devices import check_rpc_servers, parse_devices
from app.engine.ports import base_url, free_port, port_is_free, port_problem, split_endpoint
from tests.tools.engine_data import log_lines


def devices_of(name):
    return parse_devices("\n".join(log_lines(name)))


def test_that_a_processor_only_build_has_no_devices():
    assert devices_of("list-devices-cpu.log") == ()


def test_that_an_rpc_device_has_the_buffer_name_that_overrides_want():
    (device,) = devices_of("list-devices-rpc.log")
    assert (device.name, device.buffer_name) == ("RPC0", "RPC0[127.0.0.1:50099]")
    assert (device.total_bytes, device.free_bytes) == (24105 * MIB, 24105 * MIB)


def test_that_a_description_may_hold_brackets_and_commas():
    (device,) = devices_of("list-devices-vulkan-lavapipe.log")
    assert device.description == "llvmpipe (LLVM 15.0.6, 256 bits)"
    assert device.buffer_name == device.name == "Vulkan0"


def test_that_buffer_names_of_rpc_count_per_server():
    text = "\n".join(
        f"  {name}: {endpoint} (100 MiB, 90 MiB free)"
        for name, endpoint in [("RPC0", "a:1"), ("RPC1", "a:1"), ("RPC2", "b:2"), ("CUDA0", "NVIDIA RTX")]
    )
    assert [d.buffer_name for d in parse_devices(text)] == ["RPC0[a:1]", "RPC1[a:1]", "RPC0[b:2]", "CUDA0"]


def test_that_no_memory_figure_is_unknown_and_not_zero():
    (device,) = parse_devices("  SYCL0: Graphics (0 MiB, 0 MiB free)")
    assert (device.total_bytes, device.free_bytes) == (None, None)
    (full,) = parse_devices("  CUDA0: Card (8192 MiB, 0 MiB free)")
    assert full.free_bytes == 0


def test_that_a_silent_rpc_server_is_found_out_before_the_engine_aborts():
    for endpoint in (f"127.0.0.1:{free_port()}", "nonsense", "host:0", "127.0.0.1:99999"):
        with pytest.raises(ProblemError) as caught:
            check_rpc_servers([endpoint])
        assert caught.value.problem.code == "rpc_unreachable"
        assert caught.value.problem.params["endpoint"] == endpoint


def test_that_endpoints_are_split_at_the_last_colon():
    assert split_endpoint("192.168.1.7:50052") == ("192.168.1.7", 50052)
    assert split_endpoint("[::1]:50052") == ("::1", 50052)
    assert split_endpoint("host") is None


def test_that_a_taken_port_is_seen_and_a_free_one_too(tmp_path):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        problem = port_problem("127.0.0.1", port)
        assert problem.code == "port_in_use"
        assert dict(problem.params) == {"host": "127.0.0.1", "port": port}
    assert port_is_free("127.0.0.1", free_port())
    assert port_is_free("127.0.0.1", 0)
    assert port_problem("203.0.113.9", 8080).code == "host_unknown"


def test_that_a_wildcard_is_reached_on_loopback():
    assert base_url("0.0.0.0", 8080) == "http://127.0.0.1:8080"
    assert base_url("::", 8080) == "http://[::1]:8080"
    assert base_url("192.168.1.2", 1) == "http://192.168.1.2:1"
