"""A session made of fixed values, and realistic machines, plans and runs: for page tests and for pictures.

The values are illustrative (a laptop with an RTX 4080 and Qwen3-30B-A3B), so that pictures are the same every time.
"""

from __future__ import annotations

import dataclasses
import math
import time
from types import SimpleNamespace

from PySide6.QtCore import QObject, Signal

from app.common.problem import Problem, Severity
from app.common.units import GIB, MIB
from app.diagnose.buffers import BufferRow
from app.hardware.types import CoreKind, CpuCore, CpuInfo, GpuInfo, HardwareSnapshot, MemoryInfo
from app.model.types import ModelInfo, Role
from app.monitor.ring import RingBuffer
from app.monitor.sample import Sample
from app.planner.types import (
    Device,
    DeviceEstimate,
    DeviceKind,
    DeviceSet,
    MemoryEstimate,
    Placement,
    Plan,
    SpeedEstimate,
    Wishes,
)
from app.session.state import ChatPhase, ChatState, EnginePhase, EngineState, RunPhase, RunState
from app.settings import Settings
from tests.qt.fake_chat import FakeTalk
from tests.qt.fake_doctor import FakeDoctor
from tests.qt.fake_engines import FakeEngines
from tests.qt.fake_launching import FakeRuns, FakeStress, FakeUpdates
from tests.qt.fake_learning import FakeLearning
from tests.qt.fake_library import add_models
from tests.qt.fake_machine import FakeJudge, FakeMachine, FakeOtherApps, FakeVramUsers

ANSWER = (
    "A Mixture-of-Experts layer replaces one large feed-forward block with many small ones, the experts, and a router "
    "that picks a few of them for each token.\n\n"
    "1. All experts must be in memory, since any token may need any of them.\n"
    "2. Only 8 of 128 are read for one token, so each token touches about 6 % of the expert bytes.\n\n"
    "That is why the experts are the part to keep in RAM: they are big, but read thinly."
)
CODE_ANSWER = (
    "The router keeps the **top 8** scores and only reads *those* experts:\n\n"
    "```python\ndef moe(x):\n    best = top_k(x @ router, 8)\n    return sum(w * experts[i](x) for i, w in best)\n"
    "```\n\n"
    "| Part | Read per token |\n|---|---|\n| attention | all |\n| experts | 8 of 128 |\n"
)
REASONING = (
    "The user asks why experts can live in RAM. Say what is read per token, compare it with the dense part, and keep "
    "it short."
)


def laptop_cores() -> tuple[CpuCore, ...]:
    """An i9-13900HX: 8 P-cores with two threads each, 16 E-cores."""
    fast = tuple(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(8))
    return fast + tuple(CpuCore((16 + i,), CoreKind.E) for i in range(16))


def laptop() -> HardwareSnapshot:
    """A gaming laptop where nearly everything is known."""
    return HardwareSnapshot(
        taken_at="2026-11-29T14:00:00+08:00",
        os="Windows 11 (build 22631)",
        cpu=CpuInfo(
            name="13th Gen Intel(R) Core(TM) i9-13900HX",
            cores=laptop_cores(),
            recommended_cpus=tuple(range(16)),
            recommended_threads=8,
            reason="p_cores",
            is_hybrid=True,
            is_virtual_machine=False,
        ),
        memory=MemoryInfo(32 * GIB - 300 * MIB, 21 * GIB, "DDR5", 2, 2, 5600, 89.6, 71.2),
        gpus=(
            GpuInfo(
                name="NVIDIA GeForce RTX 4080 Laptop GPU",
                kind="gpu",
                engine_name="CUDA0",
                total_bytes=12282 * MIB,
                free_bytes=11970 * MIB,
                uuid="GPU-1c2d",
                pci_id="0000:01:00.0",
                driver="572.16",
                compute_capability="8.9",
                pcie_gen_max=4,
                pcie_gen_now=1,
                pcie_width_max=8,
                pcie_width_now=8,
                drives_display=True,
                memory_gbs=432.0,
                buffer_name="CUDA0",
                engine_free_bytes=11010 * MIB,
            ),
            GpuInfo(
                name="Intel(R) UHD Graphics",
                kind="igpu",
                engine_name=None,
                total_bytes=128 * MIB,
                free_bytes=None,
                pci_id="0000:00:02.0",
            ),
        ),
        sources={
            "cpu.name": "registry",
            "cpu.cores": "win32",
            "memory.total_bytes": "psutil",
            "memory.modules": "smbios",
            "memory.channels": "estimate_locator",
            "memory.speed_mts": "smbios",
            "memory.measured_gbs": "measured",
            "gpus.0": "nvml",
            "gpus.0.free_bytes": "engine",
            "gpus.0.engine_name": "engine",
            "memory.theoretical_gbs": "estimate",
            "gpus.1": "dxgi",
        },
        engine_asked=True,
    )


def bare_machine() -> HardwareSnapshot:
    """A virtual machine that tells next to nothing."""
    return HardwareSnapshot(
        taken_at="2026-11-29T14:00:00+00:00",
        os="Linux 6.1 (Debian GNU/Linux 12)",
        cpu=CpuInfo(None, tuple(CpuCore((i,), CoreKind.UNKNOWN) for i in range(4)), (0, 1, 2, 3), 4, "all_cpus"),
        memory=MemoryInfo(None, None),
        gpus=(),
        problems=(Problem("memory_modules_failed", Severity.WARNING),),
    )


def qwen() -> ModelInfo:
    """The model's facts without its tensors."""
    return ModelInfo(
        path="D:\\models\\Qwen3-30B-A3B-Q4_K_M.gguf",
        parts=("D:\\models\\Qwen3-30B-A3B-Q4_K_M.gguf",),
        version=3,
        architecture="qwen3moe",
        name="Qwen3-30B-A3B-Instruct",
        file_bytes=int(17.3 * GIB),
        block_count=48,
        context_length=40960,
        vocab_size=151936,
        embedding_length=2048,
        expert_count=128,
        expert_used_count=8,
        expert_shared_count=0,
        expert_ff_length=768,
        nextn_count=0,
        sliding_window=None,
        is_mla=False,
        layers=(),
        tensors=(),
    )


def plan(gpu: bool = True, problems: tuple[Problem, ...] = ()) -> Plan:
    """Experts of the last 22 layers in RAM, the rest on the card."""
    ram = Device("RAM", DeviceKind.RAM, 32 * GIB, 21 * GIB, bandwidth_gbs=71.2)
    card = Device("CUDA0", DeviceKind.GPU, 12282 * MIB, 11970 * MIB, "RTX 4080 Laptop", overhead_bytes=450 * MIB)
    on_card = DeviceEstimate(
        "CUDA0", DeviceKind.GPU,
        {Role.ATTENTION: 532 * MIB, Role.OUTPUT: 243 * MIB, Role.ROUTER: 9 * MIB, Role.ROUTED_EXPERT: 9100 * MIB},
        816 * MIB, 200 * MIB, 450 * MIB, 0, 600 * MIB, 12282 * MIB, 11970 * MIB,
    )  # fmt: skip
    in_ram = DeviceEstimate(
        "RAM", DeviceKind.RAM, {Role.EMBEDDING: 166 * MIB, Role.ROUTED_EXPERT: 7640 * MIB},
        0, 84 * MIB, 0, 1024 * MIB, 0, 32 * GIB, 21 * GIB,
    )  # fmt: skip
    return Plan(
        model_path=qwen().path,
        devices=DeviceSet((card,) if gpu else (), ram),
        wishes=Wishes(n_ctx=16384),
        n_ctx=16384,
        n_slots=1,
        placement=Placement(48, (("CUDA0", 49),) if gpu else ()),
        overrides=(),
        estimate=MemoryEstimate((on_card, in_ram) if gpu else (in_ram,)),
        speed=SpeedEstimate(60.0, 410.0, "estimated", "ram", int(0.47 * GIB)),
        argv=("-m", qwen().path, "-dev", "CUDA0", "-ngl", "99"),
        problems=problems,
    )


def buffers(agree: bool = True) -> tuple[BufferRow, ...]:
    """What the plan predicted and the engine reported."""
    rows = (
        BufferRow("CUDA0", "weights", 9884 * MIB, 9884 * MIB, True),
        BufferRow("CUDA0", "kv", 816 * MIB, 816 * MIB, True),
        BufferRow("CUDA0", "compute", 200 * MIB, 202 * MIB, True),
        BufferRow("RAM", "weights", 7806 * MIB, 7806 * MIB, True),
        BufferRow("RAM", "compute", 84 * MIB, 84 * MIB, True),
        BufferRow("RAM", "kv", 0, None, None),
    )
    if agree:
        return rows
    return (*rows[:1], BufferRow("CUDA0", "kv", 816 * MIB, 1632 * MIB, False), *rows[2:])


def ready_run(**changes) -> RunState:
    """A server that runs as asked."""
    run = RunState(
        RunPhase.READY,
        url="http://127.0.0.1:8080",
        api_key="lw-7f3e9a51c20b4d6e8a917c35",
        pid=21480,
        affinity=tuple(range(16)),
        wanted_affinity=tuple(range(16)),
        buffers=buffers(),
        loaded_bytes=int(17.3 * GIB),
        to_load_bytes=int(17.3 * GIB),
    )
    return dataclasses.replace(run, **changes)


def loading_run() -> RunState:
    """A server that reads its model."""
    return RunState(
        RunPhase.STARTING,
        pid=21480,
        affinity=tuple(range(16)),
        wanted_affinity=tuple(range(16)),
        loaded_bytes=int(6.4 * GIB),
        to_load_bytes=int(17.3 * GIB),
    )


def failed_run() -> RunState:
    """A server that ended by itself."""
    evidence = (
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 816.00 MiB on device 0: cudaMalloc failed: out of "
        "memory",
        "alloc_tensor_range: failed to allocate CUDA0 buffer of size 855638016",
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
    )
    problem = Problem("kv_oom", params={"device": "CUDA0", "n_bytes": 816 * MIB}, evidence=evidence)
    return RunState(RunPhase.FAILED, exit_code=1, problem=problem)


def answering() -> ChatState:
    """In the middle of an answer."""
    return ChatState(
        ChatPhase.ANSWERING,
        question="Why can the experts of a MoE model live in RAM while the rest stays on the GPU?",
        answer=ANSWER,
        reasoning=REASONING,
        prompt_done=26,
        prompt_total=26,
        prompt_tps=412.4,
        decode_tps=61.3,
        decoded_tokens=128,
    )


def first_turn() -> ChatState:
    """An exchange that is over."""
    return dataclasses.replace(answering(), phase=ChatPhase.IDLE, finish_reason="stop", number=1, first_token_s=0.412)


def code_answer() -> ChatState:
    """A second exchange: code, a list, a table, and its figures."""
    return ChatState(
        ChatPhase.IDLE,
        question="Show it as code, please.",
        answer=CODE_ANSWER,
        reasoning="A short sketch in Python is enough.",
        prompt_tps=388.0,
        decode_tps=60.2,
        decoded_tokens=214,
        finish_reason="stop",
        number=2,
        first_token_s=0.357,
        context_used=2210,
    )


LOG = """\
build: 11434 (3f8d1c2) with MSVC 19.42 for x64
system_info: n_threads = 8 (n_threads_batch = 8) / 32 | CUDA : ARCHS = 890 | CPU : AVX2 = 1 | REPACK = 1 |
main: HTTP server is listening, hostname: 127.0.0.1, port: 8080, http threads: 31
srv    load_model: loading model 'D:\\models\\Qwen3-30B-A3B-Q4_K_M.gguf'
llama_model_loader: loaded meta data with 37 key-value pairs and 579 tensors
load_tensors: offloaded 49/49 layers to GPU
load_tensors:   CPU_Mapped model buffer size =  7806.00 MiB
load_tensors:        CUDA0 model buffer size =  9884.00 MiB
llama_context: n_ctx_seq (16384) < n_ctx_train (40960) -- the full capacity of the model will not be utilized
llama_kv_cache:      CUDA0 KV buffer size =   816.00 MiB
llama_context:      CUDA0 compute buffer size =   202.00 MiB
llama_context:  CUDA_Host compute buffer size =    84.00 MiB
common_init_from_params: warming up the model with an empty run - please wait ... (--no-warmup to disable)
srv    load_model: initializing slots, n_slots = 1
main: server is listening on http://127.0.0.1:8080
srv  update_slots: all slots are idle
slot launch_slot_: id  0 | task 0 | processing task
slot update_slots: id  0 | task 0 | prompt processing done, n_tokens = 26
"""


def history(seconds: int = 110, gpu_source: bool = True) -> RingBuffer:
    """Two samples a second up to now: load for 15 s, then an answer with a pause in it. Smooth, no randomness."""
    ring = RingBuffer(1200)
    end = time.monotonic()
    for i in range(2 * seconds + 1):
        ring.append(Sample(end - seconds + i / 2, sample_values(i / 2, gpu_source=gpu_source)))
    return ring


def sample_values(t: float, gpu_source: bool = True) -> dict[str, float | None]:
    """What is measured ``t`` seconds after the launch."""
    loaded = min(1.0, t / 15)
    busy = (20 < t < 70) or t > 82
    wave = math.sin(t * 2.1) + 0.6 * math.sin(t * 5.3)
    values: dict[str, float | None] = {
        "ram.used": (11.2 + 7.6 * loaded) * GIB,
        "ram.available": (20.6 - 7.6 * loaded) * GIB,
        "server.rss": (0.3 + 7.7 * loaded) * GIB,
        "server.cpu": 760 + 14 * wave if busy else 3.0,
        "tok.decode": 60.5 + 1.6 * wave if busy and not 20 < t < 22 and not 82 < t < 83 else None,
        "tok.prompt": 405 + 9 * wave if 20 < t < 24 or 82 < t < 85 else None,
        "ctx.used": 1234.0 if t > 20 else 0.0,
    }
    if gpu_source:
        values["gpu.CUDA0.used"] = (310 + 11030 * loaded) * MIB
        values["gpu.CUDA0.process"] = 10910 * loaded * MIB
        values |= {"gpu.CUDA0.util": 41.0 if busy else 0.0, "gpu.CUDA0.temperature": 64.0, "gpu.CUDA0.power_w": 96.0}
    else:
        values["engine.CUDA0.allocated"] = 10902 * MIB if t > 15 else None
    for cpu in range(32):
        fast = 93 + 5 * math.sin(cpu * 1.7 + t) if cpu % 2 == 0 else 12 + 8 * math.sin(cpu + t)
        slow = 5 + 4 * math.sin(cpu * 2.3 + t / 2)
        values[f"cpu.{cpu}"] = max(0.0, fast if cpu < 16 and busy else slow)
    return values


class FakeSession(QObject):
    """Has the signals, the state and the wishes of ``AppSession``; wishes are only written down in ``calls``."""

    model_changed = Signal()
    plan_changed = Signal()
    hardware_changed = Signal()
    engine_changed = Signal()
    run_changed = Signal()
    chat_changed = Signal()
    log_added = Signal(list)
    sample_added = Signal(object)
    message_raised = Signal(object)
    settings_changed = Signal()
    model_loading_changed = Signal(bool)
    is_loading = False

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[object, ...]] = []
        self.watched: list[bool] = []
        self.model: ModelInfo | None = qwen()
        self.plan: Plan | None = plan()
        self.launched: Plan | None = None
        self.hardware: HardwareSnapshot | None = laptop()
        self.is_this_machine = True
        self.machine = FakeMachine(self.calls)
        self.judge = FakeJudge(self)
        self.vram_users = FakeVramUsers(self)
        self.other_apps = FakeOtherApps(self.calls)
        self.engine = EngineState(EnginePhase.READY, "C:\\llama.cpp\\llama-server.exe", "b11434")
        self.run = RunState(RunPhase.STOPPED)
        self.chat = ChatState(ChatPhase.IDLE)
        self.doctor = FakeDoctor(self)
        self.settings = Settings(language="en", theme="light", shell="powershell")
        self.paths = SimpleNamespace(demo_model="demo.gguf")
        self.engines = FakeEngines(self)
        self.learning = FakeLearning(self)
        self.talk = FakeTalk(self.calls, self)
        self.stress = FakeStress(self.calls)
        self.runs = FakeRuns(self.calls)
        self.updates = FakeUpdates(self.calls)
        add_models(self, self.calls)
        self.log = ""
        self.ring = RingBuffer(1200)

    @property
    def running_plan(self) -> Plan | None:
        return self.launched or self.plan

    def history(self) -> RingBuffer:
        return self.ring

    def log_text(self) -> str:
        return self.log

    def command_text(self, shell: str) -> str:
        key = self.run.api_key or "KEY"
        return f"llama-server -m {qwen().path} --api-key {key}"

    def launch(self) -> None:
        self.calls.append(("launch",))

    def stop(self) -> None:
        self.calls.append(("stop",))

    def watch_server(self, on: bool) -> None:
        self.watched.append(on)

    def send_prompt(self, text: str) -> None:
        self.calls.append(("send_prompt", text))

    def stop_answer(self) -> None:
        self.calls.append(("stop_answer",))

    def change_settings(self, **changes) -> None:
        self.calls.append(("change_settings", changes))
        self.settings = dataclasses.replace(self.settings, **changes)
        self.settings_changed.emit()

    def build_engine(self) -> None:
        self.calls.append(("build_engine",))

    def choose_engine(self, path: str) -> None:
        self.calls.append(("choose_engine", path))

    def measure_ram(self) -> None:
        self.calls.append(("measure_ram",))
        self.machine.set_measuring(True)

    def refresh_hardware(self) -> None:
        self.calls.append(("refresh_hardware",))

    def save_snapshot(self, path: str) -> None:
        self.calls.append(("save_snapshot", path))

    def load_snapshot(self, path: str) -> None:
        self.calls.append(("load_snapshot", path))

    def set_run(self, run: RunState) -> None:
        self.run = run
        self.run_changed.emit()

    def set_chat(self, chat: ChatState) -> None:
        self.talk.follow(self.chat, chat)
        self.chat = chat
        self.chat_changed.emit()


def running_session() -> FakeSession:
    """A server in the middle of an answer, with its curves and its log."""
    session = FakeSession()
    session.run = ready_run()
    session.chat = answering()
    session.log = LOG
    session.ring = history()
    return session
