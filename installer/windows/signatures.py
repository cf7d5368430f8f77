"""Whether the Windows files that others made are what they signed: the Authenticode digest of each PE file is
recomputed and the signer read (``osslsigncode``). Windows itself verifies the chain up to Microsoft's root.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

SIGNERS = ("Python Software Foundation", "Microsoft")
_DIGEST = re.compile(r"^(Current|Calculated) message digest\s*:\s*([0-9A-F]+)", re.MULTILINE)
_SUBJECT = re.compile(r"Subject:.*")


class BadSignatureError(Exception):
    """A file is not what its publisher signed."""


def check_signed(files: Iterable[Path], signers: tuple[str, ...] = SIGNERS) -> int:
    """How many files there are; raises ``BadSignatureError`` for one unsigned, changed, or signed by somebody else."""
    count = 0
    for file in files:
        text = _verify(file)
        digests = dict(_DIGEST.findall(text))
        if not digests or digests.get("Current") != digests.get("Calculated"):
            raise BadSignatureError(f"{file.name}: it carries no valid signature, or was changed after it was signed")
        if not any(name in subject for subject in _SUBJECT.findall(text) for name in signers):
            raise BadSignatureError(f"{file.name}: it is signed by somebody else than {' or '.join(signers)}")
        count += 1
    return count


def _verify(file: Path) -> str:
    done = subprocess.run(["osslsigncode", "verify", "-in", str(file)], capture_output=True, check=False)
    return (done.stdout + done.stderr).decode(errors="replace")
