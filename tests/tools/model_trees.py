"""Folders of other programs as they lay them out, with small models in them."""

import hashlib
import json
import shutil


def put_in_hub_cache(root, source, repository, name, revision="a" * 40, *, links=True):
    """models--OWNER--NAME with a blob, a snapshot that links to it, and refs/main."""
    folder = root / f"models--{repository.replace('/', '--')}"
    digest = hashlib.sha256(head_of(source) + name.encode()).hexdigest()
    blob = folder / "blobs" / digest
    snapshot = folder / "snapshots" / revision
    for made in (blob.parent, snapshot, folder / "refs"):
        made.mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(revision)
    if links:
        copy_sparse(source, blob)
        (snapshot / name).symlink_to(f"../../blobs/{digest}")
    else:
        copy_sparse(source, snapshot / name)
    return blob


def put_in_ollama(root, source, model, tag, *, owner="library", kind="model", host="registry.ollama.ai"):
    """A manifest and the blob that it names."""
    digest = hashlib.sha256(f"{model}:{tag}:{kind}".encode()).hexdigest()
    blob = root / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    if source is not None:
        copy_sparse(source, blob)
    manifest = root / "manifests" / host / owner / model / tag
    manifest.parent.mkdir(parents=True, exist_ok=True)
    layers = json.loads(manifest.read_text())["layers"] if manifest.exists() else []
    layers += [
        {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": f"sha256:{digest}", "size": 1},
        {"mediaType": "application/vnd.ollama.image.params", "digest": f"sha256:{'0' * 64}", "size": 1},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    return blob


def head_of(path, n_bytes=1 << 16):
    """The first bytes, without reading the hole behind them."""
    with path.open("rb") as file:
        return file.read(n_bytes)


def copy_sparse(source, target):
    """The header and a hole as long as the rest."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as old, target.open("wb") as new:
        new.write(old.read(1 << 16))
        new.truncate(source.stat().st_size)
    shutil.copystat(source, target)
    return target
