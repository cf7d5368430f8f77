"""A plan for other programs: an entry for llama-swap, and the article's plan C as a transformers script."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterable, Sequence

from app.model.types import ModelInfo, Role
from app.planner.placement import expert_layers_in_ram
from app.planner.shells import windows_quote
from app.planner.types import Placement

_PLAIN = re.compile(r"[A-Za-z0-9_.:\\/+-]+")
_BF16_BYTES = 2


class SwapValueError(ValueError):
    """An argument that a llama-swap entry cannot carry: a line break, or ``${`` which begins a macro there."""


def llama_swap_entry(
    program: str, argv: Sequence[str], name: str, *, for_windows: bool, comments: Iterable[str] = ()
) -> str:
    """The YAML of one model; llama-swap chooses the port. Raises SwapValueError."""
    words = _with_port_macro(argv)
    lines = [_quoted(program, for_windows)]
    for word in words:
        text = word if word == "${PORT}" else _quoted(word, for_windows)
        if re.match(r"--?[A-Za-z]", word):
            lines.append(text)
        else:
            lines[-1] += f" {text}"
    notes = [f"# {' '.join(comment.split())}" for comment in comments]
    body = [f"      {line}" for line in lines]
    return "\n".join([*notes, "models:", f"  {json.dumps(name, ensure_ascii=False)}:", "    cmd: |", *body, ""])


def _with_port_macro(argv: Sequence[str]) -> list[str]:
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--port":
            next(words, None)
        elif "${" in word or "\n" in word or "\r" in word:
            raise SwapValueError(word)
        else:
            kept.append(word)
    return ["--port", "${PORT}", *kept]


def _quoted(word: str, for_windows: bool) -> str:
    if _PLAIN.fullmatch(word) and (for_windows or "\\" not in word):
        return word
    return windows_quote(word) if for_windows else shlex.quote(word)


def moved_per_token_bytes(model: ModelInfo, placement: Placement) -> int:
    """BF16 bytes of the experts in RAM: what accelerate copies to the GPU for each token (expert-cache notes, section
    5: one module holds all experts of a layer, and its hook moves the whole module)."""
    in_ram = frozenset(expert_layers_in_ram(model, placement))
    return sum(
        math.prod(t.shape) * _BF16_BYTES for t in model.tensors if t.role is Role.ROUTED_EXPERT and t.block in in_ram
    )


def transformers_script(model: ModelInfo, placement: Placement, comments: Iterable[str]) -> str:
    """Plan C: the same layers' experts in RAM, by a ``device_map`` of transformers and accelerate.

    ``comments`` come first and say what this costs. Needs the original model, not the GGUF.
    """
    in_ram = ", ".join(str(block) for block in expert_layers_in_ram(model, placement))
    notes = [f"# {' '.join(comment.split())}" for comment in comments]
    return "\n".join([*notes, *_SCRIPT]).replace("@MODEL@", _repository(model)).replace("@IN_RAM@", in_ram)


def _repository(model: ModelInfo) -> str:
    """The original model's name on its hub, when the file says it."""
    for key in ("general.base_model.0.repo_url", "general.source.repo_url", "general.source.url"):
        found = re.search(r"huggingface\.co/([\w.-]+/[\w.-]+)", str(model.metadata.get(key, "")))
        if found is not None:
            return found[1]
    return "ORGANISATION/MODEL"


_SCRIPT = (
    "import re",
    "",
    "import torch",
    "from accelerate import init_empty_weights",
    "from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer",
    "",
    'MODEL = "@MODEL@"',
    "EXPERTS_IN_RAM = {@IN_RAM@}",
    'EXPERTS = re.compile(r"(.*\\.layers\\.(\\d+)\\.\\w+\\.experts)\\b")',
    "",
    "",
    "def device_map():",
    '    """Every module on the GPU, the experts of the chosen layers in RAM."""',
    "    with init_empty_weights():",
    "        skeleton = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(MODEL))",
    "    places = {}",
    "    for name, _ in skeleton.named_parameters():",
    "        experts = EXPERTS.match(name)",
    "        if experts:",
    '            places[experts[1]] = "cpu" if int(experts[2]) in EXPERTS_IN_RAM else 0',
    "        else:",
    '            places[name.rpartition(".")[0]] = 0',
    "    return places",
    "",
    "",
    "tokenizer = AutoTokenizer.from_pretrained(MODEL)",
    "model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.bfloat16, device_map=device_map())",
    'prompt = tokenizer("Hello, who are you?", return_tensors="pt").to(0)',
    "answer = model.generate(**prompt, max_new_tokens=64)",
    "print(tokenizer.decode(answer[0], skip_special_tokens=True))",
    "",
)
