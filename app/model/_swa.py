"""Sliding-window attention: which blocks keep only a window, by the rules of each architecture's source file.

An architecture that is not listed here has no sliding cache in the engine, even if its file names a window (phi3 has it
switched off, phi3.cpp:13-23; llama, qwen2 and others never read the key).
"""

from __future__ import annotations

from dataclasses import dataclass

from app.model._meta import Meta


@dataclass(frozen=True, slots=True)
class _Rule:
    """``period`` n: every nth block is full (0: none is, None: only the file's own array tells).

    ``full_first``: the full block comes first in each period (``dense_first``). ``optional``: without a window in the
    file nothing slides. ``default_window``: used when the file has none; ``fixed_window``: used whatever it has.
    """

    period: int | None
    full_first: bool = False
    optional: bool = False
    default_window: int | None = None
    fixed_window: int | None = None
    reads_pattern: bool = True


_TOLD_BY_FILE = _Rule(None)
_RULES: dict[str, _Rule] = {
    "afmoe": _Rule(4, optional=True),
    "cohere2": _Rule(4),
    "cohere2moe": _Rule(4, full_first=True),
    "deepseek4": _Rule(0, reads_pattern=False),
    "dflash": _Rule(None, optional=True),
    "dots3note": _TOLD_BY_FILE,
    "exaone-moe": _Rule(4, default_window=128),
    "exaone4": _Rule(4, default_window=4096),
    "gemma-embedding": _Rule(6),
    "gemma2": _Rule(2, default_window=4096),
    "gemma3": _Rule(6, optional=True),
    "gemma3n": _Rule(5),
    "gemma4": _TOLD_BY_FILE,
    "gemma4-assistant": _TOLD_BY_FILE,
    "gpt-oss": _Rule(2),
    "granite_swa": _TOLD_BY_FILE,
    "laguna": _Rule(4, full_first=True, optional=True),
    "lfm2": _Rule(0, optional=True, reads_pattern=False),
    "llama4": _Rule(4, fixed_window=8192),
    "maple": _TOLD_BY_FILE,
    "mellum": _Rule(4, optional=True),
    "mimo2": _TOLD_BY_FILE,
    "modern-bert": _Rule(3, full_first=True, optional=True),
    "muse-glimmer": _Rule(4),
    "olmo2": _Rule(4, optional=True),
    "plamo3": _Rule(8, optional=True),
    "smallthinker": _Rule(4, full_first=True, optional=True, fixed_window=4096),
    "spark2_5": _TOLD_BY_FILE,
    "step35": _TOLD_BY_FILE,
}
"""load_arch_hparams in src/models/<architecture>.cpp (spark2-5.cpp, granite-swa.cpp, openai-moe.cpp for gpt-oss)."""


@dataclass(frozen=True, slots=True)
class SlidingFacts:
    """Which blocks slide, and how many tokens the window has; None when no block slides."""

    blocks: tuple[bool, ...]
    window: int | None


def sliding_facts(
    meta: Meta, architecture: str, block_count: int, n_trunk: int, recurrent: tuple[bool, ...]
) -> SlidingFacts:
    """The sliding blocks of a model (``load_swa_pattern``, llama-model.cpp:3451-3458)."""
    none = SlidingFacts((False,) * block_count, None)
    rule = _RULES.get(architecture)
    if rule is None or (architecture == "exaone4" and n_trunk != 64):  # exaone4.cpp:4: only the 32B slides
        return none
    told = meta.integer("attention.sliding_window")
    if (rule.optional and not told) or (architecture == "llama4" and told == 0):
        return none
    window = rule.fixed_window or (rule.default_window if told is None else told)
    blocks = _blocks(meta, rule, block_count, n_trunk)
    if architecture == "lfm2":  # every attention block slides, lfm2.cpp:26-30
        blocks = tuple(i < n_trunk and not recurrent[i] for i in range(block_count))
    elif architecture == "deepseek4":
        blocks = (True,) * block_count
    if not window or not any(blocks):
        return none
    return SlidingFacts(blocks, window)


def _blocks(meta: Meta, rule: _Rule, block_count: int, n_trunk: int) -> tuple[bool, ...]:
    key = "attention.sliding_window_pattern"
    told = meta.flags(key, block_count) if rule.reads_pattern else None
    if told is not None:
        return told
    if rule.period is None:
        return (False,) * block_count
    period = (meta.integer(key) if rule.reads_pattern else None) or rule.period
    return tuple(i < n_trunk and _slides(i, period, rule.full_first) for i in range(block_count))


def _slides(block: int, period: int, full_first: bool) -> bool:
    """set_swa_pattern, llama-hparams.cpp:8-22."""
    if period == 0:
        return True
    return block % period != 0 if full_first else block % period < period - 1
