"""Connect a service of each framework with the CLI, call it as an agent would, and print what held.

Exit code 1 if anything did not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framework_trials.frameworks import FRAMEWORKS, Framework, install, serving

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / ".venv" / "bin" / "executor"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "executor-frameworks"
ASKS = ("login", "create", "read", "list", "validation", "no body", "upload", "download", "pass on")


@dataclass(frozen=True)
class Daemon:
    home: Path

    def run(self, *words: str, given: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EXECUTOR_")}
        own = {"HOME": str(self.home), "EXECUTOR_DATA_DIR": str(self.home / "data"), "EXECUTOR_PORT": "0"}
        environment = {**kept, **own, "XDG_CONFIG_HOME": str(self.home)}
        done = subprocess.run(
            [str(PROGRAM), *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            input=given,
        )
        if done.returncode and check:
            raise SystemExit(f"`executor {' '.join(words)}` failed:\n{done.stderr}")
        return done

    def call(self, code: str) -> tuple[Any, str]:
        """The result, or None and what is printed instead."""
        done = self.run("call", "--no-open", code, check=False)
        return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr)


@dataclass(frozen=True)
class Trial:
    daemon: Daemon
    framework: Framework
    namespace: str
    paths: dict[str, str]

    def path(self, number: int) -> str:
        word = self.framework.operations[number]
        found = [path for path in self.paths if path.lower().endswith(f".{word}".lower())]
        if not found:
            raise SystemExit(f"{self.framework.name} has no tool {word}: {sorted(self.paths)}")
        return f"tools.{found[0]}"

    def new(self, **fields: Any) -> str:
        return json.dumps({self.framework.wraps: fields} if self.framework.wraps else fields)

    def login(self) -> bool:
        before, said = self.daemon.call(f"return await {self.path(0)}({{}})")
        self.daemon.run("connections", "add", self.namespace, "--bearer", given="trial-token\n")
        after, _ = self.daemon.call(f"return await {self.path(0)}({{}})")
        return before is None and "credential" in said and after is not None

    def create(self) -> bool:
        made, _ = self.daemon.call(f"return await {self.path(1)}({self.new(name='made', price=3)})")
        return made is not None and made["name"] == "made" and made["id"] == 26

    def read(self) -> bool:
        got, _ = self.daemon.call(f"return await {self.path(2)}({{{self.framework.key}: 26}})")
        return got is not None and got["name"] == "made"

    def list(self) -> bool:
        got, _ = self.daemon.call(f"return await {self.path(0)}.all({{}})")
        return got is not None and got["complete"] and [one["id"] for one in got["items"]] == [*range(1, 27)]

    def validation(self) -> bool:
        """By a rule that only the service knows: its own words, and the field they are about."""
        _, said = self.daemon.call(f"return await {self.path(1)}({self.new(name='forbidden', price=3)})")
        return "answered 4" in said and "name" in said.partition("answered 4")[2].partition("hint")[0]

    def no_body(self) -> bool:
        got, _ = self.daemon.call(f"return await {self.path(3)}({{{self.framework.key}: 3}})")
        return got is not None and got["archived"] is True

    def upload(self) -> bool:
        file = '{file: {base64: "aGVsbG8=", filename: "hello.txt"}}'
        got, _ = self.daemon.call(f"return await {self.path(4)}({file})")
        return got == {"name": "hello.txt", "type": "text/plain", "size": 5}

    def download(self) -> bool:
        got, _ = self.daemon.call(f"return await {self.path(5)}({{}})")
        return got is not None and got["size"] == 6_000_000 and got["artifact"].startswith("art_")

    def pass_on(self) -> bool:
        got, _ = self.daemon.call(
            f"const f: any = await {self.path(5)}({{}}); return await {self.path(4)}({{file: f}})"
        )
        return got is not None and got["size"] == 6_000_000


def try_framework(daemon: Daemon, framework: Framework, cache: Path) -> dict[str, Any]:
    version = install(framework, cache)
    namespace = framework.name.replace("-", "_")
    with serving(framework, cache) as url:
        daemon.run("sources", "add", f"{url}/{framework.document}", "--namespace", namespace, "--base-url", url)
        daemon.run("policies", "add", f"{namespace}.**", "allow")
        listed = json.loads(daemon.run("tools", "list", "--source", namespace, "--json").stdout)
        trial = Trial(daemon, framework, namespace, {one["path"]: one["effect"] for one in listed["items"]})
        asks: list[Callable[[], bool]] = [getattr(trial, ask.replace(" ", "_")) for ask in ASKS]
        return {
            "framework": framework.name,
            "version": version,
            **dict(zip(ASKS, [ask() for ask in asks], strict=True)),
        }


def main() -> int:
    parser = argparse.ArgumentParser(prog="try-frameworks", description=__doc__)
    parser.add_argument("--framework", action="append", choices=list(FRAMEWORKS), help="only these; repeatable")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where they are installed (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    given = parser.parse_args()
    whole = True
    with tempfile.TemporaryDirectory(prefix="executor-frameworks-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        daemon = Daemon(home)
        daemon.run("up")
        try:
            if not given.json:
                print("| framework | version |", " | ".join(ASKS), "|\n|", " | ".join(["---"] * (len(ASKS) + 2)), "|")
            for name in given.framework or FRAMEWORKS:
                found = try_framework(daemon, FRAMEWORKS[name], given.cache)
                whole &= all(found[ask] for ask in ASKS)
                row = ["yes" if value is True else "**no**" if value is False else value for value in found.values()]
                print(json.dumps(found) if given.json else f"| {' | '.join(row)} |", flush=True)
        finally:
            daemon.run("down", check=False)
    return 0 if whole else 1


if __name__ == "__main__":
    raise SystemExit(main())
