"""A document and the way along its `$ref`s, into the other documents that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from executor.errors import DocumentInvalid
from executor.schemas.keywords import key_text
from executor.sources.openapi.documents.parser import GIVE_DOCUMENT, MAX_BYTES, describe_value, parse
from executor.sources.openapi.documents.walk_budget import Visits
from executor.sources.openapi.translations.formats import translate
from executor.sources.openapi.translations.unsupported import format_of

__all__ = ["GIVE_DOCUMENT", "MAX_BYTES", "Document", "UnresolvedRef", "beside", "key_text", "read", "version_of"]

MAX_HOPS = 20
NO_OTHERS: Mapping[str, Any] = {}
NO_REFUSALS: Mapping[str, str] = {}


# What says nothing about which values there may be.
REMARKS = frozenset(
    {
        "$ref", "description", "summary", "title", "default", "example", "examples", "deprecated", "readOnly",
        "writeOnly", "externalDocs", "xml", "discriminator", "$comment", "nullable", "format",
    }
)  # fmt: skip


class UnresolvedRef(Exception):
    """A `$ref` that leads nowhere this document can show."""


class Document:
    """Nothing is expanded: a reference stays a reference.

    `others` are the documents that references lead to, by their address; references in them, and those that leave the
    root, were made absolute when they were fetched. `refused` says why one is missing.
    """

    def __init__(
        self,
        root: dict[str, Any],
        others: Mapping[str, Any] = NO_OTHERS,
        refused: Mapping[str, str] = NO_REFUSALS,
        visits: Visits | None = None,
    ) -> None:
        self.root = root
        self.visits = visits or Visits()
        self.walked: dict[tuple[str, int, int], tuple[Any, Any]] = {}
        self.version = version_of(root)
        self.is_swagger = self.version.startswith("2") and "openapi" not in root
        # Before 3.1, whatever is beside a `$ref` is to be ignored.
        self.has_siblings = not self.is_swagger and not self.version.startswith("3.0")
        self._others = others
        self._refused = refused
        self._resolved: dict[str, Any] = {}
        self._anchors: dict[int, dict[str, Any]] = {}
        self._passing: set[str] = set()
        # What readers made of a node, by its identity; with the node, so that no other can take its place.
        self.made: dict[tuple[int, str], tuple[Any, Any]] = {}

    def resolve(self, ref: Any) -> Any:
        if not isinstance(ref, str):
            raise UnresolvedRef("a $ref that is not text")
        if ref not in self._resolved:
            self._resolved[ref] = self._walk(ref)
        return self._resolved[ref]

    def follow(self, node: Any) -> Any:
        """What a chain of `$ref`s ends at."""
        self.visits.spend()
        if not isinstance(node, dict) or "$ref" not in node:
            return node
        for _ in range(MAX_HOPS):
            if not (isinstance(node, dict) and isinstance(node.get("$ref"), str)):
                return node
            node = self.resolve(node["$ref"])
        raise UnresolvedRef("$refs that only refer to each other")

    def object_at(self, node: Any) -> dict[str, Any] | None:
        """The same, if it is an object; None where a reference leads nowhere."""
        try:
            found = self.follow(node)
        except UnresolvedRef:
            return None
        return found if isinstance(found, dict) else None

    def end_of(self, node: Any) -> Any:
        """The same, or the reference itself where it leads nowhere."""
        try:
            return self.follow(node)
        except UnresolvedRef:
            return node

    def whole_of(self, node: Any) -> Any:
        """The same, together with what is beside the reference where that counts."""
        more = beside(node) if self.has_siblings and isinstance(node, dict) and len(node) > 1 else None
        if not more or "$ref" not in node:
            return self.end_of(node)
        self.visits.spend()
        key = id(node), "whole"
        if key not in self.made:
            self.made[key] = node, {"allOf": [{"$ref": node["$ref"]}, more]}
        return self.made[key][1]

    def is_read_only(self, schema: Any) -> bool:
        """Of a property: by its own word or that of what it refers to or is composed of."""
        return self._says(schema, "readOnly")

    def is_write_only(self, schema: Any) -> bool:
        return self._says(schema, "writeOnly")

    def _says(self, schema: Any, word: str, depth: int = 0) -> bool:
        if not isinstance(schema, dict) or depth > MAX_HOPS:
            return False
        if schema.get(word) is True:
            return True
        if isinstance(schema.get("$ref"), str):
            self.visits.spend()
            try:
                return self._says(self.resolve(schema["$ref"]), word, depth + 1)
            except UnresolvedRef:
                return False
        parts = schema.get("allOf")
        return isinstance(parts, list) and any(self._says(part, word, depth + 1) for part in parts)

    def _walk(self, ref: str) -> Any:
        uri, _, fragment = ref.partition("#")
        root = self._start(uri, ref)
        if fragment and not fragment.startswith("/"):
            return self._resolve_anchor(root, unquote(fragment), ref)
        node = root
        for hops, token in enumerate(fragment.split("/")[1:]):
            if hops < MAX_HOPS and isinstance(node, dict) and isinstance(node.get("$ref"), str):
                node = self._resolve_through(node, token)
            node = step(node, unquote(token).replace("~1", "/").replace("~0", "~"), ref)
        return node

    def _resolve_through(self, node: dict[str, Any], token: str) -> Any:
        """Some documents point through a reference, at a part of what it leads to."""
        if unquote(token).replace("~1", "/").replace("~0", "~") in node or node["$ref"] in self._passing:
            return node
        self._passing.add(node["$ref"])
        try:
            return self.follow(node)
        finally:
            self._passing.discard(node["$ref"])

    def _start(self, uri: str, ref: str) -> Any:
        if not uri:
            return self.root
        if uri in self._others:
            return self._others[uri]
        reason = self._refused.get(uri, "points outside the document")
        raise UnresolvedRef(f"$ref {ref[:200]} {reason}")

    def _resolve_anchor(self, root: Any, name: str, ref: str) -> Any:
        found = self._anchors.get(id(root))
        if found is None:
            found = self._anchors[id(root)] = anchors(root)
        if name not in found:
            raise UnresolvedRef(f"$ref {ref[:200]} points at nothing")
        return found[name]


def beside(raw: dict[str, Any]) -> dict[str, Any]:
    """Of what is beside a `$ref`, all that says which values there may be."""
    return {key: part for key, part in raw.items() if key not in REMARKS and not key_text(key).startswith("x-")}


def anchors(root: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(node.get(key), str):
                    found.setdefault(node[key], node)
            identifier = node.get("$id", node.get("id"))
            if isinstance(identifier, str) and identifier.startswith("#"):
                found.setdefault(identifier[1:], node)
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return found


def step(node: Any, token: str, ref: str) -> Any:
    if isinstance(node, dict):
        if token in node:
            return node[token]
        for key in node:  # YAML reads keys such as `200` and `true` as numbers and booleans
            if not isinstance(key, str) and key_text(key) == token:
                return node[key]
    elif isinstance(node, list) and token.isdecimal() and token.isascii() and int(token[:9]) < len(node):
        return node[int(token[:9])]
    raise UnresolvedRef(f"$ref {ref[:200]} points at nothing")


def read(data: bytes, where: str, visits: Visits | None = None) -> Document:
    """Raises DocumentInvalid, saying what was found instead and what to do."""
    return Document(read_root(data, where), visits=visits or Visits(len(data)))


def read_root(data: bytes, where: str) -> dict[str, Any]:
    try:
        return _read_root(data, where)
    except DocumentInvalid as error:
        raise named_format(data, where) or error from error


def named_format(data: bytes, where: str) -> DocumentInvalid | None:
    """What it is, if it is something else that is known."""
    format = format_of(data)
    return DocumentInvalid(f"{where} is {format.name}", hint=format.advice) if format is not None else None


def _read_root(data: bytes, where: str) -> dict[str, Any]:
    root = parse(data, where)
    if not isinstance(root, dict):
        raise DocumentInvalid(
            f"{where} is not an OpenAPI document: it is {describe_value(root)}, not an object", hint=GIVE_DOCUMENT
        )
    root = translate(root, where)
    check_version(root, where)
    return root


def version_of(root: dict[str, Any]) -> str:
    version = root.get("openapi", root.get("swagger", ""))
    return str(version).strip()


def check_version(root: dict[str, Any], where: str) -> None:
    version = version_of(root)
    if version.startswith("3.") or version == "3":
        return
    if "swagger" in root and version.startswith("2"):
        return
    if version:
        kind = "OpenAPI" if "openapi" in root else "Swagger"
        raise DocumentInvalid(
            f"{where} is {kind} {version[:20]}; only Swagger 2.0 and OpenAPI 3.0 to 3.2 are supported",
            hint="convert it to OpenAPI 3.1",
        )
    found = ", ".join(key_text(key)[:40] for key in list(root)[:6]) or "nothing"
    raise DocumentInvalid(
        f"{where} is not an OpenAPI document: it has no `openapi` field (found: {found})", hint=GIVE_DOCUMENT
    )
