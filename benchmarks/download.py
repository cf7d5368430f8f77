"""Our downloader beside curl: 2 GB from localhost, whole, and with ten random cuts.

    python -m benchmarks.download [GIGABYTES]

Both fetch the same file from the same server on loopback and write it to the same disk; ours also computes the SHA-256
while it writes. The page cache is warm for both. Then ours fetches it again with the connection broken ten times at
random places and each time goes on; the hash must be right and no byte may be asked for twice.
"""

import hashlib
import os
import random
import socket
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from app.work.downloads.fetch import fetch_files
from app.work.downloads.types import Patience, WantedFile

SEED = 20261129
BLOCK = 1 << 20
ROUNDS = 5


class Handler(socketserver.BaseRequestHandler):
    """As much HTTP as both clients need; the kernel copies (sendfile), so that the server is no brake."""

    def handle(self):
        head = self.request.makefile("rb")
        begin = 0
        while (line := head.readline().strip()) != b"":
            if line.lower().startswith(b"range: bytes="):
                begin = int(line.partition(b"=")[2].rstrip(b"-"))
        total = self.server.path.stat().st_size
        status = "206 Partial Content" if begin else "200 OK"
        answer = (
            f'HTTP/1.1 {status}\r\nContent-Length: {total - begin}\r\nETag: "1"\r\nConnection: close\r\n'
            f"Content-Range: bytes {begin}-{total - 1}/{total}\r\n\r\n"
        )
        self.request.sendall(answer.encode())
        end = self.server.cuts.pop(0) if self.server.cuts else total
        with self.server.path.open("rb") as file:
            try:
                self.request.sendfile(file, begin, max(0, min(end, total) - begin))
                self.server.sent += max(0, min(end, total) - begin)
            except OSError:
                return


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def make_file(path: Path, size: int) -> str:
    """Random bytes: nothing on the way can make them smaller. Returns the hash."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(size // BLOCK):
            block = os.urandom(BLOCK)
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def with_curl(url: str, to: Path) -> float:
    to.unlink(missing_ok=True)
    started = time.perf_counter()
    subprocess.run(["curl", "-sS", "-o", str(to), url], check=True)
    with to.open("rb") as file:
        os.fsync(file.fileno())
    return time.perf_counter() - started


def with_ours(wanted: WantedFile) -> float:
    wanted.path.unlink(missing_ok=True)
    started = time.perf_counter()
    fetch_files((wanted,), lambda progress: None, lambda: False, Patience(first_wait_s=0.01))
    return time.perf_counter() - started


def main() -> None:
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else "2") * 1e9) // BLOCK * BLOCK
    with tempfile.TemporaryDirectory() as folder, Server(("127.0.0.1", 0), Handler) as server:
        server.path, server.cuts, server.sent = Path(folder) / "source.bin", [], 0
        sha256 = make_file(server.path, size)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/f.bin"
        wanted = WantedFile((url,), Path(folder) / "ours.bin", size, sha256)
        curl, ours = [], []
        for _ in range(ROUNDS):
            curl.append(with_curl(url, Path(folder) / "curl.bin"))
            ours.append(with_ours(wanted))
        print(f"{size / 1e9:.2f} GB from localhost, {ROUNDS} rounds in turn, seconds to the disk")
        for what, of in (("best", min), ("median", statistics.median)):
            a, b = of(curl), of(ours)
            print(f"  {what:6}  curl {a:.2f}   ours with SHA-256 {b:.2f}   ratio {b / a:.2f}")
        chooser = random.Random(SEED)
        server.cuts, server.sent = sorted(chooser.randrange(1, size) for _ in range(10)), 0
        seconds = with_ours(wanted)
        extra = server.sent - size
        print(f"  ten random cuts (seed {SEED}): {seconds:.2f} s, right hash, {extra} bytes sent twice")
        server.shutdown()


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
