"""Start a daemon, lint its OpenAPI document, make clients from it and use them; validate its `server.json`.

Exit code 1 if one of the trials failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from openapi_trials import clients, linters
from tests.support.daemon import Daemon


class Place(NamedTuple):
    """A folder of its own for one trial, the document and the entry for a registry as files, and the daemon."""

    folder: Path
    document: Path
    server: Path
    daemon: Daemon


Trial = Callable[[Place], str]
TRIALS: dict[str, Trial] = {
    "redocly": lambda place: linters.redocly(place.folder, place.document),
    "spectral": lambda place: linters.spectral(place.folder, place.document),
    "openapi-python-client": lambda place: clients.python(place.folder, place.document, place.daemon),
    "openapi-typescript": lambda place: clients.typescript(place.folder, place.document, place.daemon),
    "server.json": lambda place: linters.registry(place.folder, place.server),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/try-openapi", description="Tries public tools on the document.")
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"some of {', '.join(TRIALS)}")
    wanted = parser.parse_args().trials or [*TRIALS]
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(Path(directory))
        daemon.start()
        try:
            daemon.post("/v1/sources/demo")
            document, server = Path(directory, "openapi.json"), Path(directory, "server.json")
            document.write_text(json.dumps(daemon.get("/v1/openapi.json")), encoding="utf-8")
            server.write_text(json.dumps(daemon.get("/v1/clients")["serverJson"]), encoding="utf-8")
            for name in wanted:
                folder = Path(directory, f"trial-{name}")
                folder.mkdir()
                try:
                    print(f"{name} {TRIALS[name](Place(folder, document, server, daemon))}", flush=True)
                except (subprocess.CalledProcessError, AssertionError) as error:
                    failed = True
                    said = getattr(error, "stdout", "") or str(error)
                    print(f"{name} failed: {said[-3000:]}", flush=True)
        finally:
            daemon.stop()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
