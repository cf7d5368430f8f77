"""Somebody's llama-server command -> what it asks for, in the terms of the board; the rest is kept verbatim.

What is not said is what the engine would do (context of the model, four slots, 8 GiB of prompt cache), not what a
plan of ours would: an imported command must do the same as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.common.capabilities import Capabilities
from app.common.problem import Problem, Severity
from app.planner.command_readers import ENGINE_PROMPT_CACHE_MIB, READERS, Reading
from app.planner.companion_import import read_companion
from app.planner.flag_table import (
    Given,
    current_spelling,
    from_variables,
    is_ik,
    parse_argv,
    without_our_own,
)
from app.planner.flags import takes_on_off
from app.planner.quiet import LOW_PRIORITY
from app.planner.tensor_rules import MOST_RULES, TensorRule, rules_of
from app.planner.types import Wishes

ENGINE_FIT_TARGET_MIB = 1024
MOST_WORDS = 8192
"""Words of a command that are read; what Windows or a shell can hand over has fewer."""


@dataclass(frozen=True, slots=True)
class ImportedCommand:
    """What a command asks for.

    ``n_ctx``: None = not said, 0 = the model's own. ``n_gpu_layers``: None = not said or ``auto``, -1 = all.
    ``device_names``: None = the engine's choice, empty = none. ``wishes`` hold the rest; ``kept`` is what the board
    does not model, in order, and ``wishes.extra`` its words. ``fit``: is automatic fitting on (by default it is)?
    ``is_ik``: the command or the engine at hand is ik_llama.cpp's.
    """

    wishes: Wishes
    given: tuple[Given, ...]
    kept: tuple[Given, ...]
    rules: tuple[TensorRule, ...]
    model_path: str | None = None
    downloads: str | None = None
    n_ctx: int | None = None
    n_gpu_layers: int | None = None
    device_names: tuple[str, ...] | None = None
    split_mode: str = "layer"
    main_gpu: int = 0
    tensor_split: tuple[float, ...] = ()
    rpc_servers: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8080
    api_key: str | None = None
    alias: str | None = None
    fit: bool = True
    is_ik: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def fit_places(self) -> bool:
        """Does the engine place the model itself? Only while nothing of the placement is said
        (common/fit.cpp:463-485)."""
        said = self.n_gpu_layers is not None or any(self.tensor_split) or self.rules
        return self.fit and not said and self.split_mode in ("layer", "none") and self.device_names != ()

    def last(self, setting: str) -> Given | None:
        """The option that counts: the last of its kind."""
        return next((g for g in reversed(self.given) if g.setting == setting and g.fault != "value_missing"), None)


def read_command(
    argv: Sequence[str], capabilities: Capabilities, variables: Mapping[str, str] | None = None
) -> ImportedCommand:
    """Read the arguments after the program's name; ``variables`` are those set in front of the command.

    Never fails: what cannot be understood is a problem (``import_*``), and its option counts as not given. So is what
    lies beyond the first ``MOST_WORDS`` words and ``MOST_RULES`` rules.
    """
    given = (*from_variables(variables or {}), *parse_argv(argv[:MOST_WORDS], capabilities))
    rules = rules_of(given)
    has_cache = capabilities.first("-cram", "--cache-ram") is not None
    wishes = Wishes(n_slots=None, prompt_cache_mib=ENGINE_PROMPT_CACHE_MIB if has_cache else 0, load_mode="auto")
    reading = Reading(capabilities, wishes, is_ik((*(g.flag for g in given), *capabilities.flags)))
    reading.fields["fit"] = capabilities.first("-fit", "--fit") is not None
    for option in given:
        _read(reading, option)
    _finish_slots(reading)
    _finish_loading(reading)
    _finish_quiet(reading)
    for code, n, most in (("words", len(argv), MOST_WORDS), ("rules", len(rules), MOST_RULES)):
        if n > most:
            reading.problems.append(Problem(f"import_too_many_{code}", Severity.ERROR, {"n": n, "most": most}))
    command = ImportedCommand(
        wishes=replace(reading.wishes, n_threads=reading.threads),
        given=given,
        kept=tuple(reading.kept),
        rules=rules[:MOST_RULES],
        is_ik=reading.is_ik,
        problems=tuple(reading.problems),
    )
    command = replace(command, **reading.fields)  # type: ignore[arg-type]  # each field is set by its own reader
    return _with_fit_target(command)


def _read(reading: Reading, given: Given) -> None:
    if given.fault == "stray":
        reading.report("import_stray", given)
        return
    if given.fault == "value_missing":
        reading.report("import_value_missing", given)
        return
    if given.fault == "equals":
        reading.report("import_equals", given)
    reader = READERS.get(given.setting or "")
    wishes = read_companion(reading.wishes, given)
    if wishes is not None:
        reading.wishes = wishes
    elif reader is None:
        reading.keep(given)
    else:
        reader(reading, given)


def _finish_slots(reading: Reading) -> None:
    """No ``-np``: four slots that share the context, in builds that can share it; one slot in older ones
    (server.cpp:168). An explicit ``-np N`` divides the context unless ``-kvu`` is given."""
    can_share = reading.capabilities.first("-kvu", "--kv-unified") is not None
    wishes = reading.wishes
    if wishes.n_slots is None and not can_share:
        wishes = replace(wishes, n_slots=1)
    unified = wishes.n_slots is None if reading.unified is None else reading.unified
    if wishes.n_slots != 1:
        wishes = replace(wishes, kv_unified=unified)
    reading.wishes = wishes


def _finish_loading(reading: Reading) -> None:
    """``--mlock`` and ``--no-mmap`` of older builds as one load mode."""
    if reading.is_mapped and not reading.is_locked:
        return
    mapped = "mmap" if reading.is_mapped else "none"
    mode = {"mmap": "mmap+mlock", "none": "mlock"}[mapped] if reading.is_locked else mapped
    reading.wishes = replace(reading.wishes, load_mode=mode)
    if reading.overrules:
        reading.problems.append(Problem("import_loading_order", Severity.WARNING, {"mode": mode}))


def _finish_quiet(reading: Reading) -> None:
    """Low priority without busy waiting, and threads that somebody chose: the command of a quiet plan."""
    told = {given.flag: given.value for given in reading.kept if given.flag in ("--prio", "--poll")}
    is_quiet = told == {"--prio": str(LOW_PRIORITY), "--poll": "0"} and reading.threads > 0
    if is_quiet and takes_on_off(reading.capabilities):
        reading.wishes = replace(reading.wishes, is_quiet=True)
        reading.kept = [given for given in reading.kept if given.flag not in told]


def _with_fit_target(command: ImportedCommand) -> ImportedCommand:
    """The margin that fitting leaves free is what the board calls the reserve; without fitting it means nothing.

    A margin per device, and ``-mg`` where it does not choose the device, are kept as they are.
    """
    target = command.last("fit_target")
    kept = list(command.kept)
    wishes = command.wishes
    if command.fit_places:
        told = set(re.split(r"[,/]", target.value)) if target is not None else set()
        is_one = len(told) == 1 and all(re.fullmatch(r"[0-9]{1,8}", text) for text in told)
        reserve = int(told.pop()) if is_one else ENGINE_FIT_TARGET_MIB
        wishes = replace(wishes, preset="fit", reserve_mib=reserve)
        target = None if is_one else target
    also = [target, command.last("main_gpu") if command.split_mode != "none" else None]
    kept += [option for option in also if option is not None]
    kept = without_our_own(sorted(kept, key=command.given.index))
    words = tuple(word for option in kept for word in option.words)
    return replace(command, kept=tuple(kept), wishes=replace(wishes, extra=words))


def repaired_extra(kept: Iterable[Given], capabilities: Capabilities) -> tuple[str, ...]:
    """The kept options in spellings that this build lists; options that it has in no spelling are left out."""
    words: list[str] = []
    for option in kept:
        flag = current_spelling(option.flag, capabilities)
        if flag is not None:
            words += [flag, *option.values]
    return tuple(words)
