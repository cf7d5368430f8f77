"""Groups the tensors that move to one device into few readable patterns.

A tensor is ``blk.N.<stem>.<ending>``. Within a device: stems of one family (``ffn_gate_exps``, ``ffn_up_exps`` ...)
that move in the same blocks share a pattern, ``^blk\\.(2[6-9]|3[0-9])\\.ffn_(gate|up|down)_exps\\.``. A stem is written
without its ending only where all its tensors in those blocks move (weights with their biases and scales).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from app.planner.block_numbers import literal, numbers_pattern

_BLOCK_NAME = re.compile(r"blk\.(0|[1-9][0-9]*)\.(.+)")
_CORE_ORDER = ("gate_up", "gate", "up", "down", "gate_inp", "q", "k", "v", "qkv", "output")
_TAILS = ("_exps", "_chexps", "_shexp")


@dataclass(frozen=True, slots=True)
class _Part:
    """A stem, whole (``ending`` empty) or one ending of it, cut as head + core + tail: ``ffn_`` ``gate`` ``_exps``."""

    head: str
    core: str
    tail: str
    ending: str

    @property
    def family(self) -> tuple[str, str, str]:
        """Parts of one family share a pattern."""
        return self.head, self.tail, self.ending


@dataclass(slots=True)
class _Blocks:
    """Blocks in which a part must be hit, and those in which it may be (earlier rules have claimed it there)."""

    must: set[int] = field(default_factory=set)
    may: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Rule:
    """Parts of one family (or every tensor, without parts) in some blocks."""

    parts: tuple[_Part, ...]
    blocks: frozenset[int]
    optional: frozenset[int]


def patterns_for(names: Sequence[str], wanted: set[str], claimed: set[str]) -> list[str]:
    """Patterns that together hit all of ``wanted``, and besides only names in ``claimed``; narrow ones first."""
    in_blocks, outside = _by_blocks(tuple(names))
    rules = _block_rules(in_blocks, wanted, claimed)
    plain = [name for name in outside if name in wanted]
    return [*_plain_patterns(plain), *_block_patterns(rules, in_blocks, wanted)]


@lru_cache(maxsize=4)
def _by_blocks(names: tuple[str, ...]) -> tuple[Mapping[int, Mapping[str, str]], tuple[str, ...]]:
    """Block -> rest of the name -> name, and the names outside the blocks; the same for every plan of a file."""
    in_blocks: dict[int, dict[str, str]] = {}
    plain: list[str] = []
    for name in names:
        match = _BLOCK_NAME.fullmatch(name)
        if match:
            in_blocks.setdefault(int(match[1]), {})[match[2]] = name
        else:
            plain.append(name)
    return in_blocks, tuple(plain)


def _plain_patterns(names: Iterable[str]) -> Iterator[str]:
    """Exact patterns for tensors outside the blocks; those with the same ending share one."""
    by_ending: dict[str, list[str]] = {}
    for name in names:
        stem, _, ending = name.rpartition(".")
        by_ending.setdefault(ending, []).append(stem)
    for ending, stems in by_ending.items():
        if "" in stems:  # a name without any dot
            yield from (f"^{literal(ending)}$" for _ in stems)
        else:
            yield f"^{_alternatives([literal(s) for s in stems])}\\.{literal(ending)}$"


def _alternatives(patterns: Sequence[str]) -> str:
    return patterns[0] if len(patterns) == 1 else f"({'|'.join(patterns)})"


def _block_patterns(rules: Iterable[_Rule], in_blocks: Mapping[int, Mapping[str, str]], wanted: set[str]) -> list[str]:
    """Text of the rules, sorted by the number of tensors each is for; a rule for one tensor names it in full."""
    found: list[tuple[int, str]] = []
    for rule in rules:
        pattern = _render(rule)
        compiled = re.compile(pattern)
        hit = [
            name
            for block in rule.blocks
            for name in in_blocks[block].values()
            if name in wanted and compiled.search(name)
        ]
        found.append((len(hit), f"^{literal(hit[0])}$" if len(hit) == 1 else pattern))
    return [pattern for _, pattern in sorted(found, key=lambda item: item[0])]


def _render(rule: _Rule) -> str:
    exact = _numbers(rule.blocks)
    wider = _numbers(rule.blocks | rule.optional)
    where = f"^blk\\.{wider if len(wider) < len(exact) else exact}\\."
    if not rule.parts:
        return where
    first = rule.parts[0]
    cores = _alternatives([literal(core) for core in dict.fromkeys(p.core for p in rule.parts)])
    tails = [tail[1:] for tail in dict.fromkeys(p.tail for p in rule.parts)]
    stem = f"{literal(first.head)}{cores}{'_' + _alternatives(tails) if first.tail else ''}"
    end = f"{literal(first.ending)}$" if first.ending else ""
    return f"{where}{stem}\\.{end}" if stem else f"{where}{end}"


def _numbers(blocks: Iterable[int]) -> str:
    pattern = numbers_pattern(blocks)
    return f"({pattern})" if "|" in pattern else pattern


def _block_rules(in_blocks: Mapping[int, Mapping[str, str]], wanted: set[str], claimed: set[str]) -> list[_Rule]:
    """The shorter of two ways: blocks that move entirely as one rule, or everything by families."""
    plain = _family_rules(in_blocks, wanted, claimed)
    whole = frozenset(
        block
        for block, tensors in in_blocks.items()
        if not wanted.isdisjoint(tensors.values()) and all(n in wanted or n in claimed for n in tensors.values())
    )
    if not whole:
        return plain
    rest = {block: tensors for block, tensors in in_blocks.items() if block not in whole}
    with_whole = [_Rule((), whole, frozenset()), *_family_rules(rest, wanted, claimed)]
    return min(plain, with_whole, key=_total_length)


def _total_length(rules: Iterable[_Rule]) -> int:
    return sum(len(_render(rule)) for rule in rules)


def _family_rules(in_blocks: Mapping[int, Mapping[str, str]], wanted: set[str], claimed: set[str]) -> list[_Rule]:
    families: dict[tuple[str, str, str], dict[_Part, _Blocks]] = {}
    seen: dict[object, tuple[tuple[_Part, bool], ...]] = {}
    for block, tensors in in_blocks.items():
        key = tuple((rest, name in wanted, name in claimed) for rest, name in tensors.items())
        if key not in seen:
            seen[key] = tuple(_parts_of_block(tensors, wanted, claimed))
        for part, is_needed in seen[key]:
            blocks = families.setdefault(part.family, {}).setdefault(part, _Blocks())
            (blocks.must if is_needed else blocks.may).add(block)
    rules: list[_Rule] = []
    for parts in families.values():
        needed = {part: blocks for part, blocks in parts.items() if blocks.must}
        if needed:
            rules.extend(min(_by_block(needed), _by_part(needed), key=_total_length))
    return _with_joined_tails(rules)


def _parts_of_block(tensors: Mapping[str, str], wanted: set[str], claimed: set[str]) -> Iterator[tuple[_Part, bool]]:
    """The parts of one block that a rule must hit (True) or may hit (False)."""
    stems: dict[str, list[str]] = {}
    for rest in tensors:
        stems.setdefault(rest.rpartition(".")[0], []).append(rest.rpartition(".")[2])
    for stem, endings in stems.items():
        own = [tensors[f"{stem}.{ending}" if stem else ending] for ending in endings]
        if all(name not in wanted and name not in claimed for name in own):
            continue
        under = [name for rest, name in tensors.items() if rest.startswith(f"{stem}.")] if stem else [""]
        if all(name in wanted or name in claimed for name in under):
            yield _part(stem, ""), any(name in wanted for name in under)
            continue
        for ending, name in zip(endings, own, strict=True):
            if name in wanted or name in claimed:
                yield _part(stem, ending), name in wanted


@lru_cache(maxsize=4096)
def _part(stem: str, ending: str) -> _Part:
    tail = next((t for t in _TAILS if stem.endswith(t)), "")
    head, underscore, core = stem.removesuffix(tail).partition("_")
    return _Part(head + underscore, core, tail, ending) if core else _Part("", stem, "", ending)


def _core_key(part: _Part) -> tuple[int, str]:
    listed = part.core in _CORE_ORDER
    return (_CORE_ORDER.index(part.core) if listed else len(_CORE_ORDER), part.core)


def _rule(parts: Iterable[_Part], blocks: set[int], optional: set[int]) -> _Rule:
    return _Rule(tuple(sorted(parts, key=_core_key)), frozenset(blocks), frozenset(optional - blocks))


def _by_part(parts: Mapping[_Part, _Blocks]) -> list[_Rule]:
    """One rule per set of blocks: parts that move in the same blocks share it."""
    groups: dict[frozenset[int], list[_Part]] = {}
    for part, blocks in parts.items():
        groups.setdefault(frozenset(blocks.must), []).append(part)
    return [
        _rule(same, set(must), set.intersection(*(parts[p].may for p in same)) if same else set())
        for must, same in groups.items()
    ]


def _by_block(parts: Mapping[_Part, _Blocks]) -> list[_Rule]:
    """One rule per set of parts: blocks in which the same parts move share it. A block joins a larger set when what
    it lacks has been claimed before."""
    must: dict[int, set[_Part]] = {}
    may: dict[int, set[_Part]] = {}
    for part, blocks in parts.items():
        for block in blocks.must:
            must.setdefault(block, set()).add(part)
        for block in blocks.may:
            may.setdefault(block, set()).add(part)
    sets = sorted({frozenset(p) for p in must.values()}, key=lambda s: (-len(s), sorted(map(_core_key, s))))
    groups: dict[frozenset[_Part], set[int]] = {}
    for block, needed in must.items():
        allowed = needed | may.get(block, set())
        home = next(s for s in sets if needed <= s <= allowed)
        groups.setdefault(home, set()).add(block)
    return [
        _rule(same, blocks, {b for b, extra in may.items() if same <= extra | must.get(b, set())})
        for same, blocks in groups.items()
    ]


def _with_joined_tails(rules: list[_Rule]) -> list[_Rule]:
    """Rules that differ only in the tail become one: ``ffn_(gate|up|down)_(exps|chexps)``."""
    groups: dict[tuple[object, ...], list[_Rule]] = {}
    for rule in rules:
        cores = tuple(part.core for part in rule.parts)
        groups.setdefault((rule.blocks, rule.parts[0].head, rule.parts[0].ending, cores), []).append(rule)
    joined: list[_Rule] = []
    for same in groups.values():
        if len(same) > 1 and all(rule.parts[0].tail for rule in same):
            optional = frozenset.intersection(*(rule.optional for rule in same))
            joined.append(_Rule(tuple(p for rule in same for p in rule.parts), same[0].blocks, optional))
        else:
            joined.extend(same)
    return joined
