"""From a document's operations to tools. What can't become one is named with its reason, and the rest continues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from executor.dataclass import dataclass
from executor.errors import DocumentInvalid, EgressRefused
from executor.model.tool import Effect, Skipped, Tool
from executor.sources.openapi.calls import streams
from executor.sources.openapi.documents import swagger
from executor.sources.openapi.documents.document import Document, UnresolvedRef, key_text
from executor.sources.openapi.pagination import all_tool
from executor.sources.openapi.pagination import scheme as pages
from executor.sources.openapi.storage_format import CredentialBinding, OpenApiBinding
from executor.sources.openapi.tools import responses as answers
from executor.sources.openapi.tools import security, tool_names
from executor.sources.openapi.tools.credential_parameters import (
    USABLE,
    form_without_credentials,
    needed_parameters,
    without_credentials,
)
from executor.sources.openapi.tools.descriptions import description
from executor.sources.openapi.tools.parameters import (
    Parameter,
    Place,
    Unusable,
    collect,
    name_arguments,
    places_of,
    shared_parameters,
)
from executor.sources.openapi.tools.request_body import Body, body_of, is_empty
from executor.sources.openapi.tools.schemas import Schemas
from executor.sources.openapi.tools.servers import base_url, fixed_query
from executor.sources.openapi.tools.tool_schemas import (
    body_binding,
    flat_fields,
    input_schema,
    order_fields,
    output_schema,
    whole_argument,
)

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
TEXTS = ("operationId", "summary", "description")
READS = frozenset({"get", "head", "options", "query"})
_METHOD = re.compile(r"[A-Za-z][A-Za-z-]{0,30}\Z")
NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    raw: dict[str, Any]
    item: dict[str, Any]

    @property
    def where(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def tags(self) -> tuple[str, ...]:
        tags = self.raw.get("tags")
        return tuple(key_text(tag) for tag in tags) if isinstance(tags, list) else ()

    @property
    def name_parts(self) -> tool_names.NameParts:
        operation_id = self.raw.get("operationId")
        text = key_text(operation_id) if operation_id is not None else ""
        return tool_names.NameParts(self.method, self.path, self.tags, text)


class Reader:
    """Reads every operation of one document."""

    def __init__(
        self,
        document: Document,
        *,
        namespace: str,
        location: str,
        given_base_url: str,
        server: str = "",
        query: str = "",
        options: Mapping[str, Any] = NOTHING,
        known: Mapping[str, str] = NOTHING,
        fixed: Iterable[str] = (),
    ) -> None:
        self.document = document
        self.schemas = Schemas(document)
        self.schemes = security.schemes(document)
        self.skipped: list[Skipped] = []
        self._namespace = namespace
        self._location = location
        self._given_base_url = given_base_url
        self._base_url = server
        self._query = query
        self._options = options
        self._known = known
        self._shared: frozenset[Place] = frozenset()
        self._fixed = frozenset(name.lower() for name in fixed)

    def tools(self) -> list[Tool]:
        operations = list(self._operations())
        held = tool_names.kept_names(self._known, self._namespace)
        paths = tool_names.names_of([operation.name_parts for operation in operations], self._namespace, held)
        self._shared = self._shared_by(operations)
        found: list[Tool] = []
        for operation, path in zip(operations, paths, strict=True):
            self.document.visits.begin()
            try:
                found.extend(self._tools(operation, f"{self._namespace}.{path}"))
            except (Unusable, UnresolvedRef, DocumentInvalid, EgressRefused) as error:
                self.skipped.append(Skipped(operation.where, str(error)))
            except RecursionError:
                self.skipped.append(Skipped(operation.where, "it is nested too deeply"))
        self.skipped.extend(self.schemas.problems.values())
        return found

    def _operations(self) -> Iterator[Operation]:
        paths = self.document.root.get("paths")
        for key, raw in paths.items() if isinstance(paths, dict) else ():
            path = key_text(key)
            if path.startswith("x-"):
                continue
            try:
                item = self._item(raw)
            except UnresolvedRef as error:
                self.skipped.append(Skipped(path, str(error)))
                continue
            if not isinstance(item, dict):
                self.skipped.append(Skipped(path, "it is not an object"))
                continue
            yield from self._of_item(path, item)

    def _item(self, raw: Any) -> Any:
        """A path item may refer to another and add to it; what is beside the reference wins."""
        item = self.document.follow(raw)
        if item is raw or not isinstance(item, dict):
            return item
        self.document.visits.spend(len(item) + len(raw))
        return {**item, **{key: part for key, part in raw.items() if key != "$ref"}}

    def _of_item(self, path: str, item: dict[str, Any]) -> Iterator[Operation]:
        self.document.visits.spend(len(item))
        more = item.get("additionalOperations")
        named = {key_text(key): one for key, one in more.items()} if isinstance(more, dict) else {}
        listed = {key_text(key).lower(): one for key, one in item.items() if key_text(key).lower() in METHODS}
        for method, raw in [*((method, listed[method]) for method in METHODS if method in listed), *named.items()]:
            where = f"{method.upper()} {path}"
            try:
                raw = self.document.follow(raw)
            except UnresolvedRef as error:
                self.skipped.append(Skipped(where, str(error)))
                continue
            if not isinstance(raw, dict):
                self.skipped.append(Skipped(where, "it is not an object"))
            elif not _METHOD.match(method) or method.upper() == "CONNECT":
                self.skipped.append(Skipped(where[:200], "its method can't be sent"))
            else:
                yield Operation(method, path, self._with_texts(raw), item)

    def _with_texts(self, raw: dict[str, Any]) -> dict[str, Any]:
        """With the texts that it only refers to, without those that lead nowhere or to no text."""
        linked = [key for key in TEXTS if isinstance(raw.get(key), dict)]
        if not linked:
            return raw
        raw = {**raw}
        for key in linked:
            with suppress(UnresolvedRef):
                raw[key] = self.document.follow(raw[key])
            if not isinstance(raw[key], str):
                del raw[key]
        return raw

    def _tools(self, operation: Operation, path: str) -> Iterator[Tool]:
        raw = operation.raw
        check_path(operation.path)
        if self.document.is_swagger:
            raw = swagger.operation(self.document, operation.item, raw)
            parameters = collect(self.document, operation.path, raw["parameters"])
        else:
            parameters = collect(self.document, operation.path, operation.item.get("parameters"), raw.get("parameters"))
        responses = answers.successes(self.document, raw)
        parameters, credentials = without_credentials(self._open(operation, parameters), self.schemes)
        parameters = streams.resumable(name_arguments(parameters) if credentials else parameters, responses)
        body = body_of(self.document, raw)
        if operation.method in ("get", "head") and is_empty(body):
            body = None
        body, hidden = form_without_credentials(body, self.schemes)
        tool = self._tool(operation, raw, path, parameters, body, responses, [*credentials, *hidden])
        yield tool
        if operation.method in ("get", "query", "post"):
            fields = all_tool.body_fields(parameters, body) if operation.method != "get" else []
            is_read = operation.method in READS
            paging = pages.pages_of(self.document, responses, parameters, operation.path, fields, is_read=is_read)
            companion = all_tool.all_tool(self.schemas, tool, paging, responses) if paging else None
            if companion is not None:
                yield companion

    def _open(self, operation: Operation, parameters: list[Parameter]) -> list[Parameter]:
        """Without the headers that go with every request of the source: what arguments said of them would not count."""
        if not self._fixed or self._server(operation):
            return parameters
        return [one for one in parameters if one.place != "header" or one.name.lower() not in self._fixed]

    def _tool(
        self,
        operation: Operation,
        raw: dict[str, Any],
        path: str,
        parameters: list[Parameter],
        body: Body | None,
        responses: dict[str, dict[str, Any]],
        credentials: list[CredentialBinding],
    ) -> Tool:
        key = next((one for one in parameters if one.place == "header" and one.name.lower() == "idempotency-key"), None)
        flat, whole = flat_fields(parameters, body), whole_argument(parameters, body)
        common = self._shared | places_of(self.document, operation.item.get("parameters"))
        last = [one.argument for one in parameters if (one.place, one.name) in common]
        shown = order_fields(input_schema(self.schemas, parameters, body, flat, whole), flat, [*last, whole])
        binding: OpenApiBinding = {
            "operation": operation.where,
            "method": operation.method.upper(),
            "path": self._path(operation),
            "server": self._server(operation) or self._base_url,
            "parameters": [parameter.binding() for parameter in parameters],
            "body": body_binding(self.schemas, body, flat, whole),
            "answers": {status: answers.promise(self.document, one) for status, one in responses.items()},
            "idempotencyArgument": key.argument if key else "",
            "security": self._security(raw, credentials),
        }
        if accept := answers.accept_header(responses):
            binding["accept"] = accept
        if credentials:
            binding["credentials"] = credentials
        return Tool(
            path=path,
            source_id="",
            description=description(raw, operation.where),
            effect=effect(operation.method),
            input_schema=shown,
            output_schema=output_schema(self.schemas, responses, operation.method),
            binding=cast("dict[str, Any]", binding),
            tags=operation.tags[:8],
            deprecated=raw.get("deprecated") is True,
            idempotent=key is not None,
        )

    def _shared_by(self, operations: list[Operation]) -> frozenset[Place]:
        self.document.visits.begin()
        lists = ((one.item.get("parameters"), one.raw.get("parameters")) for one in operations)
        return shared_parameters(self.document, lists)

    def _security(self, raw: dict[str, Any], credentials: list[CredentialBinding]) -> list[dict[str, list[str]]]:
        """A credential that the document only names as a required parameter is needed as well (see `undeclared`)."""
        declared = security.required_schemes(raw, self.document.root)
        if declared or any(scheme["type"] in USABLE for scheme in self.schemes):
            return declared
        return [{one["name"]: [] for one in needed}] if (needed := needed_parameters(credentials)) else []

    def _path(self, operation: Operation) -> str:
        """With the query of its server, so that nothing of it is lost."""
        query = fixed_query(**own) if (own := self._own_server(operation)) else self._query
        if not query:
            return operation.path
        path, _, fragment = operation.path.partition("#")
        return f"{path}{'&' if '?' in path else '?'}{query}" + (f"#{fragment}" if fragment else "")

    def _server(self, operation: Operation) -> str:
        """Empty unless the operation has servers of its own."""
        own = self._own_server(operation)
        return base_url(**own) if own else ""

    def _own_server(self, operation: Operation) -> dict[str, Any]:
        servers = operation.raw.get("servers") or operation.item.get("servers")
        if not servers or self._given_base_url or self.document.is_swagger:
            return {}
        variables = self._options.get("variables")
        location = self._location if "://" in self._location else self._base_url
        return {"servers": servers, "given": "", "location": location, "options": {"variables": variables}}


def effect(method: str) -> Effect:
    method = method.lower()
    if method in READS:
        return "read"
    return "destructive" if method in ("delete", "purge") else "write"


def check_path(path: str) -> None:
    if "." not in path and "%" not in path and "://" not in path:
        return
    if "://" in path.partition("?")[0].partition("{")[0]:
        raise Unusable("its path is a whole address")
    segments = re.split(r"[/?#]", re.sub(r"%2e", ".", path, flags=re.IGNORECASE))
    if "." in segments or ".." in segments:
        raise Unusable("its path contains `.` or `..` segments")
