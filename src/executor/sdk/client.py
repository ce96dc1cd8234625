"""What both clients can do. Each method is a flow: `Executor` blocks, `AsyncExecutor` awaits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Literal
from uuid import uuid4

from executor.errors import Conflict
from executor.sdk.exchange import RECONNECT_SECONDS, Event, Exchange
from executor.sdk.execution import (
    Answer,
    Approve,
    Decision,
    Deny,
    Execution,
    Interaction,
    OnInteraction,
    Options,
    Priority,
    Typecheck,
)
from executor.sdk.flow import Ask, Driver, Emissions, Flow, K, Method, Part, Request, Stream
from executor.sdk.location import Location, check_visible
from executor.sdk.message import segment
from executor.sdk.resources.artifacts import Artifacts
from executor.sdk.resources.connections import Connections
from executor.sdk.resources.executions import Executions
from executor.sdk.resources.interactions import Interactions
from executor.sdk.resources.policies import Policies
from executor.sdk.resources.secrets import Secrets
from executor.sdk.resources.sessions import Sessions
from executor.sdk.resources.sources import Sources
from executor.sdk.resources.toolkits import Toolkits
from executor.sdk.tools import Tool

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from executor.model.tool import Effect
    from executor.sdk.host import Host
    from executor.settings import Settings
    from executor.surfaces.views.catalog.tools import ToolMatches
    from executor.surfaces.views.events import EventView

SLICE_SECONDS = 30.0  # of one request: proxies between here and the daemon give up on longer ones
SLACK_SECONDS = 60.0


class Client(Part[K], Generic[K]):
    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        workspace: str | None = None,
        reconnect_seconds: float = RECONNECT_SECONDS,
        on_interaction: OnInteraction | None = None,
        start: bool = False,
    ) -> None:
        """Without `url`, the daemon of this machine; `start` starts it if none is running. A daemon that has answered
        and restarts is waited for, for `reconnect_seconds`. `on_interaction` decides where no other one is given."""
        location = Location(url, token, workspace, start=start)
        self._set_up(self._connect(location), Exchange(reconnect_seconds), on_interaction, None)

    @classmethod
    def embedded(
        cls,
        data_dir: str | Path | None = None,
        *,
        settings: Settings | None = None,
        on_interaction: OnInteraction | None = None,
    ) -> Self:
        """Everything in this process, without a daemon: with a database in `data_dir`, or in memory until it is closed.

        `settings` are used instead of those of the environment and the configuration file.
        """
        from executor.sdk.host import open_host

        created = cls.__new__(cls)
        host = open_host(data_dir, settings)
        created._set_up(created._attach(host), Exchange(0), on_interaction, host)
        return created

    def _connect(self, location: Location) -> Driver:
        raise NotImplementedError

    def _attach(self, host: Host) -> Driver:
        raise NotImplementedError

    def _set_up(
        self, driver: Driver, exchange: Exchange, on_interaction: OnInteraction | None, host: Host | None
    ) -> None:
        self._driver = driver
        self._exchange = exchange
        self._on_interaction = on_interaction
        self._host = host
        self.executions: Executions[K] = Executions(self)
        self.interactions: Interactions[K] = Interactions(self)
        self.artifacts: Artifacts[K] = Artifacts(self)
        self.sources: Sources[K] = Sources(self)
        self.policies: Policies[K] = Policies(self)
        self.toolkits: Toolkits[K] = Toolkits(self)
        self.secrets: Secrets[K] = Secrets(self)
        self.connections: Connections[K] = Connections(self)
        self.sessions: Sessions[K] = Sessions(self)
        self.tools: Tool[K] = Tool(self)

    @Method
    def run(
        self,
        code: str,
        *,
        language: str | None = None,
        runtime: str | None = None,
        timeout: float | None = None,
        wait: float | None = None,
        typecheck: Typecheck | None = None,
        priority: Priority | None = None,
        idempotency_key: str | None = None,
        on_interaction: OnInteraction | None = None,
    ) -> Flow[Execution]:
        """Run code until it ends, or pauses because it needs a decision.

        `timeout` is how long it may be active, in seconds; the time that people take does not count. `wait` is how long
        to wait for it here; it continues without you. `on_interaction` decides about its interactions.
        """
        options = Options(language, runtime, timeout, typecheck, idempotency_key, priority)
        return (yield from self._run(code, options, wait, on_interaction))

    @Method
    def submit(
        self,
        code: str,
        *,
        language: str | None = None,
        runtime: str | None = None,
        timeout: float | None = None,
        typecheck: Typecheck | None = None,
        priority: Priority | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[Execution]:
        """Start running code, without waiting for it. `idempotency_key` finds the same execution again, also from
        another process; by default each call has its own, so that a broken connection starts nothing twice."""
        options = Options(language, runtime, timeout, typecheck, idempotency_key, priority)
        return (yield from self._submit(code, options, wait=0))

    @Method
    def wait(
        self,
        execution: Execution | str,
        *,
        timeout: float | None = None,
        on_interaction: OnInteraction | None = None,
    ) -> Flow[Execution]:
        """Wait until an execution has ended, needs another decision than before, or `timeout` seconds have passed.

        With `on_interaction`, pending interactions are decided.
        """
        ends_at = None if timeout is None else time.monotonic() + timeout
        callback = on_interaction or self._on_interaction
        known = execution if isinstance(execution, Execution) else (yield from self._show(execution, 0))
        if callback is not None:
            return (yield from self._settle((yield from self._show(known.id, 0)), ends_at, callback))
        pending = {one.id for one in known.interactions}
        while True:
            known = yield from self._resume(known.id, _slice(ends_at))
            is_new = known.status == "paused" and not {one.id for one in known.interactions} <= pending
            if known.is_final or is_new or not _slice(ends_at):
                return known

    @Stream
    def stream(self, execution: Execution | str, *, after: int = 0) -> Emissions[EventView]:
        """The events of an execution, from the first one on or `after` an id, until it has ended."""
        id = execution.id if isinstance(execution, Execution) else execution

        def has_ended() -> Flow[bool]:
            return (yield from self._show(id, 0)).is_final

        request = Request("GET", f"/v1/executions/{segment(id)}/events", {"after": after}, repeatable=True)
        if after and (yield from has_ended()) and not (yield from self._exchange.send(request))["items"]:
            return  # the daemon would first wait for more
        yield from self._exchange.follow(request, read_event, has_ended)

    @Stream
    def events(self, *, after: int | None = None) -> Emissions[EventView]:
        """All events of the workspace: new ones, or those `after` an id. It does not end."""
        query = {"live": True} if after is None else {"after": after}
        yield from self._exchange.follow(Request("GET", "/v1/events", query), read_event)

    @Method
    def discover(
        self, query: str = "", *, limit: int = 10, namespace: str | None = None, effect: Effect | None = None
    ) -> Flow[ToolMatches]:
        """Find tools by intent: app, verb and object. Without a query, the groups of tools."""
        asked = {"query": query, "limit": limit, "namespace": namespace, "effect": effect}
        found: ToolMatches = yield from self._exchange.send(Request("GET", "/v1/tools/search", asked, repeatable=True))
        return found

    @Method
    def describe(
        self,
        path: str,
        *,
        language: Literal["typescript", "python"] = "python",
        include_schemas: bool = False,
    ) -> Flow[dict[str, Any]]:
        """One tool with its signature and an example."""
        asked = {"language": language, "includeSchemas": include_schemas}
        request = Request("GET", f"/v1/tools/{segment(path)}", asked, repeatable=True)
        described: dict[str, Any] = yield from self._exchange.send(request)
        return described

    @Method
    def status(self) -> Flow[dict[str, Any]]:
        """Versions, process, counts and sandbox of the daemon."""
        shown: dict[str, Any] = yield from self._exchange.send(Request("GET", "/v1/status", repeatable=True))
        return shown

    @Method
    def request(self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None) -> Flow[Any]:
        """Any other route of the API: `request("GET", "/v1/audit")`."""
        repeatable = method in ("GET", "HEAD")
        return (yield from self._exchange.send(Request(method, path, query or {}, body, repeatable=repeatable)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'embedded' if self._host else 'client'}>"

    # Flows that several methods share.
    def _run(
        self, code: str, options: Options, wait: float | None = None, on_interaction: OnInteraction | None = None
    ) -> Flow[Execution]:
        ends_at = None if wait is None else time.monotonic() + wait
        execution = yield from self._submit(code, options, wait=_slice(ends_at))
        return (yield from self._settle(execution, ends_at, on_interaction or self._on_interaction))

    def _submit(self, code: str, options: Options, *, wait: float) -> Flow[Execution]:
        timeout_ms = None if options.timeout is None else max(1, round(options.timeout * 1000))
        given = {
            "language": options.language,
            "runtime": options.runtime,
            "typecheck": options.typecheck,
            "priority": options.priority,
            "timeoutMs": timeout_ms,
        }
        body = {"code": code, "wait": wait, **{name: value for name, value in given.items() if value is not None}}
        headers = {"Idempotency-Key": check_visible(options.key or str(uuid4()), "the idempotency key")}
        return (yield from self._read("POST", "/v1/executions", body=body, headers=headers, wait=wait))

    def _show(self, id: str, wait: float) -> Flow[Execution]:
        return (yield from self._read("GET", f"/v1/executions/{segment(id)}", query={"wait": wait}, wait=wait))

    def _resume(self, id: str, wait: float) -> Flow[Execution]:
        return (yield from self._read("POST", f"/v1/executions/{segment(id)}/resume", body={"wait": wait}, wait=wait))

    def _read(self, method: str, path: str, *, wait: float, **parts: Any) -> Flow[Execution]:
        """None of these does more when it is sent twice."""
        request = Request(method, path, **parts, seconds=wait + SLACK_SECONDS, repeatable=True)
        return Execution.read((yield from self._exchange.send(request)), has_pages=self._host is None)

    def _settle(self, execution: Execution, ends_at: float | None, callback: OnInteraction | None) -> Flow[Execution]:
        """Until it has ended, no one here decides, or the time is up."""
        known: set[str] = set()
        while not execution.is_final:
            fresh: list[Interaction] = []
            if execution.status == "paused":
                if callback is None:
                    return execution
                fresh = [one for one in execution.interactions if one.id not in known]
                known.update(one.id for one in fresh)
                if not (yield from self._decide_all(fresh, callback)):
                    return (yield from self._show(execution.id, 0))
            left = _slice(ends_at)
            if not left:
                return execution
            wait_on = self._resume if execution.status == "paused" and not fresh else self._show
            execution = yield from wait_on(execution.id, left)
        return execution

    def _decide_all(self, fresh: list[Interaction], callback: OnInteraction) -> Flow[bool]:
        """False if one of them was left to someone else."""
        decided = True
        for interaction in fresh:
            decision: Decision = yield Ask(callback, interaction)
            if decision is None:
                decided = False
                continue
            with suppress(Conflict):  # someone was faster, or it has expired: the execution says what came of it
                yield from self._decide(interaction.id, decision)
        return decided

    def _decide(self, id: str, decision: Approve | Deny | Answer) -> Flow[Any]:
        match decision:
            case Approve(scope, result):
                action, body = "approve", {"scope": scope, **({} if result is ... else {"result": result})}
            case Deny(reason):
                action, body = "deny", {"reason": reason}
            case Answer(content):
                action, body = "answer", {"action": "accept", "content": content}
            case _:
                raise TypeError(f"{decision!r} is not a decision: return Approve(), Deny(), Answer() or None")
        return self._exchange.send(Request("POST", f"/v1/interactions/{segment(id)}/{action}", body=body))


def _slice(ends_at: float | None) -> float:
    """How long one request may wait; 0 if the time is up."""
    return SLICE_SECONDS if ends_at is None else max(0.0, min(SLICE_SECONDS, ends_at - time.monotonic()))


def read_event(event: Event) -> EventView:
    view: EventView = event.data
    return view
