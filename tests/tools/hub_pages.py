"""A local server with the pages of Hugging Face and ModelScope: listings and files under their real paths."""

import hashlib
import json

HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"


class Hub:
    """Repositories on a ``FileServer``; ``liar`` publishes other sizes and hashes than it serves."""

    def __init__(self, server):
        self.server = server

    @property
    def base(self):
        return self.server.base

    def hugging_face(self, repository, files, revision="main", *, size_of=len, hash_of=None, per_page=None, **more):
        """``files``: path -> bytes."""
        hash_of = hash_of or (lambda data: hashlib.sha256(data).hexdigest())
        rows = [{"type": "directory", "oid": "1", "size": 0, "path": "folder"}]
        for path, data in files.items():
            stored = {"oid": hash_of(data), "size": size_of(data), "pointerSize": 135}
            rows.append({"type": "file", "oid": "0" * 40, "size": size_of(data), "lfs": stored, "path": path})
            self.server.put(f"/{repository}/resolve/{revision}/{path}", data, **more)
        listing = f"/api/models/{repository}/tree/{revision}"
        pages = [rows] if per_page is None else [rows[i : i + per_page] for i in range(0, len(rows), per_page)]
        for number, page in enumerate(pages):
            address = f"{listing}?recursive=true" + (f"&cursor={number}" if number else "")
            headers = {}
            if number + 1 < len(pages):
                after = f"https://huggingface.co{listing}?recursive=true&cursor={number + 1}"
                headers["Link"] = f'<{after}>; rel="next"'
            self.server.put(address, json.dumps(page).encode(), content_type="application/json", headers=headers)

    def modelscope(self, repository, files, revision="master"):
        rows = [{"Name": "folder", "Path": "folder", "Type": "tree", "Size": 0, "Sha256": ""}]
        for path, data in files.items():
            digest = hashlib.sha256(data).hexdigest()
            name = path.rpartition("/")[2]
            rows.append({"Name": name, "Path": path, "Type": "blob", "Size": len(data), "Sha256": digest})
            self.server.put(f"/models/{repository}/resolve/{revision}/{path}", data)
        body = json.dumps({"Code": 200, "Success": True, "Data": {"Files": rows}}).encode()
        listing = f"/api/v1/models/{repository}/repo/files?Revision={revision}&Recursive=true"
        self.server.put(listing, body, content_type="application/json")
