"""Is there a GraphQL service at an address? Asked with the smallest query there is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from executor.errors import EgressRefused, SourceUnreachable
from executor.network.addresses import parse
from executor.network.client import Answer, Bounds, Egress, Outgoing
from executor.network.credentials import with_credential
from executor.sources import challenges
from executor.sources.graphql.results import json_of
from executor.sources.kind import Auth, Probe
from executor.sources.source_request import SourceRequest
from executor.sources.tool_names import namespace_from

BOUNDS = Bounds(seconds=8.0, size=100_000)
USUAL = ("/graphql", "/api/graphql", "/query")
DOCUMENT_ENDINGS = (".graphql", ".graphqls", ".gql", ".sdl")
ACCEPT = "application/graphql-response+json, application/json;q=0.9"
# Words of file names that say nothing of the service.
PLAIN_NAMES = frozenset(
    {"schema", "schemas", "introspection", "graphql", "sdl", "api", "public", "private", "prod", "production", "dev",
     "staging", "main", "index", "full", "latest", "current", "supergraph", "subgraph", "data", "response", "result",
     "types", "typedefs", "root", "document", "local"}
)  # fmt: skip
LOGIN_WORDS = ("unauthenticated", "unauthorized", "authentication", "access denied", "forbidden")
PROBE = orjson.dumps({"query": "{__typename}"})
_SDL_ROOT = re.compile(r"^\s*(?:extend\s+)?(?:type\s+(?:Query|Mutation)\b|schema\b[^\n{]*\{)", re.MULTILINE)


async def probe(egress: Egress, request: SourceRequest, origins: frozenset[str]) -> Probe | None:
    if request.document is not None:
        return of_document(request)
    if "://" not in request.location:
        return None
    if is_document(request.location):
        return await of_schema_address(egress, request, origins)
    if await request.context.find_explanation():
        return None
    for url in candidates(request.base_url or request.location):
        answer = await ask(egress, url, request, origins)
        found = recognise(url, answer) if answer is not None else None
        if found is not None:
            return found
    return None


def is_document(location: str) -> bool:
    return urlsplit(location).path.lower().endswith(DOCUMENT_ENDINGS)


def candidates(location: str) -> list[str]:
    """The address itself; if it is the root of a host, the usual places too. Never another host."""
    parts = urlsplit(location)
    if parts.path.strip("/"):
        return [location]
    return [location, *(urlunsplit((parts.scheme, parts.netloc, path, "", "")) for path in USUAL)]


async def ask(egress: Egress, url: str, request: SourceRequest, origins: frozenset[str]) -> Answer | None:
    """None if what came can't be an answer of ours; raises if no one could be asked."""
    outgoing = with_credential(Outgoing("POST", url, headers_of(request.headers), PROBE), request.context.credential)
    try:
        return await egress.send(outgoing, origins=origins, bounds=BOUNDS)
    except (EgressRefused, SourceUnreachable) as error:
        if error.details.get("sent"):
            return None
        raise


def headers_of(given: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """The source's own win, except over what the body is."""
    own = {name: value for name, value in given if name.lower() not in ("content-type", "content-length")}
    accept = {} if "accept" in map(str.lower, own) else {"Accept": ACCEPT}
    return {"Content-Type": "application/json", **accept, **own}


def recognise(url: str, answer: Answer) -> Probe | None:
    value = json_of(answer)
    says_graphql = "graphql" in urlsplit(answer.url).path.lower()
    if answer.status in challenges.REFUSED and (says_graphql or is_error_list(value)):
        return guarded_probe(url, answer)
    if answer.status in (200, 400) and (has_typename(value) or is_error_list(value)):
        return guarded_probe(url, answer) if wants_login(value) else found_at(url)
    return None


def found_at(url: str) -> Probe:
    namespace = namespace_of(url)
    return Probe("graphql", url, namespace, namespace, url, "http")


def guarded_probe(url: str, answer: Answer) -> Probe:
    error = login_error(url, answer)
    auth = tuple(Auth(**one) for one in error.details["auth"])
    return replace(found_at(url), auth=auth, note=error.message, guarded=True)


def login_error(url: str, answer: Answer) -> SourceUnreachable:
    """Also for a service that answers 200 and says in words that it wants a login."""
    return challenges.credential_error(url, answer.status, challenges.header_values(answer.headers), method="POST")


def namespace_of(url: str, file: str = "") -> str:
    """From the name of the schema's file, if that says more than that it is a schema; else from the host."""
    path = urlsplit(file).path if "://" in file else file.replace("\\", "/")
    stem = path.rpartition("/")[2].partition(".")[0]
    words = [word for word in re.findall(r"[A-Za-z0-9]+", stem) if word.lower() not in PLAIN_NAMES]
    name = namespace_from(" ".join(words), parse(url).host)
    return "graphql" if name == "api" else name


def file_of(request: SourceRequest) -> str:
    """The location, if that is of a schema and not of the service."""
    return request.location if request.document is not None or is_document(request.location) else ""


def has_typename(value: Any) -> bool:
    data = value.get("data") if isinstance(value, dict) else None
    return isinstance(data, dict) and isinstance(data.get("__typename"), str)


def is_error_list(value: Any) -> bool:
    """`errors` as GraphQL writes them, and nothing beside them that it doesn't know."""
    if not isinstance(value, dict) or not value.keys() <= {"errors", "data", "extensions"}:
        return False
    errors = value.get("errors")
    errors = errors if isinstance(errors, list) else []
    return bool(errors) and all(isinstance(one, dict) and "message" in one for one in errors)


def wants_login(value: Any) -> bool:
    text = orjson.dumps(value.get("errors") or []).decode().lower()
    return any(word in text for word in LOGIN_WORDS)


def of_document(request: SourceRequest) -> Probe | None:
    if not is_schema(request.document or b""):
        return None
    note = "" if request.base_url else "a schema doesn't say where its service is: pass the endpoint as base URL"
    namespace = namespace_of(request.base_url, file_of(request)) if request.base_url else ""
    return Probe("graphql", request.location, namespace, namespace, request.base_url, "http", note=note)


async def of_schema_address(egress: Egress, request: SourceRequest, origins: frozenset[str]) -> Probe | None:
    bounds = Bounds(BOUNDS.seconds, 64_000_000)
    answer = await egress.send(Outgoing("GET", request.location, dict(request.headers)), origins=origins, bounds=bounds)
    if answer.status != 200 or not is_schema(answer.body):
        return None
    namespace = namespace_of(request.base_url or request.location, file_of(request))
    note = "" if request.base_url else "a schema doesn't say where its service is: pass the endpoint as base URL"
    return Probe("graphql", request.location, namespace, namespace, request.base_url, "http", note=note)


def is_schema(data: bytes) -> bool:
    """By its look alone: an introspection as JSON, or the schema language with a root type in it."""
    head = data[:2_000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"{"):
        return b'"__schema"' in head
    text = data[:2_000_000].decode("utf-8", "replace")
    return _SDL_ROOT.search(text) is not None and not head.startswith((b"<", b"openapi", b"swagger"))
