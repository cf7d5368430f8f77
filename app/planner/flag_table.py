"""Every option that llama-server has had, and an argv cut into options with their values.

``flags`` knows how a plan is written; this knows how anybody's command is read. The data are in ``_flag_data``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.common.capabilities import Capabilities
from app.planner._flag_data import IK, MAINLINE, OLDER
from app.planner.flags import OPTIONS, normalised

_ON = frozenset({"on", "enabled", "true", "1"})
_OFF = frozenset({"off", "disabled", "false", "0"})
"""Words that the engine takes for yes and no (common/arg.cpp, is_truthy and is_falsey)."""

REPLACED: Mapping[str, tuple[str, ...]] = {
    "--mlock": ("-lm", "mmap+mlock"),
    "--no-mmap": ("-lm", "none"),
    "--mmap": ("-lm", "mmap"),
    "-dio": ("-lm", "dio"),
    "--direct-io": ("-lm", "dio"),
    "-ndio": ("-lm", "auto"),
    "--no-direct-io": ("-lm", "auto"),
    "--no-flash-attn": ("-fa", "off"),
    "-no-fa": ("-fa", "off"),
    "--fit-margin": ("-fitt",),
    "-fitm": ("-fitt",),
    "--ctx-size-draft": (),
    "-cd": (),
    "-gan": (),
    "--grp-attn-n": (),
    "-gaw": (),
    "--grp-attn-w": (),
}
"""Options that went away -> what is written today; empty: nothing took their place."""

_MODELLED = {
    flag: name
    for name in (
        "model", "rpc", "device", "n_gpu_layers", "split_mode", "tensor_split", "fit", "fit_target", "ctx", "slots",
        "cache_k", "cache_v", "flash_attn", "batch", "ubatch", "prompt_cache", "threads", "override_tensor", "host",
        "port", "metrics", "alias", "api_key", "mmproj", "draft_model", "draft_gpu_layers", "draft_device",
        "draft_cache_k", "draft_cache_v", "draft_max", "spec_type", "lora",
    )
    for flag in OPTIONS[name].spellings
}  # fmt: skip
_SWITCHES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "-nkvo": ("kv_in_ram", ("on",)),
    "--no-kv-offload": ("kv_in_ram", ("on",)),
    "-kvo": ("kv_in_ram", ("off",)),
    "--kv-offload": ("kv_in_ram", ("off",)),
    "-kvu": ("kv_unified", ("on",)),
    "--kv-unified": ("kv_unified", ("on",)),
    "-no-kvu": ("kv_unified", ("off",)),
    "--no-kv-unified": ("kv_unified", ("off",)),
    "--no-flash-attn": ("flash_attn", ("off",)),
    "-no-fa": ("flash_attn", ("off",)),
    "--no-mmproj-offload": ("mmproj_in_ram", ("on",)),
    "--mmproj-offload": ("mmproj_in_ram", ("off",)),
    "-cmoe": ("cpu_moe", ()),
    "--cpu-moe": ("cpu_moe", ()),
    "--mlock": ("mlock", ()),
    "--mmap": ("mmap", ()),
    "--no-mmap": ("no_mmap", ()),
    "-dio": ("direct_io", ()),
    "--direct-io": ("direct_io", ()),
}
_WITH_VALUE: Mapping[str, str] = {
    "-ncmoe": "n_cpu_moe",
    "--n-cpu-moe": "n_cpu_moe",
    "-ncffn": "n_cpu_ffn",
    "--n-cpu-ffn": "n_cpu_ffn",
    "-mg": "main_gpu",
    "--main-gpu": "main_gpu",
    "-lm": "load_mode",
    "--load-mode": "load_mode",
    "-fitm": "fit_target",
    "--fit-margin": "fit_target",
}
_DOWNLOADS = frozenset(OPTIONS["model"].also) | {"-hff", "--hf-file"}


@dataclass(frozen=True, slots=True)
class FlagFact:
    """One option of some build. ``is_optional``: older builds have it as a bare switch."""

    spellings: tuple[str, ...]
    n_values: int
    is_optional: bool
    variable: str | None
    is_ik: bool
    is_older: bool


@dataclass(frozen=True, slots=True)
class Given:
    """An option as it stands in a command.

    ``flag`` as typed (normalised), ``setting`` what the board calls it (a key of ``flags.OPTIONS`` or ``cpu_moe``,
    ``n_cpu_moe``, ``n_cpu_ffn``, ``main_gpu``, ``mlock``, ``direct_io``, ``download``), None = not modelled.
    ``values`` are the words that belong to it. ``fault``: None, ``unknown`` (in no build), ``equals``
    (``--flag=value``), ``value_missing`` or ``stray`` (a word that belongs to no option). ``source``: ``command``, or
    the variable or the file that sets it.
    """

    flag: str
    setting: str | None
    values: tuple[str, ...]
    fault: str | None = None
    source: str = "command"

    @property
    def value(self) -> str:
        """The first value; empty for a switch."""
        return self.values[0] if self.values else ""

    @property
    def words(self) -> tuple[str, ...]:
        """The option as it goes into an argv."""
        if self.flag in _SWITCHES:
            return (self.flag,)
        return (*((self.flag,) if self.flag else ()), *self.values)


@lru_cache(maxsize=1)
def facts() -> Mapping[str, FlagFact]:
    """Spelling -> option. Where builds differ the newest counts."""
    found: dict[str, FlagFact] = {}
    for text, is_ik, is_older in ((IK, True, False), (OLDER, False, True), (MAINLINE, False, False)):
        for line in text.split("\n"):
            spellings, _, rest = line.partition("|")
            if not spellings:
                continue
            n_values, _, variable = rest.partition("|")
            fact = FlagFact(
                tuple(spellings.split()),
                1 if n_values == "?" else int(n_values),
                n_values == "?",
                variable or None,
                is_ik,
                is_older,
            )
            found.update(dict.fromkeys(fact.spellings, fact))
    return found


@lru_cache(maxsize=1)
def _by_variable() -> Mapping[str, FlagFact]:
    return {fact.variable: fact for fact in facts().values() if fact.variable}


def setting_of(flag: str) -> str | None:
    """What the board calls this option; None when it does not model it."""
    if flag in _SWITCHES:
        return _SWITCHES[flag][0]
    if flag in _DOWNLOADS:
        return "download"
    return _MODELLED.get(flag) or _WITH_VALUE.get(flag)


def is_yes(text: str) -> bool:
    """Does the engine take this word for yes?"""
    return text.lower() in _ON


def is_no(text: str) -> bool:
    """Does the engine take this word for no?"""
    return text.lower() in _OFF


def looks_like_flag(word: str) -> bool:
    """A dash and a letter, or two dashes; ``-1`` is a number."""
    return re.match(r"--?[A-Za-z]", word) is not None


def parse_argv(argv: Sequence[str], capabilities: Capabilities) -> tuple[Given, ...]:
    """Cut an argv (without the program) into options, in order. Nothing is lost: every word is in one ``Given``.

    An option that no build is known to have takes the words up to the next option, if the build at hand lists it or
    not: what follows it could be its value.
    """
    found: list[Given] = []
    position = 0
    while position < len(argv):
        given, position = _one(argv, position, capabilities)
        found.append(given)
    return tuple(found)


def _one(argv: Sequence[str], position: int, capabilities: Capabilities) -> tuple[Given, int]:
    word = argv[position]
    position += 1
    if not looks_like_flag(word):
        return Given("", None, (word,), "stray"), position
    name, equals, attached = word.partition("=")
    if equals and normalised(name) in facts():
        return Given(normalised(name), setting_of(normalised(name)), (attached,), "equals"), position
    flag = normalised(word)
    fact = facts().get(flag)
    if fact is None:
        rest = next((i for i in range(position, len(argv)) if looks_like_flag(argv[i])), len(argv))
        fault = None if capabilities.has(flag) else "unknown"
        return Given(flag, None, tuple(argv[position:rest]), fault), rest
    if flag in _SWITCHES:
        return Given(flag, *_SWITCHES[flag]), position
    n_values = fact.n_values
    if fact.is_optional and not _is_choice(argv, position):
        n_values = 0
    values = tuple(argv[position : position + n_values])
    is_missing = len(values) < n_values or (n_values == 1 and facts().get(values[0]) is not None)
    if is_missing:
        return Given(flag, setting_of(flag), (), "value_missing"), position
    return Given(flag, setting_of(flag), values), position + n_values


def _is_choice(argv: Sequence[str], position: int) -> bool:
    """Is the next word the value of ``-fa`` and its like?"""
    return position < len(argv) and argv[position].lower() in _ON | _OFF | {"auto", "-1"}


def from_variables(variables: Mapping[str, str]) -> tuple[Given, ...]:
    """The options that ``LLAMA_ARG_*`` variables set, in the order of the option table (common/arg.cpp:780)."""
    found = []
    for name, fact in _by_variable().items():
        value = variables.get(name)
        if value is None:
            continue
        given = _from_text(fact, value, name)
        if given is not None:
            found.append(given)
    return tuple(found)


def from_ini(text: str, source: str) -> tuple[Given, ...]:
    """The options that a ``config.ini`` sets: keys are option names without dashes, or variable names.

    Only the part before the first section, ``[*]`` and ``[default]`` count (common/arg.cpp:757-764); a ``#`` or ``;``
    begins a comment wherever it stands (common/preset.cpp:201).
    """
    counts = True
    found: list[Given] = []
    for raw in text.splitlines():
        line = re.split("[#;]", raw, maxsplit=1)[0].strip()
        if not line:
            continue
        if line.startswith("["):
            counts = line.strip("[] ") in ("*", "default")
            continue
        key, equals, value = line.partition("=")
        fact = _named(key.strip())
        given = _from_text(fact, value.strip(), source) if counts and equals and fact is not None else None
        if given is not None:
            found.append(given)
    return tuple(found)


def _named(key: str) -> FlagFact | None:
    return _by_variable().get(key) or next((facts()[f"{d}{key}"] for d in ("--", "-") if f"{d}{key}" in facts()), None)


def _from_text(fact: FlagFact, value: str, source: str) -> Given | None:
    """An option set by text: a switch is on for ``true`` and absent (or its opposite) for ``false``."""
    flag = fact.spellings[-1] if fact.n_values else fact.spellings[0]
    if fact.n_values:
        return Given(flag, setting_of(flag), (value,), None, source)
    if is_no(value):
        opposite = next((s for s in fact.spellings if s.startswith("--no-")), None)
        if opposite is None:
            return None
        flag = opposite
    if flag in _SWITCHES:
        return Given(flag, *_SWITCHES[flag], None, source)
    return Given(flag, setting_of(flag), (), None, source)


def nearest_flag(flag: str, capabilities: Capabilities) -> str | None:
    """A listed option with nearly this name."""
    import difflib

    near = difflib.get_close_matches(flag, sorted(capabilities.flags), n=1, cutoff=0.75)
    return near[0] if near else None


def is_ik(flags: Iterable[str]) -> bool:
    """Do these options belong to ik_llama.cpp? True when any is its own and not mainline's."""
    known = facts()
    return any(flag in known and known[flag].is_ik for flag in flags)


def current_spelling(flag: str, capabilities: Capabilities) -> str | None:
    """This option as the build spells it, with the same meaning; None when the build has no such option."""
    if capabilities.has(flag):
        return flag
    fact = facts().get(flag)
    if fact is None:
        return None
    is_negative = flag.startswith("--no-")
    same = (s for s in fact.spellings if s.startswith("--no-") == is_negative)
    return capabilities.first(*same)


_VERBOSITY = frozenset({"-lv", "--verbosity", "--log-verbosity"})
_LOUDEST = frozenset({"-v", "--verbose", "--log-verbose"})
_WRITTEN_BY_EVERY_PLAN = (
    (_VERBOSITY, "-lv", ("4",)),
    (frozenset({"--log-colors"}), "--log-colors", ("off",)),
    (frozenset({"--slots", "--no-slots"}), "--slots", ()),
)


def without_our_own(kept: Sequence[Given]) -> list[Given]:
    """Without the options that every plan writes itself to read a run, so that our own command can be pasted back.

    Of each such option only the last counts; it goes too when it says what the plan says anyway.
    """
    is_loud = any(option.flag in _LOUDEST for option in kept)
    dropped: list[Given] = []
    for flags, our_flag, our_values in _WRITTEN_BY_EVERY_PLAN:
        found = [option for option in kept if option.flag in flags]
        is_ours = (
            bool(found) and found[-1].values == our_values and (our_flag in _VERBOSITY or found[-1].flag == our_flag)
        )
        keeps_last = not is_ours or (flags is _VERBOSITY and is_loud)
        dropped += found[:-1] if keeps_last else found
    return [option for option in kept if not any(option is other for other in dropped)]
