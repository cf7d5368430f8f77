"""Releases of llama.cpp in the layout of its own workflows, with a script as the server or with the real one."""

import hashlib
import io
import json
import tarfile
import zipfile

from app.engine.release_choice import this_target

TAG = "b11434"

FAKE_SERVER = """#!/bin/sh
case "$1" in
--help) echo "-m, --model F"; echo "-ngl, --gpu-layers N"; echo "--host H"; echo "--list-devices"; {extra};;
--version) echo "version: 0.6.0 (build {number}, commit 0123abcd)" >&2;;
--list-devices) echo "Available devices:"; {devices};;
esac
"""


def fake_server(devices=(), number=11434, extra=":"):
    """A program that answers as llama-server does."""
    lines = [f'echo "  {device}"' for device in devices] or ['echo "  (none)"']
    return FAKE_SERVER.format(devices="; ".join(lines), number=number, extra=extra).encode()


def tar_gz(files, top=f"llama-{TAG}"):
    """Bytes of a tar.gz with one top folder. A value that is a text is a link's target."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{top}/{name}" if top else name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                archive.addfile(info)
            else:
                info.size, info.mode = len(content), 0o755
                archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def folder_tar_gz(folder, top=f"llama-{TAG}"):
    """A folder (a real build) as the release packs it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, f"{top}/{path.name}", recursive=False)
    return out.getvalue()


def zipped(files):
    """Bytes of a zip. A value that is a text is a link's target."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o120777 if isinstance(content, str) else 0o100755) << 16
            archive.writestr(info, content)
    return out.getvalue()


def asset(name, data=b"", url="https://host.example", **more):
    """One entry of a release's assets."""
    return {
        "name": name,
        "size": len(data) or 1000,
        "digest": "sha256:" + hashlib.sha256(data).hexdigest(),
        "state": "uploaded",
        "browser_download_url": f"{url}/{name}",
        **more,
    }


def listing(*assets, tag=TAG, **more):
    """The bytes that the public API answers with."""
    release = {"tag_name": tag, "draft": False, "prerelease": True, "published_at": "2026-11-20T10:00:00Z", **more}
    return json.dumps([{**release, "assets": list(assets)}]).encode()


WINDOWS_NAMES = (
    "llama-b11434-bin-win-cpu-x64.zip", "llama-b11434-bin-win-cpu-arm64.zip",
    "llama-b11434-bin-win-cuda-12.4-x64.zip", "cudart-llama-bin-win-cuda-12.4-x64.zip",
    "llama-b11434-bin-win-cuda-13.4-x64.zip", "cudart-llama-bin-win-cuda-13.4-x64.zip",
    "llama-b11434-bin-win-vulkan-x64.zip", "llama-b11434-bin-win-rocm-10.0-x64.zip",
    "llama-b11434-bin-win-sycl-x64.zip", "llama-b11434-bin-win-openvino-2026.0-x64.zip",
    "llama-b11434-bin-win-opencl-adreno-arm64.zip",
)  # fmt: skip
OTHER_NAMES = (
    "llama-b11434-bin-ubuntu-x64.tar.gz", "llama-b11434-bin-ubuntu-arm64.tar.gz",
    "llama-b11434-bin-ubuntu-s390x.tar.gz",
    "llama-b11434-bin-ubuntu-vulkan-x64.tar.gz", "llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz",
    "cudart-llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz", "llama-b11434-bin-ubuntu-cuda-13.4-x64.tar.gz",
    "llama-b11434-bin-ubuntu-sycl-fp32-x64.tar.gz", "llama-b11434-bin-macos-arm64.tar.gz",
    "llama-b11434-bin-macos-x64.tar.gz", "llama-b11434-xcframework.zip", "llama-b11434-ui.tar.gz",
    "llama-b11434-bin-android-arm64.tar.gz",
)  # fmt: skip
"""As ``release-publish.yml`` of b11434 names them."""

API = "/repos/ggml-org/llama.cpp/releases"
DOWNLOADS = f"/ggml-org/llama.cpp/releases/download/{TAG}"


def name_of(middle):
    return f"llama-b11434-bin-ubuntu-{middle}{this_target().arch}.tar.gz"


class Mirror:
    """A mirror with the same paths as the official place."""

    def __init__(self, server):
        self.server = server
        self.assets = []

    def add(self, middle, files, **more):
        data = tar_gz(files)
        self.put(name_of(middle), data, **more)
        return data

    def put(self, name, data, **more):
        self.assets.append(asset(name, data, f"https://official.example{DOWNLOADS}", **more))
        self.server.put(f"{DOWNLOADS}/{name}", data)
        self.server.put(API, listing(*self.assets), content_type="application/json")

    @property
    def base(self):
        return self.server.base
