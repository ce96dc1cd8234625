"""From bytes to an OpenAPI document: JSON or YAML, whatever its keys are made of."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import orjson
import yaml_rs

from executor.errors import DocumentInvalid
from executor.sources.openapi.visits import Visits

MAX_BYTES = 64_000_000
MAX_HOPS = 20


class UnresolvedRef(Exception):
    """A `$ref` that leads nowhere this document can show."""


class Document:
    """The root of a document and the way along its `$ref`s. Nothing is expanded: a reference stays a reference."""

    def __init__(self, root: dict[str, Any], visits: Visits | None = None) -> None:
        self.root = root
        self.visits = visits or Visits()
        self.walked: dict[tuple[str, int, int], tuple[Any, Any]] = {}
        self.version = version_of(root)
        self._resolved: dict[str, Any] = {}

    def resolve(self, ref: Any) -> Any:
        if not isinstance(ref, str):
            raise UnresolvedRef("a $ref that is not text")
        if ref not in self._resolved:
            self._resolved[ref] = self._walk(ref)
        return self._resolved[ref]

    def _walk(self, ref: str) -> Any:
        if not ref.startswith("#"):
            raise UnresolvedRef(f"$ref {ref[:200]} points outside the document")
        node: Any = self.root
        for token in ref[1:].split("/")[1:]:
            node = step(node, unquote(token).replace("~1", "/").replace("~0", "~"), ref)
        return node

    def follow(self, node: Any) -> Any:
        """What a chain of `$ref`s ends at."""
        self.visits.spend()
        for _ in range(MAX_HOPS):
            if not (isinstance(node, dict) and isinstance(node.get("$ref"), str)):
                return node
            node = self.resolve(node["$ref"])
        raise UnresolvedRef("$refs that only lead to each other")

    def end_of(self, node: Any) -> Any:
        """The same, or the reference itself where it leads nowhere."""
        try:
            return self.follow(node)
        except UnresolvedRef:
            return node


def step(node: Any, token: str, ref: str) -> Any:
    if isinstance(node, dict):
        if token in node:
            return node[token]
        for key in node:  # YAML reads keys such as `200` and `true` as numbers and booleans
            if not isinstance(key, str) and key_text(key) == token:
                return node[key]
    elif isinstance(node, list) and token.isdigit() and int(token) < len(node):
        return node[int(token)]
    raise UnresolvedRef(f"$ref {ref[:200]} points at nothing")


def key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def read(data: bytes, where: str, visits: Visits | None = None) -> Document:
    """Raises DocumentInvalid, saying what was found instead and what to do."""
    root = parse(data, where)
    if not isinstance(root, dict):
        raise DocumentInvalid(
            f"{where} is not an OpenAPI document: it holds {described(root)}, not an object", hint=GIVE_DOCUMENT
        )
    check_version(root, where)
    return Document(root, visits or Visits(len(data)))


GIVE_DOCUMENT = "give the address of the OpenAPI document itself, often …/openapi.json or …/openapi.yaml"


def parse(data: bytes, where: str) -> Any:
    text = data.removeprefix(b"\xef\xbb\xbf").strip()
    if len(text) > MAX_BYTES:
        raise DocumentInvalid(f"{where} is larger than {MAX_BYTES:,} bytes", hint="split it, or remove what isn't used")
    if not text:
        raise DocumentInvalid(f"{where} is empty", hint=GIVE_DOCUMENT)
    if text[:1] == b"<":
        raise DocumentInvalid(f"{where} is an HTML or XML page, not an OpenAPI document", hint=GIVE_DOCUMENT)
    if text[:1] in b"{[":
        parsed, problem = parse_json(text)
        if problem is None:
            return parsed
        return parse_yaml(text, where, problem)  # flow-style YAML also begins with a brace
    return parse_yaml(text, where, None)


def parse_json(text: bytes) -> tuple[Any, str | None]:
    try:
        return orjson.loads(text), None
    except orjson.JSONDecodeError:
        pass
    try:  # orjson refuses integers beyond 64 bits, which real documents contain
        return json.loads(text), None
    except RecursionError:
        return None, "it is nested too deeply"
    except ValueError as error:
        return None, str(error)


def parse_yaml(text: bytes, where: str, json_problem: str | None) -> Any:
    try:
        loaded: Any = yaml_rs.loads(text.decode(), parse_datetime=False, duplicate_key_policy=LAST_WINS)
    except (yaml_rs.YAMLDecodeError, UnicodeDecodeError, ValueError) as error:
        problem = json_problem or " ".join(str(error).split())[:300]
        kind = "JSON" if json_problem else "JSON or YAML"
        raise DocumentInvalid(f"{where} is not valid {kind}: {problem}", hint=GIVE_DOCUMENT) from error
    if isinstance(loaded, str) and json_problem is None:
        raise DocumentInvalid(f"{where} is plain text, not an OpenAPI document", hint=GIVE_DOCUMENT)
    return loaded


LAST_WINS = yaml_rs.DuplicateKeyPolicy.LastWins


def version_of(root: dict[str, Any]) -> str:
    version = root.get("openapi", root.get("swagger", ""))
    return str(version).strip()


def check_version(root: dict[str, Any], where: str) -> None:
    version = version_of(root)
    if version.startswith("3."):
        return
    if "swagger" in root:
        raise DocumentInvalid(
            f"{where} is a Swagger {version[:20]} document; OpenAPI 3.0 and 3.1 can be read",
            hint="convert it to OpenAPI 3 (for example with swagger2openapi) and add the result",
        )
    if version:
        raise DocumentInvalid(
            f"{where} says it is OpenAPI {version[:20]}; 3.0 and 3.1 can be read", hint="convert it to OpenAPI 3.1"
        )
    found = ", ".join(key_text(key)[:40] for key in list(root)[:6]) or "nothing"
    raise DocumentInvalid(
        f"{where} is not an OpenAPI document: it has no `openapi` field (found: {found})", hint=GIVE_DOCUMENT
    )


def described(value: Any) -> str:
    names = {list: "a list", str: "text", int: "a number", float: "a number", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)
