"""The public npm package `executor`, installed into a temporary folder and driven through its own surfaces."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.subject import Subject
from benchmarks.wire import Http, Mcp, WireError, text

PACKAGE = "executor@1.5.9"


class Peer(Subject):
    name = "peer"
    read = "(await tools.things.org.main.things.getThing({id: i})).data.id"
    write = 'return (await tools.things.org.main.things.createThing({body: {name: "a"}})).data.id'

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.package = folder / "package"

    def install(self) -> None:
        """Without install scripts: the binaries come as optional packages from the same registry."""
        npm = shutil.which("npm")
        if npm is None:
            raise WireError("--peer needs `npm` on the PATH")
        subprocess.run(
            [npm, "install", "--prefix", str(self.package), "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE],
            check=True,
            capture_output=True,
            timeout=600,
        )

    def environ(self, home: Path) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return kept | {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "NO_COLOR": "1"}

    def daemon_command(self) -> list[str]:
        """The platform binary itself: the daemon's figures are free of the Node wrapper's."""
        machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
        binary = self.package / "node_modules" / f"executor-linux-{machine}" / "bin" / "executor"
        return [str(binary), "daemon", "run", "--foreground", "--hostname", "127.0.0.1", "--port", str(self.port)]

    def cli(self, *arguments: str) -> list[str]:
        return [str(self.package / "node_modules" / ".bin" / "executor"), *arguments]

    @property
    def status_arguments(self) -> Sequence[str]:
        return ("daemon", "status", "--base-url", self.base_url)

    def headers(self, home: Path) -> Mapping[str, str]:
        return {}

    def connect(self, document_url: str) -> None:
        client = self.client()
        spec = f'{{kind: "url", url: "{document_url}"}}'
        asked = client.call(
            "execute", {"code": f'return await tools.executor.openapi.addSpec({{spec: {spec}, slug: "things"}})'}
        )
        client.call("resume", {"executionId": execution_id(asked), "action": "accept"})
        client.close()
        http = Http(self.base_url, {})
        wanted = {"owner": "org", "name": "main", "integration": "things", "template": "none", "values": {}}
        http.json("POST", "/api/connections", wanted)
        http.close()

    def park(self, client: Mcp) -> str:
        return execution_id(client.call("execute", {"code": self.write}))

    def approve(self, client: Mcp, parked: str) -> None:
        answer = client.call("resume", {"executionId": parked, "action": "accept"})
        if text(answer).strip() != "1":
            raise WireError(f"{self.name}: the approved write gave {text(answer)[:500]}")


def execution_id(answer: Mapping[str, object]) -> str:
    outcome = answer.get("structuredContent")
    if not isinstance(outcome, dict) or "executionId" not in outcome:
        raise WireError(f"peer: expected a paused execution, got {str(answer)[:500]}")
    return str(outcome["executionId"])
