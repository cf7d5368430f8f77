"""What an argv makes the engine do, as values that two commands can be compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.common.capabilities import Capabilities
from app.model.types import ModelInfo
from app.planner.command_import import ImportedCommand, read_command
from app.planner.command_plan import devices_for, placement_for
from app.planner.flag_table import facts
from app.planner.placement import kv_device, locations
from app.planner.types import DeviceSet, KvHome

OBSERVING = frozenset({"other -lv", "other --log-colors", "other --slots"})
"""What Lanewise adds to read a run; they change nothing that is computed."""


def effective_options(
    argv: Sequence[str],
    model: ModelInfo,
    devices: DeviceSet,
    capabilities: Capabilities,
    variables: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Option -> what the engine makes of it, with its defaults filled in. The model's path is left out.

    Placement is compared by where every tensor and every block's KV ends up, not by the rules that say it. An option
    the board does not model counts by its last value, under the first of its spellings.
    """
    command = read_command(argv, capabilities, variables)
    chosen, _ = devices_for(command, devices)
    wishes = command.wishes
    n_ctx = command.n_ctx or model.context_length or 0
    found = {
        "devices": ",".join(d.name for d in chosen.gpus),
        "context": str(n_ctx),
        "slots": str(wishes.n_slots or 4),
        "shared_context": str(wishes.kv_unified is not False),
        "cache_k": wishes.cache_type_k,
        "cache_v": wishes.cache_type_v,
        "flash_attention": wishes.flash_attn,
        "batch": str(wishes.n_batch),
        "ubatch": str(wishes.n_ubatch),
        "prompt_cache_mib": str(wishes.prompt_cache_mib),
        "threads": str(wishes.n_threads),
        "load_mode": str(wishes.load_mode),
        "host": command.host,
        "port": str(command.port),
        "api_key": command.api_key or "",
    }
    if command.fit_places and chosen.gpus:
        found["placement"] = f"fit, {wishes.reserve_mib} MiB left"
    else:
        found.update(_places(command, model, chosen))
    found.update(_others(command))
    return found


def _places(command: ImportedCommand, model: ModelInfo, chosen: DeviceSet) -> dict[str, str]:
    placement, _ = placement_for(command, model, chosen)
    placement = replace(placement, kv_home=command.wishes.kv_home if chosen.gpus else KvHome.HOME)
    found = {f"tensor {name}": device for name, device in locations(model, placement).items()}
    for block in range(model.block_count):
        found[f"kv {block}"] = kv_device(placement, block)
    return found


def _others(command: ImportedCommand) -> dict[str, str]:
    """Options that are kept verbatim: the last of each counts."""
    found = {}
    for option in command.kept:
        fact = facts().get(option.flag)
        name = option.flag if fact is None else fact.spellings[0]
        found[f"other {name}"] = " ".join(option.values) or option.flag
    return found
