"""The names of other programs' settings that have one option of llama-server each, and those that are no business of
the engine."""

from __future__ import annotations

from collections.abc import Mapping

KOBOLD_TYPES: Mapping[int, str] = {0: "f16", 1: "q8_0", 2: "q4_0"}
"""``quantkv`` (koboldcpp.py: 0=f16, 1=q8, 2=q4)."""

KOBOLD_OTHERS = (
    "sd",
    "whisper",
    "tts",
    "horde",
    "embeddings",
    "admin",
    "music",
    "mcp",
    "showgui",
    "skiplauncher",
    "launch",
    "port",
    "multiuser",
    "multiplayer",
    "websearch",
    "remotetunnel",
    "quiet",
    "ssl",
    "nocertify",
    "password",
    "ratelimit",
    "ignoremissing",
    "preloadstory",
    "savedatafile",
    "defaultgenamt",
    "genlimit",
    "maxrequestsize",
    "onready",
    "benchmark",
    "prompt",
    "cli",
    "checkforupdates",
    "config",
    "analyze",
    "unpack",
    "export",
    "nomodel",
    "singleinstance",
    "debugmode",
    "autoswap",
    "baseconfig",
    "download",
    "exe_path",
    "loramult",
    "proxy_port",
    "version",
    "istemplate",
    "gendefaults",
)
"""Beginnings of the names of KoboldCpp's own features: pictures, speech, sharing, its window."""

LMSTUDIO_PLAIN: Mapping[str, tuple[str, str]] = {
    "contextLength": ("-c", "whole"),
    "evalBatchSize": ("-b", "whole"),
    "cpuThreadPoolSize": ("-t", "whole"),
    "cpuThreads": ("-t", "whole"),
    "kCacheQuantizationType": ("-ctk", "text"),
    "vCacheQuantizationType": ("-ctv", "text"),
    "ropeFrequencyBase": ("--rope-freq-base", "number"),
    "ropeFrequencyScale": ("--rope-freq-scale", "number"),
    "numParallelSessions": ("-np", "whole"),
    "temperature": ("--temp", "number"),
    "topKSampling": ("--top-k", "whole"),
    "topPSampling": ("--top-p", "number"),
    "minPSampling": ("--min-p", "number"),
    "repeatPenalty": ("--repeat-penalty", "number"),
    "maxPredictedTokens": ("-n", "whole"),
}

LMSTUDIO_OTHERS = (
    "tools",
    "structured",
    "contextOverflowPolicy",
    "reasoning.parsing",
    "speculativeDecoding.",
    "logProbs",
)

OLLAMA_PLAIN: Mapping[str, tuple[str, str]] = {
    "num_ctx": ("-c", "whole"),
    "num_batch": ("-b", "whole"),
    "num_gpu": ("-ngl", "whole"),
    "main_gpu": ("-mg", "whole"),
    "num_thread": ("-t", "whole"),
    "num_keep": ("--keep", "whole"),
    "num_predict": ("-n", "whole"),
    "seed": ("-s", "whole"),
    "temperature": ("--temp", "number"),
    "top_k": ("--top-k", "whole"),
    "top_p": ("--top-p", "number"),
    "min_p": ("--min-p", "number"),
    "typical_p": ("--typical", "number"),
    "repeat_penalty": ("--repeat-penalty", "number"),
    "repeat_last_n": ("--repeat-last-n", "whole"),
    "presence_penalty": ("--presence-penalty", "number"),
    "frequency_penalty": ("--frequency-penalty", "number"),
}

OLLAMA_TYPES = frozenset(
    {
        "use_mmap",
        "use_mlock",
        "low_vram",
        "numa",
        "stop",
        "f16_kv",
        "vocab_only",
        "mirostat",
        "mirostat_eta",
        "mirostat_tau",
    }
    | {"penalize_newline", "tfs_z", "logits_all"}
)
"""Ollama's other parameters, by which a bare table of them is recognised."""
