"""The failure table, model files: what the loaders print about a model, its parts, projector, draft and adapter. Pure.

Sources: gguf.cpp:349-1021, llama-model-loader.cpp:90-1772, llama-mmap.cpp:90-671, clip.cpp, mtmd.cpp:587-613,
speculative.cpp:289-562, llama-adapter.cpp:160-404 (b11434) and their wordings since 2023.
"""

from __future__ import annotations

from app.engine.failure_readers import named_tensor
from app.engine.failure_rule import MODEL, rule

_MISSING = r"No such file or directory|[^)']{0,40}cannot find[^)']{0,60}|系统找不到指定的[^)']{0,20}"
_DENIED = r"Permission denied|Access is denied|拒绝访问"
_ENGINE_OLD = (
    r"key not found in model: .*|array key not found in model: .*|key \S+ has wrong (?:array length|type).*"
    r"|key \S+ has wrong array element type .*"
)

COMPANIONS = (
    rule(
        "mmproj_mismatch",
        r"(?P<why>mismatch between (?:text model|vision and audio mmproj) .*|mmproj embedding mismatch.*)",
    ),
    rule(
        "mmproj_unknown",
        r"(?P<why>unknown (?:vision )?projector type:? ?.*)"
        r"|clip_init: failed to load model '[^']+': .{0,60}(?P<lack>unable to find tensor .*|Key not found: .*)",
        lambda match, _: {"why": match["why"] or match["lack"]},
    ),
    rule(
        "draft_mismatch",
        r"(?P<why>target and draft vocabs are not compatible|draft model vocab .*must match .*"
        r"|draft model is not (?:eagle3|dflash|compatible).*"
        r"|context type MTP requested but model doesn't contain MTP layers"
        r"|the draft model number of sequences is incompatible.*"
        r"|draft model '[^']+' is not compatible with the target model '[^']+'$)",
    ),
    rule(
        "lora_mismatch",
        r"(?P<why>model arch and LoRA arch mismatch|expect general\.type to be 'adapter'.*"
        r"|expect adapter\.type to be 'lora'.*|LoRA tensor (?:pair for )?'[^']+' .*"
        r"|tensor '[^']+' has incorrect shape \(hint: maybe wrong base model.*|lora_a tensor is not transposed.*)",
    ),
    rule("draft_alone", r"(?P<why>\S{1,80} requires ctx_other to be set)"),
    rule("adapter_as_model", r"^(?!.*adapter_lora).*general\.type str +(?:= *)?(?P<kind>adapter)\b"),
)

FILES = (
    *COMPANIONS,
    rule("unknown_arch", MODEL + r".*unknown (?:model )?architecture:? '(?P<architecture>[^']+)'"),
    rule("unknown_arch", r"(?:unknown|unsupported) (?:model )?architecture:? ['\"](?P<architecture>[^'\"]+)['\"]"),
    rule("split_part_missing", MODEL + r".*failed to load GGUF split from (?P<path>.+)"),
    rule(
        "split_part_missing",
        MODEL + r".*(?P<path>illegal split file.*|invalid split (?:file|count).*|missing key .*split.*)",
    ),
    rule("file_denied", rf"failed to open GGUF file '(?P<path>.+)' \((?P<why>{_DENIED})[^)]*\)"),
    rule("file_missing", r"failed to open GGUF file '(?P<path>.+)' \((?P<why>[^)]*)\)"),
    rule("file_denied", rf"failed to open '?(?P<path>[^']+?\.(?:gguf|bin))'?: '?(?P<why>{_DENIED})"),
    rule("file_missing", rf"failed to open '?(?P<path>[^']+?\.(?:gguf|bin))'?: '?(?P<why>{_MISSING})"),
    rule(
        "file_missing",
        r"unable to (?:find|open) (?:the )?(?:model|file)[: '\"]+(?P<path>[^: '\"][^'\"]*\.gguf)['\"]?(?P<why>)",
    ),
    rule("bad_magic", r"invalid magic (?:characters:? ?'?|number[: ]+)(?P<found>[^',]*)'?"),
    rule("engine_too_old", r"(?P<why>unknown \(magic, version\) combination: 46554747.*|unrecognized tensor type \d+)"),
    rule("file_too_old", r"(?P<why>GGUFv1 is no longer supported.*|unknown \(magic, version\) combination: [0-9a-f]+)"),
    rule("file_other_byte_order", r"(?P<why>this GGUF file version \d+ is extremely large.*)"),
    rule("engine_too_old", r"(?P<why>this GGUF file is version \d+ but this software only supports up to version \d+)"),
    rule("engine_too_old", r"(?P<why>(?:has )?invalid ggml type \d+.*|unknown (?:ggml )?type \d+.*)"),
    rule(
        "file_corrupt",
        r"tensor '(?P<tensor>[^']+)' (?:has invalid data|is duplicated)|(?P<why>found tensors with invalid data)"
        r"|tensor '(?P<other>[^']+)' has (?:offset \d+, expected \d+|invalid number of (?:dimensions|elements))",
        named_tensor,
    ),
    rule("file_corrupt", r"found (?:nan|inf) value at block|bad GGUF version: \d+|duplicate key '[^']*'", named_tensor),
    rule("file_truncated", r"tensor '(?P<tensor>[^']+)' data is not within the file bounds", named_tensor),
    rule("file_truncated", r"tensor '?(?P<tensor>[^' ]+)'? (?:data )?(?:is )?out of (?:file )?bounds", named_tensor),
    rule(
        "model_read_failed",
        r"(?P<why>read error: (?:Input/output error|Data error|.*循环冗余检查|.*CRC|The device is not ready|.*I/O"
        r"|.*network|Stale file handle|No such device|Host is down|Transport endpoint).*)",
    ),
    rule(
        "file_truncated",
        MODEL + r".*(?:corrupted model|corrupted or incomplete|unexpectedly reached end of file|read error)",
        named_tensor,
    ),
    rule(
        "file_truncated",
        r"failed to read (?:magic|header|key-value pairs|tensor info|tensor data)|exceeds remaining file size",
        named_tensor,
    ),
    rule("file_truncated", r"unexpectedly reached end of file|bad_alloc error while reading", named_tensor),
    rule(
        "wrong_shape",
        r"tensor '(?P<tensor>[^']+)' has wrong shape; (?P<why>.*)|invalid n_rot: (?P<rot>\d+, expected \d+)",
        lambda match, _: {"tensor": match["tensor"], "why": match["why"] or match["rot"]},
    ),
    rule("engine_too_old", MODEL + rf".*?(?P<why>{_ENGINE_OLD})"),
    rule("engine_too_old", r"(?P<why>unknown pre-tokenizer type: .*|unknown tokenizer: .*)"),
    rule("engine_too_old", r"(?P<why>wrong number of tensors; expected \d+, got \d+)"),
    rule(
        "engine_too_old", r"(?P<why>too many tensors created; expected \d+, got \d+|missing tensor info mapping for .*)"
    ),
    rule(
        "missing_tensor",
        MODEL + r".*(?:tensor '(?P<tensor>[^']+)' not found|missing tensor '(?P<other>[^']+)')",
        named_tensor,
    ),
    rule(
        "bad_regex",
        MODEL + r"(?P<why>.*(?:regular expression|regex|Mismatched|The expression contained"
        r"|Unexpected (?:character|end|null|escape)|Invalid (?:escape|range|back|character class)).*)",
    ),
    rule(
        "mmap_refused",
        r"(?P<why>mmap failed: (?:No such device|Operation not|Invalid argument|Function not).*"
        r"|mmap not supported|data section at file offset \d+ is not \d+ byte aligned, cannot mmap)",
    ),
    rule("file_too_old", r"(?P<why>cannot find tokenizer (?:merges|vocab) in model file)"),
    rule("engine_too_old", MODEL + r".*error loading model (?:vocabulary|hyperparameters): (?P<why>.+)"),
)
"""One cause prints several of these: a type of tomorrow is also a tensor info that cannot be read, and a projector that
cannot be used is also a file that did not load. The nearer one stands first."""

DOWNLOADS = (
    rule(
        "download_unsupported",
        r"(?P<why>HTTPS is not supported\. Please rebuild.*|built without (?:CURL|libcurl).*"
        r"|HTTPS requested but CPPHTTPLIB_OPENSSL_SUPPORT is not defined"
        r"|llama\.cpp (?:was )?built without (?:libcurl|SSL).*)",
    ),
    rule(
        "disk_full",
        r"(?P<why>No space left on device|There is not enough space on the disk|磁盘空间不足)",
        running=True,
    ),
    rule(
        "download_failed",
        r"failed to download model(?: from Hugging Face)?: (?P<why>.+)"
        r"|(?P<other>no GGUF files found in repository .*|GET failed \(\d+\).*|HTTPLIB failed: .*"
        r"|download failed after \d+ attempts|required file is not available in cache.*"
        r"|file '[^']+' not found in repository)",
        lambda match, _: {"why": match["why"] or match["other"]},
    ),
)
"""common/download.cpp:173-764, common/hf-cache.cpp:200."""
