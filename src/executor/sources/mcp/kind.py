"""The `mcp` kind: tools listed by a server that speaks the Model Context Protocol, called over a session kept open."""

from __future__ import annotations

import asyncio
import importlib
import json
import ssl
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from executor.dataclass import dataclass
from executor.errors import ExecutorError, SourceError, SourceUnreachable, ToolError
from executor.model.credentials import Credential
from executor.model.source import Loaded, Source
from executor.model.tool import Schema, Tool
from executor.network.addresses import parse
from executor.network.client import ANSWER_BYTES, Egress
from executor.network.private_access import PUBLIC, Reach
from executor.sources.documents.threads import Loading
from executor.sources.kind import Probe, configured_destination
from executor.sources.lifecycle import address_grants
from executor.sources.lifecycle.consent import check_consent
from executor.sources.mcp import detection, input_rounds, requests, tasks
from executor.sources.mcp.sessions.change_notices import Changes
from executor.sources.mcp.sessions.session import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from executor.sources.mcp.sessions.session_pool import SessionPool
from executor.sources.mcp.storage_format import binding_of, config_of, endpoint_of
from executor.sources.mcp.tools import results, tool_names
from executor.sources.mcp.tools.loader import build_catalog, load_unlisted
from executor.sources.mcp.tools.tool_list import Listed, list_all, list_tools
from executor.sources.mcp.transports import endpoint as endpoints
from executor.sources.mcp.transports.endpoint import Endpoint
from executor.sources.rate_limits import RETRIES
from executor.sources.source_request import Consent, Previous, SourceRequest, as_it_came

MAX_LINKS = 500
RESOURCE_NOT_FOUND = -32002
GONE = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND})


@dataclass(frozen=True, slots=True)
class Limits:
    call_seconds: float = 60.0  # without news of it
    total_seconds: float = 1800.0
    list_seconds: float = 30.0
    open_seconds: float = 20.0
    start_seconds: float = 120.0  # a command may first download what it runs
    idle_seconds: float = 300.0
    answer_bytes: int = ANSWER_BYTES


class Mcp:
    """`on_changed` is called with a source's id, on the event loop, when its tools seem to be others now."""

    name = "mcp"
    destination = staticmethod(configured_destination)
    calls_stand_alone = True

    def __init__(
        self,
        egress: Egress,
        state_dir: Path | None = None,
        on_changed: Callable[[str], None] | None = None,
        seconds: tuple[float, float] = (60.0, 1800.0),
        review: str = "writes",
        *,
        limits: Limits | None = None,
    ) -> None:
        self.review = review
        self._egress = egress
        self._state_dir = state_dir
        self._limits = limits or Limits(*seconds)
        self._links: dict[tuple[str, str], SessionPool] = {}
        self._unclaimed: dict[str, SessionPool] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._changes = Changes(on_changed)
        self._loading = Loading()
        self._ssl: ssl.SSLContext | None = None

    @property
    def on_changed(self) -> Callable[[str], None] | None:
        return self._changes.hook

    @on_changed.setter
    def on_changed(self, hook: Callable[[str], None] | None) -> None:
        self._changes.hook = hook

    async def probe(self, request: SourceRequest) -> Probe | None:
        """A command is never started here, only named."""
        if request.command:
            line = endpoints.command_line(request.command)
            return Probe("mcp", line, name=tool_names.telling_word(request.command), transport="stdio",
                         namespace=tool_names.namespace_from("", "", request.command))  # fmt: skip
        if not request.location.startswith(("http://", "https://")):
            return None
        return await detection.probe(await address_grants.grant_addresses(request), self._reach)

    async def load(self, request: SourceRequest) -> Loaded:
        """Raises SourceUnreachable, DocumentInvalid or EgressRefused; ConsentRequired if no one agreed to a command."""
        endpoint = await self._endpoint(request)
        opened = endpoints.with_credential(endpoint, request.context.credential)
        link = self._link_to_load(request, endpoint, opened)
        request.context.progress(f"connecting to {endpoint.display_name}")
        try:
            connection = await link.connect(now=True)
            listed = await list_all(
                lambda method, params: link.request(method, params, self._limits.list_seconds),
                endpoint.display_name,
                connection.features,
                request.context.progress,
            )
        except SourceError as error:
            if request.is_new:
                self._unclaimed.pop(opened.digest, None)
                await link.close()
            raise with_last_words(error) from error
        server = connection.server
        if request.context.redact is not as_it_came:
            said = json.dumps([server, asdict(listed)], ensure_ascii=False).encode("utf-8", "replace")
            server, rest = json.loads(request.context.redact(said))
            listed = Listed(**{**rest, "skipped": listed.skipped})
        return await self._loading.run(lambda stopped: build_catalog(request, endpoint, server, listed))

    async def pending(self, request: SourceRequest, error: SourceError) -> Loaded | None:
        """A server that wants a credential first is connected without tools: they come once it has one."""
        if request.command:
            return None
        request = await address_grants.grant_addresses(request)
        found = await detection.look(request, self._reach) if "transport" not in request.options else None
        transport = found.endpoint.transport if found is not None else request.options.get("transport", "http")
        url = found.endpoint.url if found is not None else request.location
        origins = await address_grants.settle_grants(request, url, anywhere=self._egress.allow_private)
        endpoint = replace(detection.endpoint_at(request, url, transport), origins=tuple(origins))
        return load_unlisted(request, endpoint, error)

    def reload_request(self, source: Source) -> SourceRequest:
        config = config_of(source)
        return SourceRequest(
            kind=self.name,
            location=config["location"],
            command=tuple(config["command"]),
            namespace=source.namespace,
            name=source.name,
            headers=tuple((name, value) for name, value in config["headers"]),
            options={
                "transport": config["transport"],
                "env": dict(config["environment"]),
                "cwd": config["directory"],
                **config.get("seconds", {}),
            },
            consented=Consent(
                private_network=config["allow_private"], runs_code=True, granted=tuple(config["origins"])
            ),
            previous=Previous(source_id=source.id),
        )

    def strict_schema(self, tool: Tool) -> Schema:
        return tool.input_schema

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    async def invoke(
        self,
        source: Source,
        tool: Tool,
        arguments: dict[str, Any],
        idempotency_key: str,
        *,
        credential: Credential | None = None,
    ) -> str:
        """The protocol has no idempotency keys: a call that may have arrived is never sent again."""
        link = self._link_of(source, credential)
        method, params = requests.request_of(tool, arguments)
        try:
            result = await self._call_when_allowed(link, source, tool, method, params)
        except RpcError as error:
            if error.code in GONE and await self._has_vanished(link, source, tool):
                raise results.vanished_error(tool) from error
            raise results.rpc_failed(tool, error.code, error.message, error.data) from error
        except SourceError as error:
            raise results.transport_error(tool, error) from error
        try:
            return requests.answer_of(tool, result)
        except ToolError as error:
            if speaks_of_no_tool(error, tool) and await self._has_vanished(link, source, tool):
                raise results.vanished_error(tool) from error
            raise

    async def outline(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        endpoint = endpoint_of(source)
        where = f"to {endpoint.display_name}" if endpoint.command else f"POST {endpoint.display_name}"
        return f"{where} {requests.outline_of(tool, arguments)}"

    async def forget(self, source: Source) -> None:
        """Close what was kept open for a source that is gone, also if nothing was ever called over it."""
        links = [self._links.pop(key) for key in list(self._links) if key[0] == source.id]
        unclaimed = self._unclaimed.pop(endpoint_of(source).digest, None)
        self._changes.forget(source.id)
        for link in (*links, *([unclaimed] if unclaimed is not None else ())):
            await link.close()

    async def close(self) -> None:
        links = [*self._links.values(), *self._unclaimed.values()]
        self._links, self._unclaimed = {}, {}
        self._changes.close()
        await asyncio.gather(*(link.close() for link in links), *self._closing)

    async def _call_when_allowed(
        self, link: SessionPool, source: Source, tool: Tool, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        while True:
            try:
                return await input_rounds.call(tool.path, partial(self._call, link, source, tool, method), params)
            except SourceError as error:
                details, retries = error.details, RETRIES.get()
                if details.get("reason") != "limited" or retries is None or tool.effect != "read":
                    raise
                if not await retries.wait(source.id, details["upstream_status"], details["retry_after"]):
                    raise

    async def _call(
        self, link: SessionPool, source: Source, tool: Tool, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        own = config_of(source).get("seconds", {})
        seconds = own.get("callSeconds", self._limits.call_seconds)
        total = own.get("totalSeconds", self._limits.total_seconds)
        if "task" in tool.binding:
            params = tasks.request_task(params, total)
        result = await self._send(link, method, params, seconds, total)
        if (task := tasks.task_in(result)) is None:
            return result

        async def ask(method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
            return await link.request(method, params, seconds, seconds)

        return await tasks.TaskFollower(tool.path, ask, total).finish(task)

    async def _send(
        self, link: SessionPool, method: str, params: dict[str, Any], seconds: float, total: float
    ) -> dict[str, Any]:
        try:
            return await link.request(method, params, seconds, total)
        except RpcError as error:
            if error.code != HEADER_MISMATCH:
                raise
        # Refused before it was carried out, because this session has not seen the tool's schema.
        await (await link.connect()).relist(self._limits.list_seconds)
        return await link.request(method, params, seconds, total)

    async def _has_vanished(self, link: SessionPool, source: Source, tool: Tool) -> bool:
        """Servers refuse an unknown tool in many ways; what they list is certain. What is not in their list of tools is
        looked for when the source is refreshed."""
        if not requests.is_known_tool(tool):
            if "uri" in binding_of(tool):
                self._changes.notify(source.id)
            return False
        try:
            listed = await list_tools(
                lambda method, params: link.request(method, params, self._limits.list_seconds), "", lambda text: None
            )
        except ExecutorError:
            return False
        gone = all(not isinstance(one, dict) or one.get("name") != binding_of(tool)["operation"] for one in listed)
        if gone:
            self._changes.notify(source.id)
        return gone

    async def _endpoint(self, request: SourceRequest) -> Endpoint:
        if request.command:
            check_consent(self, request)
            return endpoints.of_command(request.command, request.options)
        if not request.location:
            raise SourceUnreachable(
                "an address or a command is required",
                hint="pass a URL or a command",
                reason="location",
            )
        parse(request.location)
        request = await address_grants.grant_addresses(request)
        endpoint = await detection.find(request, self._reach)
        origins = await address_grants.settle_grants(request, endpoint.url, anywhere=self._egress.allow_private)
        return replace(endpoint, origins=tuple(origins))

    def _link_to_load(self, request: SourceRequest, endpoint: Endpoint, opened: Endpoint) -> SessionPool:
        """A source is refreshed over the session it has: what a server lists may depend on that.

        A new source's connection waits, unclaimed, for its first call: then the source has an id. `opened` is the
        endpoint with its credential.
        """
        if request.previous is not None and request.previous.source_id:
            return self._link_to(request.previous.source_id, endpoint, request.context.credential)
        link = self._unclaimed.get(opened.digest)
        if link is None:
            link = self._unclaimed[opened.digest] = self._new_link(opened)
        return link

    def _link_of(self, source: Source, credential: Credential | None = None) -> SessionPool:
        return self._link_to(source.id, endpoint_of(source), credential)

    def _link_to(self, source_id: str, endpoint: Endpoint, credential: Credential | None) -> SessionPool:
        """Sessions are never shared between sources or credentials: what one did in it is no other's business."""
        key = source_id, credential.digest if credential is not None else ""
        endpoint = endpoints.with_credential(endpoint, credential)
        link = self._links.pop(key, None)
        if link is not None and link.endpoint == endpoint:
            self._links[key] = link
            return link
        if link is not None:
            self._close_later(link)
        while len(self._links) >= MAX_LINKS:
            self._close_later(self._links.pop(next(iter(self._links))))
        unclaimed = self._unclaimed.pop(endpoint.digest) if endpoint.digest in self._unclaimed else None
        link = self._links[key] = unclaimed or self._new_link(endpoint)
        link.watch(lambda: self._changes.notify(source_id))
        return link

    def _close_later(self, link: SessionPool) -> None:
        task = asyncio.create_task(link.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _new_link(self, endpoint: Endpoint) -> SessionPool:
        """Requests by HTTP share the connections with those of other sources; each command has a share of its own."""
        hold = None if endpoint.command else partial(self._egress.slots.hold, parse(endpoint.url).origin)
        return SessionPool(endpoint, self._dial, self._limits.idle_seconds, hold)

    async def _dial(self, endpoint: Endpoint, on_changed: Callable[[], None]) -> Any:
        """The SDK takes a second to import, so a thread imports it for the first connection."""
        module = await asyncio.to_thread(importlib.import_module, "executor.sources.mcp.sessions.session")
        is_stdio = endpoint.transport == "stdio"
        if endpoint.url.startswith("https:") and self._ssl is None:
            self._ssl = await asyncio.to_thread(ssl.create_default_context)
        terms = module.Terms(
            reach=PUBLIC if is_stdio else self._reach(endpoint.url, endpoint.origins),
            limit=self._limits.answer_bytes,
            open_seconds=self._limits.start_seconds if is_stdio else self._limits.open_seconds,
            log_file=self._log_file(endpoint) if is_stdio else None,
            ssl_context=self._ssl,
        )
        connection = module.McpSession(endpoint, terms, on_changed)
        try:
            await connection.open()
        except SourceUnreachable as error:
            error.details["last_words"] = connection.last_words
            raise
        return connection

    def _reach(self, url: str, origins: tuple[str, ...]) -> Reach:
        return self._egress.reach(parse(url), frozenset(origins))

    def _log_file(self, endpoint: Endpoint) -> Path | None:
        if self._state_dir is None:
            return None
        word = tool_names.identifier(tool_names.telling_word(endpoint.command) or "command")
        return self._state_dir / "mcp" / f"{word}-{endpoint.place[:12]}.log"


def with_last_words(error: SourceError) -> SourceError:
    """An operator who adds a command wants to know what it complained about; code that calls a tool need not."""
    details = dict(error.details)
    last_words = details.pop("last_words", "")
    hint = f"{error.hint}; its last output: {last_words}" if last_words else error.hint
    return type(error)(error.message, hint=hint, **details)


def speaks_of_no_tool(error: ToolError, tool: Tool) -> bool:
    said = error.message.lower()
    about_tool = binding_of(tool)["operation"].lower() in said or "tool" in said.removeprefix(tool.path.lower())
    return (
        error.tool_code == "upstream_error"
        and about_tool
        and any(word in said for word in ("unknown", "not found", "no such", "does not exist", "disabled"))
    )
