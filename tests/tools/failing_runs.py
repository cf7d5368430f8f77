"""Real failures of a real llama-server, produced on purpose: what it printed, what the doctor says, and the fix's run.

Memory runs out through the address space limit of a ggml-rpc-server (a card of a few MiB) or of the server itself;
permissions are taken away with ``setpriv``, so that it works for root as well. Used by the tests and by
``benchmarks/failures.py``.
"""

import os
import shutil
import signal
import socket
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from app.common.problem import Problem, ProblemError
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts, Finding
from app.engine.client import ServerClient
from app.engine.events import Exited, LogLine, Ready
from app.engine.process import LaunchSpec, start_server
from app.engine.rpc import RpcServer
from app.model.demo import make_demo_model
from app.model.reader import read_model
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import Device, DeviceKind, DeviceSet, Wishes
from app.work.doctor_text import fix_sentence, words_of
from app.work.engines import capabilities_of, open_engine

MIB = 1 << 20
PATIENCE_S = 60.0


@dataclass
class Ended:
    """One run: everything printed, how it ended, and whether it had answered."""

    lines: list[str] = field(default_factory=list)
    is_ready: bool = False
    code: int | None = None
    reason: Problem | None = None


@dataclass(frozen=True)
class Outcome:
    """A failure, what the doctor said first, the fix, and how the run with the fix went ("ready" or a code)."""

    name: str
    finding: Finding
    sentence: str
    fix: str | None
    second: str | None


class Workshop:
    """A folder with a demo model, and ways to break things in it."""

    def __init__(self, engine, paths, folder):
        self.engine, self.paths, self.folder = engine, paths, Path(folder)
        self.model = self.folder / "demo.gguf"
        make_demo_model(self.model)
        self.info = read_model(str(self.model))
        self.capabilities = capabilities_of(open_engine(engine.path, paths))

    def inputs(self, rpc=None, port=0, free_mib=4096, **wishes):
        """What a plan follows from: RAM alone, or a card behind ``rpc`` that claims to have ``free_mib``."""
        ram = Device("RAM", DeviceKind.RAM, 16384 * MIB, 8192 * MIB)
        cards, servers = (), ()
        if rpc is not None:
            buffer = f"RPC0[{rpc.endpoint}]"
            cards = (Device("RPC0", DeviceKind.RPC, free_mib * MIB, free_mib * MIB, "", buffer),)
            servers = (rpc.endpoint,)
        told = Wishes(**{"n_ctx": 4096, "prompt_cache_mib": 0, "n_threads": 2, **wishes})
        return PlanInputs(self.info, DeviceSet(cards, ram, rpc_servers=servers), told, self.capabilities, 2, port=port)

    def card(self, mib):
        """A card with room for so many MiB: a ggml-rpc-server whose address space is limited to that and itself."""
        with RpcServer(self.engine, self.paths) as free:
            own = psutil.Process(free.pid).memory_info().vms
        return RpcServer(self.engine, self.paths, address_space_bytes=own + mib * MIB)

    def run(self, plan, program=None, while_ready=None):
        """Run a plan's command until it is ready, do what ``while_ready`` does, stop it; or until it ends by itself."""
        ended, changed = Ended(), threading.Event()

        def on_event(event):
            if isinstance(event, LogLine):
                ended.lines.append(event.text)
            elif isinstance(event, Ready):
                ended.is_ready = True
                changed.set()
            elif isinstance(event, Exited):
                ended.code, ended.reason = event.code, event.reason
                changed.set()

        spec = LaunchSpec(program or self.engine.path, plan.argv, (), self.paths, api_key="test-key")
        try:
            server = start_server(spec, on_event)
        except ProblemError as error:
            ended.reason = error.problem
            return ended
        try:
            assert changed.wait(PATIENCE_S), "the server neither became ready nor ended"
            if ended.is_ready and while_ready is not None:
                while_ready(server)
        finally:
            server.stop()
            assert server.wait(PATIENCE_S)
        return ended

    def examined(self, inputs, plan, ended, **facts):
        """The doctor's findings about a run of a plan."""
        told = Facts(
            inputs=inputs,
            plan=plan,
            log=read_log(ended.lines),
            log_is_of_plan=True,
            exit_code=ended.code if ended.reason is not None else None,
            reason=ended.reason,
            capabilities=self.capabilities,
            tried=frozenset({plan.argv}),
            **facts,
        )
        return examine(told)

    def outcome(self, name, inputs, program=None, while_ready=None, second_program=None, placement=None, code=None):
        """Run the plan of these inputs, examine, and run it again as the fix has it. ``code``: the finding to show,
        where the server lives on and says more than one thing."""
        plan = make_plan(inputs, placement)
        ended = self.run(plan, program, while_ready)
        findings = self.examined(inputs, plan, ended)
        assert findings, "\n".join(ended.lines[-20:])
        finding = next(f for f in findings if f.code == code) if code is not None else findings[0]
        second = None
        if finding.fix is not None:
            again = self.run(finding.fix.plan, second_program or program)
            second = "ready" if again.is_ready else again.reason.code if again.reason is not None else "ended"
        fix = None if finding.fix is None else fix_sentence(finding.fix)
        return Outcome(name, finding, words_of(finding).sentence, fix, second)

    def script(self, name, text):
        """An executable shell script that stands in for llama-server."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def with_model(self, path):
        """The same inputs for another file of the same header."""
        return replace(self.inputs(), model=replace(self.info, path=str(path)))


def ask(url, words=40, n=64, key="test-key"):
    """A question to a running server; what it answers does not matter, errors of the server are expected."""
    client = ServerClient(url, key)
    try:
        client.completion("word " * words, n, seed=1)
    except ProblemError:
        return
    finally:
        client.close()


# ---- memory ---------------------------------------------------------------------------------------------------------


def weights_do_not_fit(shop):
    with shop.card(15) as card:
        return shop.outcome("weights on a card that is too small", shop.inputs(card))


def cache_does_not_fit(shop):
    with shop.card(27) as card:
        return shop.outcome("KV cache on a card that is too small", shop.inputs(card))


def compute_does_not_fit(shop):
    with shop.card(53) as card:
        return shop.outcome("compute buffer on a card that is too small", shop.inputs(card, n_ubatch=2048))


def ram_does_not_fit(shop):
    limited = shop.script("limited", f'exec prlimit --as={700 * MIB} "{shop.engine.path}" "$@"')
    return shop.outcome("KV cache in RAM under a limit", shop.inputs(n_ctx=150_000), program=limited)


def memory_cannot_be_locked(shop):
    limited = shop.script(
        "unlocked",
        f'exec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock prlimit --memlock=65536 "{shop.engine.path}" "$@"',
    )
    return shop.outcome("memory that may not be locked", shop.inputs(load_mode="mlock"), limited, code="mlock_failed")


# ---- arguments ------------------------------------------------------------------------------------------------------


def unknown_flag(shop):
    return shop.outcome("an option that no build has", shop.inputs(extra=("--no-such-option",)))


def renamed_flag(shop):
    return shop.outcome("an option of older builds", shop.inputs(extra=("--no-mmap",)))


def broken_pattern(shop):
    return shop.outcome("a pattern that is none", shop.inputs(extra=("-ot", "exps(=CPU")))


def unknown_device_in_rule(shop):
    return shop.outcome("a rule to a device that is not there", shop.inputs(extra=("-ot", "exps=CUDA7")))


def rule_that_finds_nothing(shop):
    return shop.outcome("a rule that finds nothing", shop.inputs(extra=("-ot", r"mlp\.experts=CPU")))


def cache_type_without_flash_attention(shop):
    inputs = shop.inputs(cache_type_v="q8_0", flash_attn="off")
    return shop.outcome("q8_0 V cache without Flash Attention", inputs)


def port_taken(shop):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        return shop.outcome("a port that is taken", shop.inputs(port=taken.getsockname()[1]))


def nobody_at_the_rpc_server(shop):
    with RpcServer(shop.engine, shop.paths) as card:
        inputs = shop.inputs(card)
    return shop.outcome("an RPC server that is gone", inputs)


# ---- files ----------------------------------------------------------------------------------------------------------


def _broken_file(shop, name, change):
    path = shop.folder / "broken.gguf"
    data = bytearray(shop.model.read_bytes())
    path.write_bytes(change(data))
    return shop.outcome(name, shop.with_model(path))


def file_cut_short(shop):
    return _broken_file(shop, "a file that was cut short", lambda data: data[: len(data) * 2 // 3])


def file_of_another_kind(shop):
    return _broken_file(shop, "a file that is no GGUF", lambda data: b"PK\x03\x04" + data[4:])


def architecture_of_tomorrow(shop):
    arch = shop.info.architecture.encode()
    return _broken_file(shop, "an architecture of tomorrow", lambda data: data.replace(arch, arch[:-1] + b"9"))


def file_that_is_gone(shop):
    return shop.outcome("a file that is gone", shop.with_model(shop.folder / "gone.gguf"))


def file_that_may_not_be_read(shop):
    path = shop.folder / "secret.gguf"
    shutil.copy(shop.model, path)
    path.chmod(0)
    caps = "-dac_override,-dac_read_search"
    weak = shop.script("weak", f'exec setpriv --bounding-set={caps} --inh-caps={caps} "{shop.engine.path}" "$@"')
    return shop.outcome("a file that may not be read", shop.with_model(path), weak)


# ---- the program ----------------------------------------------------------------------------------------------------


def _copy_of_engine(shop, name, leave_out=""):
    folder = shop.folder / name
    folder.mkdir()
    source = Path(os.path.realpath(shop.engine.path))
    for entry in source.parent.iterdir():
        if entry.name != source.name and not (leave_out and entry.name.startswith(leave_out)):
            (folder / entry.name).symlink_to(entry)
    shutil.copy(source, folder / source.name)
    return folder / source.name


def library_missing(shop):
    return shop.outcome("a library that is missing", shop.inputs(), str(_copy_of_engine(shop, "bare", "libmtmd")))


def program_may_not_run(shop):
    program = _copy_of_engine(shop, "unrunnable")
    program.chmod(0o644)
    return shop.outcome("a program without execute permission", shop.inputs(), str(program))


def program_of_another_system(shop):
    path = shop.folder / "llama-server"
    path.write_bytes(b"\x7fNOT a program" + bytes(200))
    path.chmod(0o755)
    return shop.outcome("a program of another system", shop.inputs(), str(path))


def program_that_is_gone(shop):
    return shop.outcome("a program that is gone", shop.inputs(), str(shop.folder / "nowhere" / "llama-server"))


def program_that_dies_without_a_word(shop):
    return shop.outcome("an end without a word", shop.inputs(), shop.script("silent", "exit 77"))


# ---- while it runs --------------------------------------------------------------------------------------------------


def server_killed(shop):
    def kill(server):
        os.kill(server.pid, signal.SIGKILL)
        assert server.wait(PATIENCE_S)

    return shop.outcome("kill -9 of the server", shop.inputs(), while_ready=kill)


def card_lost_while_generating(shop):
    with ExitStack() as stack:
        card = RpcServer(shop.engine, shop.paths)
        card.start()
        stack.callback(card.stop)

        def lose(server):
            asking = threading.Thread(target=ask, args=(server.url,), kwargs={"n": 4000})
            asking.start()
            os.kill(card.pid, signal.SIGKILL)
            asking.join()
            assert server.wait(PATIENCE_S)

        return shop.outcome("kill -9 of the RPC server in an answer", shop.inputs(card), while_ready=lose)


def context_full(shop):
    inputs = shop.inputs(n_ctx=256)
    return shop.outcome(
        "a question beyond the context", inputs, while_ready=lambda s: ask(s.url, words=2000), code="context_full"
    )


CHEAP = (
    weights_do_not_fit, cache_does_not_fit, compute_does_not_fit, unknown_flag, renamed_flag, broken_pattern,
    unknown_device_in_rule, rule_that_finds_nothing, port_taken, file_cut_short, architecture_of_tomorrow,
    library_missing, program_may_not_run, server_killed, card_lost_while_generating, context_full,
)  # fmt: skip
"""A few seconds each on two cores at most: these are tests."""

MORE = (
    ram_does_not_fit, memory_cannot_be_locked, cache_type_without_flash_attention, nobody_at_the_rpc_server,
    file_of_another_kind, file_that_is_gone, file_that_may_not_be_read, program_of_another_system, program_that_is_gone,
    program_that_dies_without_a_word,
)  # fmt: skip
