"""A bill of materials in CycloneDX 1.5: what is in the installer, each with version, licence and hash."""

from __future__ import annotations

import hashlib
import json
from email.parser import Parser
from pathlib import Path

from installer.windows.fetch import PYTHON_SOURCE

_PYTHON_INSIDE = "3.13.2"


def write_sbom(tree: Path, python: Path, wheels: Path, version: str, target: Path) -> int:
    """Write ``target``; the number of parts."""
    components = [_component("CPython", _PYTHON_INSIDE, "PSF-2.0", python / PYTHON_SOURCE)]
    for wheel in sorted(wheels.glob("*.whl")):
        stem = "-".join(wheel.name.split("-")[:2])
        text = (tree / "site" / f"{stem}.dist-info" / "METADATA").read_text(encoding="utf-8")
        meta = Parser().parsestr(text, headersonly=True)
        licence = meta.get("License-Expression") or _short(meta.get("License"))
        components.append(_component(str(meta["Name"]), str(meta["Version"]), licence, wheel))
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "name": "Lanewise", "version": version}},
        "components": components,
    }  # fmt: skip
    target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return len(components)


def _short(licence: str | None) -> str | None:
    """The old metadata field sometimes holds the whole text; its first line is its name."""
    return licence.strip().partition("\n")[0][:80] if licence else None


def _component(name: str, version: str, licence: str | None, file: Path) -> dict[str, object]:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    part: dict[str, object] = {
        "type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name.lower()}@{version}",
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }  # fmt: skip
    if name == "CPython":
        part["purl"] = f"pkg:generic/cpython@{version}"
    if licence:
        part["licenses"] = [{"license": {"name": licence}}]
    return part
