"""ggml-rpc-server as a stand-in for a card: it must outlive the clients that are ended while it answers them."""

import socket

from app.common.paths import app_paths
from app.engine.devices import list_devices
from app.engine.rpc import RpcServer

HELLO = bytes([14]) + (24).to_bytes(8, "little") + bytes(24)
"""Command, length, capabilities (ggml-rpc.cpp:61-91)."""
DEVICE_COUNT = bytes([15]) + bytes(8)
ROUNDS = 5


def leave_while_it_answers(server):
    """Ask hundreds of things at once and go, as an engine that is killed does."""
    with socket.create_connection((server.endpoint.split(":")[0], server.port)) as client:
        client.sendall(HELLO + DEVICE_COUNT * 300)


def test_that_a_client_that_is_killed_does_not_take_the_server_along(engine):
    with RpcServer(engine, app_paths()) as server:
        for _ in range(ROUNDS):
            leave_while_it_answers(server)
        assert [device.name for device in list_devices(engine, (server.endpoint,))] == ["RPC0"]
