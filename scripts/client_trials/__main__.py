"""Try clients one after the other and print what the model saw. Exit code 1 if a loop did not come to its end."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from client_trials import clients, daemon, library, model
from client_trials.script import DONE, REFUND, Script

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "executor-clients"


@dataclass(frozen=True)
class Seen:
    """Each is something that the model saw, or that the client printed."""

    client: str
    version: str
    transport: str
    listed: bool
    tools_in_first_turn: bool
    instructions: bool
    result: bool
    pause: bool
    outcome: bool
    ended: bool
    results: list[str]
    output: str

    @property
    def whole(self) -> bool:
        return self.listed and self.tools_in_first_turn and self.result and self.pause and self.outcome and self.ended


NAMES = (*clients.CLIENTS, *library.LIBRARIES)


def transports_of(name: str, only: str | None) -> list[str]:
    return [one for one in library.TRANSPORTS.get(name, ("stdio", "http")) if only in (None, one)]


def try_client(name: str, transport: str, host: daemon.Daemon, cache: Path, work: Path) -> Seen:
    is_library = name in library.LIBRARIES
    version = library.install(name, cache) if is_library else clients.install(name, cache)
    has_no_file = is_library or name in clients.WITHOUT_FILE
    text = host.connect("other", transport) if has_no_file else ""
    home = work / f"{name}-{transport}"
    home.mkdir()

    def connect(place: Path) -> None:
        host.connect_client(clients.AGENTS[name], transport, place)

    script = Script(host.approve, host.instructions())
    with model.serving(script) as address:
        place = clients.Place(cache / name.removesuffix("-default"), home, text, address, transport, connect)
        output = library.play(name, place, script) if is_library else clients.CLIENTS[name](place)
    first = script.tools[0] if script.tools else []
    results = [*script.results, *[""] * 3]
    return Seen(
        client=name,
        version=version,
        transport=transport,
        listed=clients.is_listed(name, output),
        tools_in_first_turn=all(any(one.endswith(word) for one in first) for word in ("execute", "resume")),
        instructions=script.instructions,
        result="42" in results[0],
        pause="int_" in results[1] and "/approvals/" in results[1],
        outcome=len(script.results) > 2 and REFUND.search(script.results[-1]) is not None,
        ended=DONE in output,
        results=script.results,
        output=output[-4000:],
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="try-clients", description=__doc__)
    parser.add_argument("--client", action="append", choices=NAMES, help="only these; repeatable")
    parser.add_argument("--transport", choices=("stdio", "http"), help="only this one")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where clients are installed (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line, with all that was seen")
    given = parser.parse_args()
    whole = True
    with tempfile.TemporaryDirectory(prefix="executor-clients-") as folder:
        work = Path(folder)
        with daemon.running(work / "executor") as host:
            for name in given.client or NAMES:
                for transport in transports_of(name, given.transport):
                    seen = try_client(name, transport, host, given.cache, work)
                    whole &= seen.whole
                    print(json.dumps(asdict(seen)) if given.json else line(seen), flush=True)
    return 0 if whole else 1


def line(seen: Seen) -> str:
    checks = {
        "listed": seen.listed,
        "tools": seen.tools_in_first_turn, "instructions": seen.instructions, "result": seen.result,
        "pause": seen.pause, "outcome": seen.outcome, "end": seen.ended,
    }  # fmt: skip
    said = "  ".join(f"{name} {'yes' if value else 'NO'}" for name, value in checks.items())
    return f"{seen.client:<22}{seen.transport:<7}{said}  ({seen.version})"


if __name__ == "__main__":
    sys.exit(main())
