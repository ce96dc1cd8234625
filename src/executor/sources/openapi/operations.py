"""From a document's operations to tools. What can't become one is named with its reason, and the rest goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from executor.errors import DocumentInvalid, EgressRefused
from executor.model.tool import Effect, Schema, Skipped, Tool
from executor.sources.openapi import answers, names
from executor.sources.openapi.bodies import Body, body_of
from executor.sources.openapi.document import Document, UnresolvedRef, key_text
from executor.sources.openapi.parameters import Parameter, Unusable, collect, described
from executor.sources.openapi.schemas import Schemas
from executor.sources.openapi.servers import base_url

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
READS = frozenset({"get", "head", "options", "query"})
MAX_DESCRIPTION = 2_000
_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


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
    def wanted_name(self) -> str:
        group = names.group_name(self.tags, self.path)
        operation_id = self.raw.get("operationId")
        text = key_text(operation_id) if operation_id is not None else ""
        return f"{group}.{names.operation_name(text, self.method, self.path, self.tags[0] if self.tags else '')}"


class Reader:
    """Reads every operation of one document."""

    def __init__(self, document: Document, *, namespace: str, location: str, given_base_url: str) -> None:
        self.document = document
        self.schemas = Schemas(document)
        self.skipped: list[Skipped] = []
        self._namespace = namespace
        self._location = location
        self._given_base_url = given_base_url

    def tools(self) -> list[Tool]:
        operations = list(self._operations())
        paths = names.unique([(operation.wanted_name, operation.where) for operation in operations])
        found = []
        for operation, path in zip(operations, paths, strict=True):
            self.document.visits.begin()
            try:
                found.append(self._tool(operation, f"{self._namespace}.{path}"))
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
                item = self.document.follow(raw)
            except UnresolvedRef as error:
                self.skipped.append(Skipped(path, str(error)))
                continue
            if not isinstance(item, dict):
                self.skipped.append(Skipped(path, "it is not an object"))
                continue
            yield from self._of_item(path, item)

    def _of_item(self, path: str, item: dict[str, Any]) -> Iterator[Operation]:
        for method in METHODS:
            if method not in item:
                continue
            try:
                raw = self.document.follow(item[method])
            except UnresolvedRef as error:
                self.skipped.append(Skipped(f"{method.upper()} {path}", str(error)))
                continue
            if not isinstance(raw, dict):
                self.skipped.append(Skipped(f"{method.upper()} {path}", "it is not an object"))
            else:
                yield Operation(method, path, raw, item)

    def _tool(self, operation: Operation, path: str) -> Tool:
        raw = operation.raw
        check_path(operation.path)
        parameters = collect(self.document, operation.path, operation.item.get("parameters"), raw.get("parameters"))
        body = body_of(self.document, raw, operation.method)
        responses = answers.successes(self.document, raw)
        key = next((one for one in parameters if one.place == "header" and one.name.lower() == "idempotency-key"), None)
        flat = flat_fields(parameters, body)
        return Tool(
            path=path,
            source_id="",
            description=description(raw, operation.where),
            effect=effect(operation.method),
            input_schema=self._input_schema(parameters, body, flat),
            output_schema=self._output_schema(responses),
            binding={
                "method": operation.method.upper(),
                "path": operation.path,
                "server": self._server(operation),
                "parameters": [parameter.binding() for parameter in parameters],
                "body": self._body_binding(body, flat),
                "answers": {status: answers.promise(self.document, one) for status, one in responses.items()},
                "idempotencyArgument": key.argument if key else "",
            },
            tags=operation.tags[:8],
            deprecated=raw.get("deprecated") is True,
            idempotent=key is not None,
        )

    def _server(self, operation: Operation) -> str:
        """Empty unless the operation has servers of its own."""
        servers = operation.raw.get("servers") or operation.item.get("servers")
        if not servers or self._given_base_url:
            return ""
        return base_url(servers, given="", location=self._location)

    def _input_schema(self, parameters: list[Parameter], body: Body | None, flat: list[str]) -> Schema:
        properties: dict[str, Schema] = {}
        required = []
        for parameter in parameters:
            properties[parameter.argument] = described(self.schemas.convert(parameter.schema), parameter.description)
            if parameter.required and parameter.name.lower() != "idempotency-key":
                required.append(parameter.argument)
        is_open = False
        if body is not None:
            whole = self.schemas.convert(body.schema)
            properties |= {name: self.schemas.convert(field_of(body, name)) for name in flat}
            is_flat = body.fields is not None
            properties.setdefault("body", described(whole, WHOLE_BODY) if is_flat else whole)
            if body.fields is not None:
                is_open = body.fields.open
                required += [name for name in flat if name in body.fields.required and body.required]
                if body.required and body.fields.required - set(flat):
                    required.append("body")
            elif body.required:
                required.append("body")
        schema: Schema = {"type": "object", "properties": properties, "additionalProperties": is_open}
        return {**schema, "required": required} if required else schema

    def _body_binding(self, body: Body | None, flat: list[str]) -> dict[str, Any] | None:
        if body is None:
            return None
        return {
            "mediaType": body.media_type,
            "required": body.required,
            "schema": self.schemas.convert(body.schema),
            "object": body.fields is not None,
            "open": body.fields is not None and body.fields.open,
            "flat": flat,
        }

    def _output_schema(self, responses: dict[str, dict[str, Any]]) -> Schema | None:
        found: list[Schema] = []
        for response in responses.values():
            form, schema = answers.content_schema(response)
            if form == "json" and schema is None:
                return None
            converted = {"json": self.schemas.convert(schema), "text": {"type": "string"}, "empty": {"type": "null"}}
            one = converted.get(form)
            if one is None:
                return None
            if one not in found:
                found.append(one)
        if not found:
            return None
        return found[0] if len(found) == 1 else {"anyOf": found}


WHOLE_BODY = "The whole request body; fields may stand beside it instead"


def flat_fields(parameters: list[Parameter], body: Body | None) -> list[str]:
    """Body fields that are arguments of their own: all but those whose name a parameter has.

    A field called `body` is one only if it can't be an object: an object under `body` is always the whole body.
    """
    if body is None or body.fields is None:
        return []
    taken = {parameter.argument for parameter in parameters}
    return [
        name
        for name, schema in body.fields.properties.items()
        if name not in taken and (name != "body" or never_object(schema))
    ]


def never_object(schema: Any) -> bool:
    types = schema.get("type") if isinstance(schema, dict) else None
    named = types if isinstance(types, list) else [types]
    return types is not None and "object" not in named


def field_of(body: Body, name: str) -> Any:
    assert body.fields is not None  # noqa: S101 - only flat bodies have fields
    return body.fields.properties[name]


def effect(method: str) -> Effect:
    if method in READS:
        return "read"
    return "destructive" if method == "delete" else "write"


def check_path(path: str) -> None:
    if not path.startswith("/"):
        raise Unusable("its path does not start with `/`")
    segments = re.split(r"[/?#]", re.sub(r"%2e", ".", path, flags=re.IGNORECASE))
    if "." in segments or ".." in segments:
        raise Unusable("its path contains `.` or `..` segments")


def description(raw: dict[str, Any], where: str) -> str:
    """Summary, then description. What a document says is text for readers, so it is kept printable and bounded."""
    parts = [raw[key].strip() for key in ("summary", "description") if isinstance(raw.get(key), str)]
    text = "\n\n".join(dict.fromkeys(part for part in parts if part)) or where
    return _UNPRINTABLE.sub(" ", text)[:MAX_DESCRIPTION]
