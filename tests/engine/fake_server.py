"""A stand-in for llama-server that misbehaves on demand; a real process, run by the engine tests.

Only for what the real one cannot be made to do: hang at start, ignore signals, flood its output, die at a moment.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--load-s", type=float, default=0.0, help="answer 503 for so long")
    parser.add_argument("--never-ready", action="store_true")
    parser.add_argument("--hang-health", action="store_true", help="accept connections and never answer")
    parser.add_argument("--crash", type=int, help="exit with this code while loading")
    parser.add_argument("--ignore-terminate", action="store_true")
    parser.add_argument("--child", help="start a child that keeps the output open, and write its pid here")
    parser.add_argument("--say", help="a file whose bytes are printed first")
    parser.add_argument("--flood-mib", type=int, default=0, help="print so much before listening")
    parser.add_argument("--silent", action="store_true", help="print no 'listening on' line")
    parser.add_argument("--show-environment", action="store_true")
    return parser.parse_args()


class Handler(BaseHTTPRequestHandler):
    """/health as the real one: 503 while loading, then 200; everything else wants the key."""

    protocol_version = "HTTP/1.1"
    ready = threading.Event()
    hang = False

    def do_GET(self):
        if self.hang:
            time.sleep(3600)
        if self.path == "/health":
            self.answer(200 if self.ready.is_set() else 503, {"status": "ok"})
        elif self.headers.get("Authorization") != f"Bearer {os.environ.get('LLAMA_API_KEY')}":
            self.answer(401, {"error": {"message": "Invalid API Key"}})
        else:
            self.answer(200, {})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def flood(mib):
    block = ("0.00.000.001 I filler " + "x" * 102 + "\n") * 512
    for _ in range(mib * 1024 * 1024 // len(block)):
        sys.stdout.write(block)
    sys.stdout.write("end of the flood\n")
    sys.stdout.flush()


def main():
    args = options()
    if args.ignore_terminate:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if args.child:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(args.child, "w") as file:
            file.write(str(child.pid))
    if args.say:
        with open(args.say, "rb") as file:
            sys.stdout.buffer.write(file.read())
            sys.stdout.buffer.flush()
    if args.show_environment:
        import psutil

        print("CPUS", sorted(psutil.Process().cpu_affinity()), flush=True)
        print("ENV", json.dumps(dict(os.environ)), flush=True)
    if args.flood_mib:
        flood(args.flood_mib)
    if args.crash is not None:
        os._exit(args.crash)
    Handler.hang = args.hang_health
    server = ThreadingHTTPServer((args.host, args.port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("loading", flush=True)
    if args.never_ready:
        threading.Event().wait()
    time.sleep(args.load_s)
    Handler.ready.set()
    if not args.silent:
        print("0.00.100.000 I srv  llama_server: model loaded", flush=True)
        print(f"0.00.100.001 I srv  llama_server: listening on http://{args.host}:{server.server_port}", flush=True)
    threading.Event().wait()


main()
