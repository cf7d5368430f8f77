"""The failure table, the program itself: libraries, instructions, protection, crashes and what stopped it. Pure.

The words are those of shells, of systemd, of Windows in English and in Chinese, of macOS, and of ggml_abort.
"""

from __future__ import annotations

from app.engine.failure_rule import NO_COLON, rule

PROGRAM = (
    rule(
        "engine_dll_missing",
        r"error while loading shared libraries: (?P<library>[^:\s]+): cannot open|Library not loaded: (?P<other>\S+)"
        r"|because (?P<third>\S+\.dll) was not found"
        r"|(?P<fourth>(?<![^\s\"“「])[\w.+-]{1,80}\.dll)[^.]{0,20}(?:找不到|缺失)"
        r"|找不到 ?(?P<fifth>[\w.+-]{1,80}\.dll)|Could not find module '(?P<sixth>[^']{1,300})'",
        lambda match, cascade: {"library": next((v for v in match.groups() if v), None)},
    ),
    rule(
        "engine_dll_wrong",
        r"(?P<code>symbol lookup error.*|version `[^']+' not found.*|undefined symbol: .*"
        r"|entry point .* could not be located.*|无法定位程序输入点.*)",
    ),
    rule("engine_cpu_unsupported", r"(?P<code>[Ii]llegal (?:hardware )?instruction)", running=True),
    rule("engine_cpu_unsupported", r"code=(?:dumped|killed), status=(?P<code>4/ILL)", running=True),
    rule(
        "engine_wrong_platform",
        r"(?:cannot execute(?: binary file)?: )?(?P<why>Exec format error|cannot execute binary file|WinError 193\b.*"
        r"|is not a valid (?:Win32 application|application for this OS platform).*|Bad CPU type in executable"
        r"|不是有效的 ?Win32 ?应用程序)",
    ),
    rule(
        "engine_blocked",
        r"(?P<why>WinError 22[56].*|contains a virus or potentially unwanted software.*|包含病毒或潜在的垃圾软件"
        r"|blocked by your administrator.*|Application Control policy has blocked.*|blocked by group policy.*"
        r"|developer cannot be verified|Apple could not verify.*|code signature .{0,40}(?:invalid|not valid).*)",
    ),
    rule(
        "engine_not_executable",
        r"lanewise: cannot start (?P<path>.+): (?P<why>Permission denied|" + NO_COLON + r"[Aa]ccess is denied.*)$",
    ),
    rule("engine_not_executable", r"(?:^|: )(?P<path>\S*llama-server(?:\.exe)?): (?P<why>Permission denied)"),
    rule(
        "engine_not_executable",
        r"Program '(?P<path>[^']*llama[^']*)' failed to run: (?P<why>Access is denied|拒绝访问)",
    ),
    rule(
        "engine_removed",
        r"lanewise: cannot start (?P<path>.+): (?P<why>No such file or directory|"
        + NO_COLON
        + r"cannot find the (?:file|path).*)$",
    ),
    rule(
        "engine_removed",
        r"(?:^|: )(?P<path>\S*llama-server(?:\.exe)?): (?P<why>command not found|No such file or directory|not found)",
    ),
    rule(
        "engine_removed",
        r"['“\"](?P<path>[^'”\"]*llama[^'”\"]*)['”\"] ?(?P<why>is not recognized as .*|不是内部或外部命令|项识别为)",
    ),
    rule(
        "engine_removed", r"Failed to (?:locate|execute) (?:executable )?(?P<path>\S*llama\S*): (?P<why>No such file.*)"
    ),
    rule("engine_broken", r"lanewise: cannot start (?P<path>.+): (?P<why>[^:]*)$"),
)

_AS_WORDS = r"(?i:exception(?: code)?:? |start correctly \(|no longer running: )"
"""How a code of Windows stands in dumps of Go, in message boxes, in the Event Viewer and in logs of ollama."""

CODES = (
    rule("engine_crashed", rf"{_AS_WORDS}(?P<code>(?i:0xc000000[56]|0xc00000fd|0xc0000374)|3221225477)", running=True),
    rule("engine_dll_missing", rf"{_AS_WORDS}(?i:0xc0000135|3221225781)", lambda match, _: {"library": None}),
    rule("engine_dll_wrong", rf"{_AS_WORDS}(?P<code>(?i:0xc0000139|0xc000007b|0xc0000142)|3221225785|3221225595)"),
    rule("engine_cpu_unsupported", rf"{_AS_WORDS}(?P<code>(?i:0xc000001d)|3221225501)", running=True),
    rule("engine_blocked", rf"{_AS_WORDS}(?P<why>(?i:0xc0000022|0xc0000428|0xc0000906)|3221225506)"),
    rule("engine_aborted", rf"{_AS_WORDS}(?P<why>(?i:0xc0000409|0xe06d7363)|3221226505|3765269347)", running=True),
)

LIBRARIES = (
    rule("numbers_broken", r"(?P<why>GGML_ASSERT\(.{0,120}(?:isnan|isinf|isfinite|\bnan\b).*)", running=True),
    rule(
        "batch_too_small",
        r"GGML_ASSERT\(.{0,40}n_ubatch >= n_tokens",
        lambda match, _: {"asked": None},
        running=True,
    ),
    rule("chat_template_bad", r"(?P<why>the supplied chat template is not supported: .*)"),
    rule(
        "chat_template_bad",
        r"chat template parsing error: (?P<why>.*)|(?P<other>failed to initialize chat template)",
        lambda match, _: {"why": match["why"] or match["other"]},
    ),
    rule(
        "tool_call_unread",
        r"what\(\): +(?P<why>(?:Invalid diff: |Failed to parse (?:tool|input)|The model produced output that).*)",
        running=True,
    ),
    rule("grammar_bad", r"what\(\): +(?P<why>grammar.*|\S.*grammar.*)", running=True),
)
"""What ends a running server although only a request was at fault, and templates that stop a start."""

FALLBACKS = (
    rule("model_load_failed", r"error loading model: (?P<why>.+)"),
    rule("context_failed", r"failed to initialize the context: (?P<why>.+)"),
    rule("mmproj_unknown", r"(?P<why>Failed to load CLIP model from .+)"),
    rule(
        "model_load_failed",
        r"failed to load multimodal model, (?P<why>.+)|failed to load (?:draft model|lora adapter),? (?P<other>.+)",
        lambda match, _: {"why": match["why"] or match["other"]},
    ),
    rule(
        "engine_aborted",
        r"(?P<why>GGML_ASSERT(?:\(.*\) failed|: .*)|GGML_ABORT.*|pre-allocated tensor \(.*\) in a buffer .*"
        r"|abort\(\) has been called|signal: aborted|SIGABRT: abort|op not supported .*"
        r"|fatal error$|Assertion .{1,400} failed.*)",
        running=True,
    ),
    rule(
        "engine_crashed",
        r"(?P<code>[Ss]egmentation fault|segmentation violation|SIGSEGV|Bus error|exception: access violation.*"
        r"|Floating point exception|double free or corruption.*|free\(\): invalid .*|malloc\(\): .*|corrupted size vs.*"
        r"|corrupted double-linked list|\*\*\* stack smashing detected.*|munmap_chunk\(\): .*)",
        running=True,
    ),
    rule("engine_crashed", r"code=(?:dumped|killed), status=(?P<code>11/SEGV|7/BUS)", running=True),
    rule(
        "engine_killed",
        r"^(?P<code>Killed)$|(?P<code2>signal: killed|oom-kill|Out of memory: Killed process|killed by the OOM killer"
        r"|code=killed, status=9/KILL|Memory cgroup out of memory|OOMKilled|due to memory pressure for|oom_score \d).*"
        r"|(?:^ *|: )(?:line \d+: )?(?:\d+ )?(?P<code3>[Kk]illed)(?:: 9)? {2,}\S",
        lambda m, _: {"code": m["code"] or m["code2"] or m["code3"]},
        running=True,
    ),
    rule("engine_aborted", r"code=(?:dumped|killed), status=(?P<why>6/ABRT)", running=True),
    rule("engine_aborted", r"^(?P<why>Aborted(?: \(core dumped\))?(?:$| {2,}).*)", running=True),
    rule("engine_aborted", r"terminate called after throwing an instance of '(?P<why>[^']+)'", running=True),
    rule(
        "load_timeout",
        r"health ?check timed out|timed out waiting for (?:the )?(?:llama|server)",
    ),
    rule("model_load_failed", r"(?P<why>exiting due to model loading error)"),
    rule(
        "model_load_failed",
        r"(?P<why>error: (?:failed to load|unable to load) model.*|Could not load (?:text )?model.*)",
    ),
)
