"""`python -m executor.demo --port 0`: prints its URL on the first line, then runs until stdin closes or a signal."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading

from executor.demo.server import DemoServer


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m executor.demo", description="A sample HTTP API with a few invoices."
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 chooses a free one")
    server = DemoServer(parser.parse_args().port)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
    threading.Thread(target=wait_for_end_of_input, args=(ended,), name="stdin", daemon=True).start()
    print(server.url, flush=True)
    ended.wait()
    server.shutdown()
    server.server_close()


def wait_for_end_of_input(ended: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    ended.set()


if __name__ == "__main__":
    main()
