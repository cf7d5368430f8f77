"""Models and placements made up for the tests of the command side: names and sizes, no file."""

import json
import re
from pathlib import Path

from hypothesis import strategies as st

from app.model.types import LayerFacts, ModelInfo, Role, TensorInfo
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Placement

ARCH_TENSORS = json.loads(
    (Path(__file__).parents[2] / "data" / "planner" / "arch_tensor_names.json").read_text(encoding="utf-8")
)

GIB = 1024**3


def gpu(name, buffer_name=""):
    kind = DeviceKind.RPC if name.startswith("RPC") else DeviceKind.GPU
    return Device(name, kind, 12 * GIB, 11 * GIB, buffer_name=buffer_name)


RAM_DEVICE = Device(RAM, DeviceKind.RAM, 32 * GIB, 24 * GIB)
CUDA0 = gpu("CUDA0")
CUDA1 = gpu("CUDA1")
RPC0 = gpu("RPC0", "RPC0[127.0.0.1:50099]")


def device_set(*gpus, rpc_servers=()):
    return DeviceSet(tuple(gpus), RAM_DEVICE, rpc_servers=tuple(rpc_servers))


ONE_GPU = device_set(CUDA0)
TWO_GPUS = device_set(RPC0, CUDA0, rpc_servers=("127.0.0.1:50099",))

_ROLES = (
    (r"\.ffn_(gate|up|down|gate_up)_(ch)?exps\.", Role.ROUTED_EXPERT),
    (r"\.ffn_(gate|up|down|gate_inp)_shexp\.", Role.SHARED_EXPERT),
    (r"\.(ffn_gate_inp|exp_probs_b)", Role.ROUTER),
    (r"\.ffn_(gate|up|down)\.", Role.DENSE_FFN),
    (r"_norm", Role.NORM),
    (r"\.attn_", Role.ATTENTION),
    (r"\.ssm_", Role.RECURRENT),
    (r"^(token_embd|per_layer_token_embd)", Role.EMBEDDING),
    (r"^output", Role.OUTPUT),
)


def tensor(name, n_bytes=1000):
    role = next((role for pattern, role in _ROLES if re.search(pattern, name)), Role.OTHER)
    match = re.match(r"blk\.(\d+)\.", name)
    return TensorInfo(name, (n_bytes,), 0, "F32", n_bytes, 0, role, int(match[1]) if match else None)


def model_of(names, block_count):
    return ModelInfo(
        path="model.gguf",
        parts=("model.gguf",),
        version=3,
        architecture="synthetic",
        name="Synthetic",
        file_bytes=0,
        block_count=block_count,
        context_length=4096,
        vocab_size=1000,
        embedding_length=256,
        expert_count=8,
        expert_used_count=2,
        expert_shared_count=0,
        expert_ff_length=256,
        nextn_count=0,
        sliding_window=None,
        is_mla=False,
        layers=(LayerFacts(4, 2, 64, 64),) * block_count,
        tensors=tuple(tensor(name, 1000 + i) for i, name in enumerate(names)),
    )


SPLIT_EXPERTS = ("ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight")
FUSED_EXPERTS = ("ffn_gate_up_exps.weight", "ffn_down_exps.weight")
EXPERT_BIASES = ("ffn_gate_exps.bias", "ffn_up_exps.bias", "ffn_down_exps.bias")
CHUNKED_EXPERTS = ("ffn_gate_chexps.weight", "ffn_up_chexps.weight", "ffn_down_chexps.weight")
SHARED_EXPERTS = ("ffn_gate_shexp.weight", "ffn_up_shexp.weight", "ffn_down_shexp.weight")
COMMON = (
    *("attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight", "attn_norm.weight"),
    *("ffn_norm.weight", "ffn_gate_inp.weight", "exp_probs_b.bias"),
)
DENSE = ("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight")


def moe_names(n_blocks, experts=SPLIT_EXPERTS, dense_leading=0, tied=False):
    """Names of a model with ``dense_leading`` dense blocks in front of blocks with experts."""
    names = ["token_embd.weight", "output_norm.weight"] + ([] if tied else ["output.weight"])
    for block in range(n_blocks):
        rest = DENSE if block < dense_leading else experts
        names += [f"blk.{block}.{suffix}" for suffix in (*COMMON, *rest)]
    return names


def moe(n_blocks, experts=SPLIT_EXPERTS, dense_leading=0, tied=False):
    return model_of(moe_names(n_blocks, experts, dense_leading, tied), n_blocks)


QWEN3 = moe(48)


def experts_to(model, device, blocks, runs=None):
    """All routed experts of these blocks on a device; homes on CUDA0 unless runs say otherwise."""
    overrides = {
        t.name: device
        for t in model.tensors
        if t.role in (Role.ROUTED_EXPERT,) and t.block is not None and t.block in blocks
    }
    return Placement(model.block_count, runs or (("CUDA0", model.block_count + 1),), overrides)


def arch_model(arch, n_blocks):
    """Every tensor name of an architecture in every block, as far as the name may stand in a block."""
    names = []
    for suffix in ARCH_TENSORS[arch]:
        if re.match(r"(token_|output|cls|rope_|position_|enc\.|dec\.|d2t|fc\b)", suffix) or "%" in suffix:
            names.append(suffix.replace("%d", "0"))
        else:
            names += [f"blk.{block}.{suffix}" for block in range(n_blocks)]
    return model_of(list(dict.fromkeys(names)), n_blocks)


def _runs(draw, devices, n_units):
    on_gpu = draw(st.integers(0, n_units))
    runs = []
    for device in devices.gpus[:-1]:
        n = draw(st.integers(0, on_gpu))
        runs.append((device.name, n))
        on_gpu -= n
    return (*runs, (devices.gpus[-1].name, on_gpu)) if devices.gpus else ()


class Board(tuple):
    """(model, placement) with a text short enough for a failure report."""

    __slots__ = ()

    def __repr__(self):
        model, placement = self
        endings = sorted({t.name.split(".", 2)[-1] for t in model.tensors})
        return f"Board({model.block_count} blocks of {endings}, {placement})"


@st.composite
def boards(draw, models, devices):
    """(model, placement): homes anywhere, then whole runs of blocks of some suffixes moved, then single tensors."""
    model = draw(models)
    columns = st.sampled_from([d.name for d in devices.all])
    overrides = {}
    suffixes = sorted({t.name.split(".", 2)[2] for t in model.tensors if t.name.startswith("blk.")})
    for _ in range(draw(st.integers(0, 4))):
        first = draw(st.integers(0, max(model.block_count - 1, 0)))
        last = draw(st.integers(first, max(model.block_count - 1, 0)))
        chosen = draw(st.sets(st.sampled_from(suffixes), max_size=6)) if suffixes else set()
        device = draw(columns)
        for t in model.tensors:
            if t.block is not None and first <= t.block <= last and t.name.split(".", 2)[2] in chosen:
                overrides[t.name] = device
    movable = [t.name for t in model.tensors if t.role is not Role.OTHER]
    if movable:
        overrides.update(draw(st.dictionaries(st.sampled_from(movable), columns, max_size=5)))
    return Board((model, Placement(model.block_count, _runs(draw, devices, model.block_count + 1), overrides)))


@st.composite
def synthetic_models(draw):
    n_blocks = draw(st.integers(1, 100))
    experts = draw(
        st.sampled_from(
            [
                SPLIT_EXPERTS,
                FUSED_EXPERTS,
                (*SPLIT_EXPERTS, *EXPERT_BIASES),
                (*SPLIT_EXPERTS, *CHUNKED_EXPERTS),
                (*SPLIT_EXPERTS, *SHARED_EXPERTS, "ffn_gate_inp_shexp.weight"),
                (*SPLIT_EXPERTS, "ffn_up_exps.scale", "ffn_up_exps.input_scale", "ssm_a", "ssm_d"),
            ]
        )
    )
    dense_leading = draw(st.integers(0, min(3, n_blocks)))
    return moe(n_blocks, experts, dense_leading, tied=draw(st.booleans()))
