"""The CLI against a daemon inside the test: `python cli_client.py PORT WORDS…`, with EXECUTOR_TOKEN set."""

from __future__ import annotations

import sys

from executor.daemon.control import Running
from executor.settings import Settings
from executor.surfaces.cli import client, main


def connect(settings: Settings | None = None) -> client.Client:
    settings = settings or Settings.load()
    return client.Client(settings, RUNNING, client.token(settings))


if __name__ == "__main__":
    RUNNING = Running(pid=0, host="127.0.0.1", port=int(sys.argv[1]), start_id="", version="")
    client.connect = connect
    sys.exit(main.run(sys.argv[2:]))
