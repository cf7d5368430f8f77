"""A log of an engine as facts: what it ended with, what it allocated, where tensors went. Pure, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from app.common.problem import Problem
from app.common.units import MIB
from app.engine.failure import Judgement, is_worth_a_look, judge
from app.engine.line_shape import looks_for
from app.engine.log_reader import LogReader
from app.engine.loglines import CleanLine, clean_line
from app.engine.logparse import DeviceUsed, EngineBuffer, TensorsMoved

_THREADS = re.compile(r"system_info: n_threads = (?P<n>\d{1,5}) .*?/ (?P<cpus>\d{1,5})")
_CACHE = re.compile(r"cache state: (?P<n>\d{1,9}) prompts, (?P<mib>\d{1,9}(?:\.\d+)?) MiB \(limits: (?P<limit>\d{1,9})")
_FIT_CONTEXT = re.compile(r"context size reduced from (?P<before>\d{1,12}) to (?P<after>\d{1,12})")
_OFFLOADED = re.compile(r"offloaded (?P<n>\d{1,5})/(?P<all>\d{1,5}) layers to GPU")
_GPU_FOUND = re.compile(
    r"Device \d{1,2}: (?P<cuda>[^,]{1,80}), (?:compute capability|gfx)|ggml_vulkan: \d{1,2} = (?P<vulkan>[^(|]{1,80})"
    r"|using device (?P<used>(?!CPU|RPC)[A-Za-z]+\d+) \("
)
_SOFTWARE = ("llvmpipe", "SwiftShader", "lavapipe")
_TIMING = re.compile(
    r"(?<!prompt )eval time = +(?P<ms>\d{1,12}(?:\.\d+)?) ms / +(?P<n>\d{1,9}) (?:tokens|runs)"
    r".*?(?P<tps>\d{1,7}(?:\.\d+)?) tokens per second"
)
_MODEL = re.compile(
    r"loaded meta data with \d{1,9} key-value pairs and (?P<n>\d{1,9}) tensors from "
    r"(?P<path>.{1,900}?)(?: \(version .*)?$"
    r"|loading model '(?P<named>[^']{1,900})'"
)
_SERVER = re.compile(
    r"\bsrv\b|llama[_-]server|server is listening|HTTP server|starting (?:llama server|runner)|load_model:"
)
_ENDED = re.compile(r"cleaning up before exit|exiting due to|Received second interrupt|server stopped")
_SUSPECT = re.compile(r"(?i)\b(?:error|fatal|panic|exception|traceback|failed|cannot|unable|abort\w*)\b")
_ERROR = re.compile(r"(?:error|fatal|panic|traceback|exception|failed to|unable to)\b", re.IGNORECASE)
"""How the line of a program begins that gives up, where no level says so."""
_FINISH = re.compile(r'"finish_reason": ?"(?P<reason>[a-z_]{1,20})"')
_CONTENT = re.compile(r'"content": ?(?:null|"(?P<text>(?:[^"\\]|\\.){0,40}))')
_REASONING = re.compile(r'"reasoning_content": ?"(?P<text>(?:[^"\\]|\\.){1,40})')
_BLANK = re.compile(r"\\[nrt]|\s")
"""What stands between words inside JSON."""
_PROMPT = re.compile(r'"prompt_tokens": ?(?P<prompt>\d{1,9})')
_TOKENS = re.compile(r'"completion_tokens": ?(?P<decoded>\d{1,9})')
_LEAST_TIMED_TOKENS = 16
_MOST_SUSPECTS = 8
_MOST_TAIL = 12
_MOST_MODELS = 64
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class ModelSeen:
    """A model file that the log names. ``n_tensors`` None: its head was not read (llama-model-loader.cpp)."""

    path: str
    n_tensors: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerSeen:
    """An answer of the API that somebody pasted: why it ended, and what was in it. Characters as far as they were
    looked at."""

    finish_reason: str
    answer_characters: int
    reasoning_characters: int
    decoded_tokens: int | None
    line: str
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Everything that a log tells. ``suspects``: the lines that look most like a reason, for a failure nobody knows.

    ``cut_bytes``: so much of a very long log was left out in its middle; ``decode_tps``: the engine's own figures, per
    request.
    """

    judgement: Judgement
    n_lines: int
    is_server: bool
    has_ended: bool
    devices: Mapping[str, DeviceUsed]
    buffers: tuple[EngineBuffer, ...]
    overrides: Mapping[str, str]
    layer_homes: Mapping[int, str]
    moved: tuple[TensorsMoved, ...]
    n_ctx: int | None
    load_mode: str | None
    models: tuple[ModelSeen, ...] = ()
    n_threads: int | None = None
    n_cpus: int | None = None
    prompt_cache: tuple[int, int] | None = None
    fit_context: tuple[int, int] | None = None
    decode_tps: tuple[float, ...] = ()
    idle_gpu: str | None = None
    """A card that the engine found while it put no layer of the model on any."""
    answer: AnswerSeen | None = None
    uses_tls: bool = False
    n_refused: int = 0
    """Requests without the right key."""
    has_error_lines: bool = False
    suspects: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    cut_bytes: int = 0
    lines_of: Mapping[str, str] = field(default_factory=dict)
    """The line behind a figure (``threads``, ``cache``, ``fit``), as evidence."""

    @property
    def failure(self) -> Problem | None:
        """Why the engine ended, as far as its own words tell."""
        return self.judgement.failure

    @property
    def was_ready(self) -> bool:
        """Did the server ever answer?"""
        return self.judgement.was_ready

    @property
    def tells_tensors(self) -> bool:
        """Was the log written at -lv 5, which names layers and overrides?"""
        return bool(self.layer_homes or self.overrides)


def read_log(lines: Iterable[str], cut_bytes: int = 0) -> LogFacts:
    """The facts of a log. Lines may be of any length and hold anything."""
    clean: list[CleanLine] = []
    reader = LogReader()
    figures = _Figures()
    for raw in lines:
        line = clean_line(raw)
        clean.append(line)
        reader.feed_clean(line)
        figures.take(line)
    return LogFacts(
        judgement=judge(clean),
        n_lines=len(clean),
        is_server=figures.is_server,
        has_ended=figures.has_ended,
        devices=dict(reader.devices),
        buffers=reader.buffers,
        overrides=dict(reader.overrides),
        layer_homes=dict(reader.layer_homes),
        moved=tuple(reader.moved),
        n_ctx=reader.n_ctx,
        load_mode=reader.load_mode,
        models=tuple(figures.models),
        n_threads=figures.n_threads,
        n_cpus=figures.n_cpus,
        prompt_cache=figures.prompt_cache,
        fit_context=figures.fit_context,
        decode_tps=tuple(figures.decode_tps[-50:]),
        idle_gpu=figures.gpu if figures.offloaded == 0 else None,
        answer=figures.answer(),
        uses_tls=figures.uses_tls,
        n_refused=figures.n_refused,
        has_error_lines=any(line.level == "E" or _ERROR.match(line.text) for line in clean),
        suspects=_suspects(clean),
        tail=_tail(clean),
        cut_bytes=cut_bytes,
        lines_of=figures.lines_of,
    )


_has_figure = looks_for(
    (
        "exit", "stop", "interrupt", "system_info", "cache state", "context size reduced", "eval time", "offloaded ",
        "invalid api key", "running with ssl", "_reason", '"content"', "completion_tokens", "prompt_tokens", "evice",
        "ggml_vulkan", "loading model '", "loaded meta data",
    )
)  # fmt: skip


class _Figures:
    """Collects what ``LogReader`` does not: threads, prompt cache, fit's context, timings."""

    def __init__(self) -> None:
        self.is_server = False
        self.has_ended = False
        self.n_threads: int | None = None
        self.n_cpus: int | None = None
        self.prompt_cache: tuple[int, int] | None = None
        self.fit_context: tuple[int, int] | None = None
        self.decode_tps: list[float] = []
        self.models: list[ModelSeen] = []
        self.lines_of: dict[str, str] = {}
        self.gpu: str | None = None
        self.offloaded: int | None = None
        self._layers = 0
        self.n_refused = 0
        self.uses_tls = False
        self._said: dict[str, str] = {}

    def take(self, line: CleanLine) -> None:
        text = line.text
        self.is_server = self.is_server or _SERVER.search(text) is not None
        if not _has_figure(text):
            return
        if "exit" in text or "stop" in text or "interrupt" in text:
            self.has_ended = self.has_ended or _ENDED.search(text) is not None
        if "system_info" in text and (found := _THREADS.search(text)) is not None:
            self.n_threads, self.n_cpus = int(found["n"]), int(found["cpus"])
            self.lines_of["threads"] = line.raw[:_LONGEST]
        elif "cache state" in text and (found := _CACHE.search(text)) is not None:
            self.prompt_cache = (round(float(found["mib"]) * MIB), int(found["limit"]) * MIB)
            self.lines_of["cache"] = line.raw[:_LONGEST]
        elif "context size reduced" in text and (found := _FIT_CONTEXT.search(text)) is not None:
            self.fit_context = (int(found["before"]), int(found["after"]))
            self.lines_of["fit"] = line.raw[:_LONGEST]
        elif "eval time" in text:
            self._take_timing(line)
        elif "offloaded " in text and (found := _OFFLOADED.search(text)) is not None:
            self._take_offloaded(int(found["n"]), int(found["all"]), line)
        elif "running with SSL" in text:
            self.uses_tls = True
        elif "Invalid API Key" in text:
            self.n_refused += 1
            self.lines_of["key"] = line.raw[:_LONGEST]
        elif "_reason" in text or '"content"' in text or "completion_tokens" in text or "prompt_tokens" in text:
            self._take_answer(line)
        elif "evice" in text or "ggml_vulkan" in text:
            self._take_gpu(text)
        elif "loading model '" in text or "loaded meta data" in text:
            self._take_model(text)

    def _take_offloaded(self, n: int, layers: int, line: CleanLine) -> None:
        """Of the largest model: a draft that is loaded after it may be meant for the CPU."""
        if layers < self._layers:
            return
        self.offloaded, self._layers = n, layers
        self.lines_of["offloaded"] = line.raw[:_LONGEST]

    def _take_gpu(self, text: str) -> None:
        found = _GPU_FOUND.search(text)
        if found is not None and self.gpu is None:
            name = next(value for value in found.groups() if value).strip()
            self.gpu = None if any(word in name for word in _SOFTWARE) else name

    def _take_answer(self, line: CleanLine) -> None:
        """The parts of an answer, on one line or on several."""
        for name, pattern in (
            ("finish", _FINISH),
            ("content", _CONTENT),
            ("reasoning", _REASONING),
            ("tokens", _TOKENS),
            ("prompt", _PROMPT),
        ):
            if (found := pattern.search(line.text)) is None:
                continue
            text = found[1] or ""
            is_first = name != "content" or '"delta"' not in line.text or '"role"' in line.text
            if is_first or _BLANK.sub("", text):  # a blank piece of a stream says nothing of the pieces before it
                self._said[name] = text
            if name == "finish":
                self.lines_of["finish"] = line.raw[:_LONGEST]

    def answer(self) -> AnswerSeen | None:
        """The last answer that was pasted, when why it ended is told."""
        said = self._said
        if "finish" not in said or "content" not in said:
            return None
        tokens, prompt = said.get("tokens"), said.get("prompt")
        return AnswerSeen(
            finish_reason=said["finish"],
            answer_characters=len(_BLANK.sub("", said["content"])),
            reasoning_characters=len(said.get("reasoning", "")),
            decoded_tokens=int(tokens) if tokens else None,
            line=self.lines_of["finish"],
            prompt_tokens=int(prompt) if prompt else None,
        )

    def _take_model(self, text: str) -> None:
        """A file that is loaded, and what its head says; a draft's and those of earlier starts stand beside it."""
        found = _MODEL.search(text)
        if found is None or len(self.models) >= _MOST_MODELS:
            return
        told = found["named"]
        seen = ModelSeen(told) if told is not None else ModelSeen(found["path"], int(found["n"]))
        if seen not in self.models:
            self.models.append(seen)

    def _take_timing(self, line: CleanLine) -> None:
        """The first few tokens say little about the speed."""
        found = _TIMING.search(line.text)
        if found is not None and int(found["n"]) >= _LEAST_TIMED_TOKENS:
            self.decode_tps.append(float(found["tps"]))
            self.lines_of["timing"] = line.raw[:_LONGEST]


def _tail(clean: list[CleanLine]) -> tuple[str, ...]:
    """The last lines that the engine's own log has; of a log without levels, the last ones that are not empty."""
    own = [line.raw[:_LONGEST] for line in clean[-200:] if line.level is not None]
    return tuple(own or [line.raw[:_LONGEST] for line in clean if line.text.strip()])[-_MOST_TAIL:]


def _suspects(clean: list[CleanLine]) -> tuple[str, ...]:
    """Lines of level E first, then those with the words of trouble; the last ones, in their order."""
    errors = (line for line in reversed(clean) if line.level == "E")
    words = (line for line in reversed(clean) if is_worth_a_look(line.text) and _SUSPECT.search(line.text))
    last = list(islice(errors, _MOST_SUSPECTS)) or list(islice(words, _MOST_SUSPECTS))
    return tuple(dict.fromkeys(line.raw[:_LONGEST] for line in reversed(last)))
