"""The failure table: what llama-server and its relatives print when they fail -> code and parameters. Pure.

In each group the most telling code stands first: within one cascade of messages (a cause and what follows from it) the
earlier rule wins. Wordings are those of b11434, of mainline builds since 2023, of ik_llama.cpp, of the GPU runtimes and
of the programs that wrap llama.cpp (ollama, LM Studio, koboldcpp); the source stands beside what is the engine's own.
The groups are in ``failure_files``, ``failure_memory``, ``failure_gpu`` and ``failure_program``; the two short ones of
the command line and the network are here.
"""

from __future__ import annotations

from app.engine.failure_files import DOWNLOADS, FILES
from app.engine.failure_gpu import DEVICES, GPU
from app.engine.failure_memory import MEMORY, WINDOWS_MEMORY
from app.engine.failure_program import CODES, FALLBACKS, LIBRARIES, PROGRAM
from app.engine.failure_readers import buffer_types, listening_port
from app.engine.failure_rule import WHY, Rule, rule

ARGUMENTS: tuple[Rule, ...] = (
    rule("unknown_buffer_type", r'error while handling argument "[^"]+": unknown buffer type', buffer_types),
    rule(
        "bad_argument_value",
        r'error while handling (?:argument|environment variable) "(?P<argument>[^"]+)": ' + WHY,
    ),
    rule("bad_argument_value", r"error: invalid parameter for argument: (?P<argument>\S+)(?P<why>)"),
    rule("unknown_argument", r"error: (?:invalid|unknown) argument: (?P<argument>\S+)"),
    rule("bad_argument_value", r"option '(?P<argument>[^']+)' (?P<why>not recognized in preset .*)"),
    rule("unknown_argument", r"unrecognized arguments?: (?P<argument>\S+)"),
)
"""common/arg.cpp:960-1080; ``error: unknown argument`` is ik_llama.cpp and builds before 2024."""

NETWORK: tuple[Rule, ...] = (
    rule(
        "port_forbidden",
        r"forbidden by its access permissions|\[?WinError 10013\]?|bind: permission denied|WSAEACCES"
        r"|访问权限不允许的方式做了一个访问套接字",
        listening_port,
        running=True,
    ),
    rule(
        "port_in_use",
        r"couldn't bind (?:HTTP server|to server) socket[,:] hostname[:=] ?(?P<host>[^\s,]+),?"
        r" port[:=] ?(?P<port>\d{1,5})",
        listening_port,
        running=True,
    ),
    rule(
        "port_in_use",
        r"[Aa]ddress already in use|Only one usage of each socket address|Errno 98|WinError 10048|EADDRINUSE"
        r"|port is already allocated|通常每个套接字地址|Failed to create server socket",
        listening_port,
        running=True,
    ),
    rule("ssl_not_built", r"[Ss]erver is built without SSL support"),
    rule("rpc_version", r"(?P<why>RPC server version mismatch: .*|Expected HELLO command, update client.*)"),
    rule("rpc_unreachable", r"Failed to connect to (?P<endpoint>\S+)"),
    rule("rpc_unreachable", r"RPC handshake failed for (?P<endpoint>\S+)"),
    rule(
        "rpc_lost",
        r"Remote RPC server crashed or returned malformed response|ggml-rpc\.cpp:\d{1,5}: GGML_ASSERT\(status\)",
        running=True,
    ),
)

RULES: tuple[Rule, ...] = (
    *ARGUMENTS, *NETWORK, *WINDOWS_MEMORY, *FILES, *DEVICES, *MEMORY, *GPU, *PROGRAM, *DOWNLOADS, *LIBRARIES,
    *CODES, *FALLBACKS,
)  # fmt: skip

GENERIC = frozenset({"model_load_failed", "context_failed", "engine_aborted"})
"""Codes that say little: anything more telling that stands in the same run is preferred."""
