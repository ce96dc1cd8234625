"""A scripted agent: it knows what `tools/list` says, and of everything else only what it was answered.

It acts as a model did that was watched at such work. Where that model relied on what it had read, the script looks into
the same text: an argument is used when the signature shows it, `.all` when it is listed, and so on.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, Literal

from benchmarks.wire import Http, Mcp, decode

from agents_eval.tally import Tally, tokens

Language = Literal["typescript", "python"]
FEW = 3  # tools that an agent asks for when no example shows a number
HESITATION = 0.3  # seconds until a person approves, so that the agent usually waits already
LOOK_UP = {
    "typescript": "return await Promise.all($queries.map(query => tools.discover({query, limit: $limit})))",
    "python": "import asyncio\n"
    "await asyncio.gather(*[tools.discover(query=query, limit=$limit) for query in $queries])",
}
DESCRIBE = {
    "typescript": 'return await tools.describe.tool({path: "$path"})',
    "python": 'await tools.describe.tool(path="$path")',
}
_CUT = re.compile(r"(?:/\*|#) \d+ more")
_EXECUTION = re.compile(r'"executionId": "(\w+)"')
_ARGUMENT = re.compile(r"\b([\w<>.]+)(\??): ([^,;{\n]*)")


class Unsolved(Exception):
    """Where the agent gave up."""


@dataclass(frozen=True)
class Outcome:
    text: str
    failed: bool

    @property
    def value(self) -> Any:
        """What the code returned: JSON on the first line of the text."""
        try:
            return json.loads(self.text.partition("\n")[0])
        except ValueError:
            return None


@dataclass(frozen=True)
class Found:
    """A tool as an answer showed it."""

    path: str
    signature: str
    has_all: bool

    @property
    def arguments(self) -> str:
        return re.split(r"\): Promise|\) ->", self.signature)[0]

    @property
    def is_cut(self) -> bool:
        return bool(_CUT.search(self.arguments)) or not self.signature

    def shows(self, *names: str) -> bool:
        return all(re.search(rf"\b{name}\b\??:", self.arguments) for name in names)

    @property
    def wants_token(self) -> bool:
        """Whether a credential is among the required arguments."""
        return any(
            name == "token" and not optional and "..." not in kind
            for name, optional, kind in _ARGUMENT.findall(self.arguments)
        )


@dataclass(frozen=True)
class Wanted:
    """How the agent asks for a tool, one phrase after the other, and the names by which it would know it."""

    queries: Sequence[str]
    names: Sequence[str]

    def recognizes(self, path: str) -> bool:
        plain = re.sub(r"\W|_", "", path).lower()
        return any(plain.endswith(name.lower()) for name in self.names)


def wanted(query: str, *names: str, then: Sequence[str] = ()) -> Wanted:
    return Wanted((query, *then), names)


class Agent:
    def __init__(self, client: Mcp, operator: Http, language: Language, offer: str, limit: int) -> None:
        self.client = client
        self.operator = operator
        self.language = language
        self.offer = offer
        self.limit = limit
        self.tally = Tally()
        self.transcript: list[str] = []

    @property
    def was_told_of_all(self) -> bool:
        """Whether it read that `.all` is there where it is listed. Otherwise it tries it on every list."""
        return ".all" in self.offer

    @property
    def starts_together(self) -> bool:
        """Whether it read that writes which do not need each other should be started together."""
        return "together" in self.offer

    @property
    def steps_generators(self) -> bool:
        """Whether it takes `next(x for x in …)` for something that runs, as nothing says otherwise."""
        return "next(generator)" not in self.offer

    def run(self, code: str, **parts: Any) -> Outcome:
        """Runs code and waits out its approvals, which a person gives."""
        return self._run("results", code, parts)

    def _run(self, kind: str, code: str, parts: dict[str, Any]) -> Outcome:
        text = Template(code.strip()).safe_substitute(parts)
        self.tally.executions += 1
        self.tally.code += tokens(text)
        self.transcript.append(f">>> {self.language}\n{text}")
        answer = self.client.call("execute", {"code": text, "language": self.language})
        outcome = self._read(answer, kind)
        while match := _paused(outcome):
            person = threading.Timer(HESITATION, self._approve)
            person.start()
            resumed = self.client.call("resume", {"executionId": match})
            person.join()
            outcome = self._read(resumed, kind)
        return outcome

    def _read(self, answer: dict[str, Any], kind: str) -> Outcome:
        text = "\n".join(part["text"] for part in answer["content"] if part["type"] == "text")
        outcome = Outcome(text, bool(answer.get("isError")))
        self.tally.errors += outcome.failed
        kind = "failures" if outcome.failed else "pauses" if _paused(outcome) else kind
        self.tally.output[kind] += tokens(text)
        self.transcript.append(f"<<< {kind}, {tokens(text)} tokens\n{text}")
        return outcome

    def _approve(self) -> None:
        for asked in self.operator.json("GET", "/v1/interactions?status=pending&limit=500")["items"]:
            self.operator.json("POST", f"/v1/interactions/{asked['id']}/approve", {})
            self.tally.approvals += 1

    def find(self, **searched: Wanted) -> list[Found]:
        """Asks for all at once; for what the answers don't show, again in other words."""
        known: dict[str, Found] = {}
        for turn in range(max(len(one.queries) for one in searched.values())):
            missing = {key: one for key, one in searched.items() if key not in known and turn < len(one.queries)}
            if not missing:
                break
            answers = self._look_up([one.queries[turn] for one in missing.values()])
            for (key, one), answer in zip(missing.items(), answers, strict=True):
                if found := _pick(answer, one):
                    known[key] = found
        if absent := [key for key in searched if key not in known]:
            raise Unsolved(f"found no tool for {', '.join(absent)}")
        return [known[key] for key in searched]

    def _look_up(self, queries: list[str]) -> list[Any]:
        outcome = self._run("discovery", LOOK_UP[self.language], {"queries": json.dumps(queries), "limit": self.limit})
        if outcome.failed or not isinstance(outcome.value, list):
            raise Unsolved(outcome.text[:500])
        return outcome.value

    def see(self, tool: Found, *names: str) -> Found:
        """The tool with these arguments in sight: described if its signature was cut before them."""
        if tool.shows(*names) or not tool.is_cut:
            return tool
        return self.describe(tool)

    def describe(self, tool: Found) -> Found:
        outcome = self._run("descriptions", DESCRIBE[self.language], {"path": tool.path})
        return Found(tool.path, str((outcome.value or {}).get("signature", "")), tool.has_all)

    def attempt(self, *codes: str, **parts: Any) -> Outcome:
        """One after the other until one does not fail."""
        outcome = Outcome("nothing was tried", failed=True)
        for code in codes:
            outcome = self.run(code, **parts)
            if not outcome.failed:
                return outcome
        raise Unsolved(outcome.text[:500])


def _paused(outcome: Outcome) -> str | None:
    match = _EXECUTION.search(outcome.text) if outcome.text.startswith("Paused") and not outcome.failed else None
    return match[1] if match else None


def _pick(answer: Any, searched: Wanted) -> Found | None:
    listed = json.dumps(answer)
    for item in answer["items"]:
        path = item["path"]
        if searched.recognizes(path):
            return Found(path, item.get("signature") or "", item.get("all") is True or f'"{path}.all"' in listed)
    return None


def suggested_limit(offer: str) -> int:
    """Agents copy what the example of a look-up shows."""
    shown = re.search(r"limit: (\d+)", offer)
    return int(shown[1]) if shown else FEW


def offer_of(client: Mcp) -> str:
    """What a model has read before it does anything."""
    about = {"name": "executor-evaluation", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
    greeted = decode(*client.send("initialize", hello))
    listed = decode(*client.send("tools/list", {}))
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in listed["tools"]]
    return json.dumps(shown, ensure_ascii=False) + str(greeted.get("instructions") or "")
