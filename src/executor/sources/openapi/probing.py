"""Recognising an OpenAPI document at an address, or at the places where services usually put one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from executor.errors import DocumentInvalid, SourceError
from executor.sources import placeholders
from executor.sources.addresses import shown
from executor.sources.egress import Answer
from executor.sources.kind import DAMAGED, Auth, Probe, SourceRequest
from executor.sources.loading import Loading
from executor.sources.names import namespace_from
from executor.sources.openapi import security, servers, swagger
from executor.sources.openapi.catalog import title_of
from executor.sources.openapi.document import Document, read_root
from executor.sources.openapi.fetching import Fetcher, address_of
from executor.sources.openapi.links import links

USUAL = (
    "openapi.json", "openapi.yaml", "swagger.json", "v3/api-docs", "api-docs", "swagger/v1/swagger.json",
    "openapi.yml", "swagger.yaml", "api/openapi.json", "v2/api-docs", "docs/openapi.json", ".well-known/api-catalog",
)  # fmt: skip
MAX_TRIES = 24
MAX_SECONDS = 20.0
MAX_PAGE = 2_000_000
MAX_CLAIM = 5_000
CORRECT = "correct the document there, then try again"
_CLAIM = re.compile(rb"""(?m)(?:^|[{,])\s*["']?(?:openapi|swagger)["']?\s*:\s*["']?\d""")
RELATIONS = ("service-desc", "describedby", "api-catalog")
# How pages that show documents name theirs: Swagger UI, Redoc, Scalar, RapiDoc, Stoplight Elements.
_IN_SCRIPT = re.compile(
    r"""(?:["']?(?:url|configUrl|spec-?url|apiDescriptionUrl|data-url)["']?\s*[:=]\s*|Redoc\.init\(\s*)["']([^"'\s<>]{1,500})["']"""
)


async def probe(fetcher: Fetcher, request: SourceRequest, loading: Loading) -> Probe | None:
    """None if there is no document; raises only if nothing could be asked at all."""

    async def recognised_in(data: bytes, location: str, *, is_given: bool = False) -> Probe | None:
        return await loading.run(lambda stopped: recognised(request, data, location, is_given=is_given))

    address = address_of(request)
    if request.document is not None:
        return await recognised_in(request.document, address, is_given=True)
    if not address.startswith(("http://", "https://")):
        return None
    first = await fetcher.get(request, address)
    found = await recognised_in(first.body, first.url, is_given=True) if first.status == 200 else None
    if found is not None:
        return found
    tried = {address, first.url}
    waiting = [*linked_from(first), *usual_places(first.url)]
    deadline = time.monotonic() + MAX_SECONDS
    while waiting and len(tried) < MAX_TRIES and time.monotonic() < deadline:
        url = waiting.pop(0)
        if url in tried or servers.origin_of(url) not in {servers.origin_of(address), servers.origin_of(first.url)}:
            continue
        tried.add(url)
        request.progress(f"trying {url}")
        try:
            answer = await fetcher.get(request, url)
        except SourceError:
            continue
        if answer.status != 200:
            continue
        found = await recognised_in(answer.body, answer.url)
        if found is not None:
            return found
        waiting[:0] = catalogued(answer)
    return None


def usual_places(url: str) -> Iterator[str]:
    folder = urljoin(url, ".")
    yield from (urljoin(folder, place) for place in USUAL)
    if url.rstrip("/") + "/" != folder:
        yield from (urljoin(url.rstrip("/") + "/", place) for place in USUAL[:4])
    yield from (urljoin(url, f"/{place}") for place in USUAL)


def linked_from(answer: Answer) -> list[str]:
    """What an answer points at: by its `Link` header, or as a page in its own markup and scripts."""
    found = [
        urljoin(answer.url, address)
        for relation, address in links(answer.headers.get("Link", ""))
        if relation in RELATIONS
    ]
    if b"<" in answer.body[:1_000] and "json" not in answer.media_type:
        text = answer.body[:MAX_PAGE].decode("utf-8", "replace")
        page = Page()
        page.feed(text)
        found += [urljoin(answer.url, one) for one in [*page.found, *(match[1] for match in _IN_SCRIPT.finditer(text))]]
        found += [urljoin(answer.url, one) for one in page.scripts if "initializer" in one or "swagger-config" in one]
    return list(dict.fromkeys(found))


def catalogued(answer: Answer) -> list[str]:
    """What an API catalog (a link set) or Swagger UI's configuration leads to."""
    if "javascript" in answer.media_type:
        return linked_script(answer)
    try:
        value = json.loads(answer.body[:MAX_PAGE])
    except (ValueError, RecursionError):
        return []
    found: list[Any] = []
    if isinstance(value, dict):
        for entry in value.get("linkset") or []:
            for relation in RELATIONS if isinstance(entry, dict) else ():
                found += [one.get("href") for one in entry.get(relation) or [] if isinstance(one, dict)]
        found.append(value.get("url"))
        found += [one.get("url") for one in value.get("urls") or [] if isinstance(one, dict)]
    return [urljoin(answer.url, one) for one in found if isinstance(one, str)]


def linked_script(answer: Answer) -> list[str]:
    text = answer.body[:MAX_PAGE].decode("utf-8", "replace")
    return [urljoin(answer.url, match[1]) for match in _IN_SCRIPT.finditer(text)]


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and set(given.get("rel", "").lower().split()) & set(RELATIONS):
            self.found.append(given.get("href", ""))
        for name in ("spec-url", "apidescriptionurl", "data-url"):
            if given.get(name):
                self.found.append(given[name])
        if tag == "a" and re.search(r"(?i)(openapi|swagger|api-docs)[^/]*\.?(json|ya?ml)?$", given.get("href", "")):
            self.found.append(given["href"])
        if tag == "script" and given.get("src"):
            self.scripts.append(given["src"])


def recognised(request: SourceRequest, data: bytes, location: str, *, is_given: bool = False) -> Probe | None:
    """What was given itself and says that it is such a document is not passed over: it is told what is wrong in it."""
    head = data[:200_000]
    if b"openapi" not in head and b"swagger" not in head and b"openapi" not in data and b"swagger" not in data:
        return None
    try:
        root = read_root(data, shown(location) or "the document")
    except DocumentInvalid as error:
        if is_given and _CLAIM.search(head[:MAX_CLAIM]) and not head.lstrip().startswith(b"<"):
            raise DocumentInvalid(error.message, hint=CORRECT, reason=DAMAGED) from error
        return None
    return described(request, Document(root), location)


def described(request: SourceRequest, document: Document, location: str) -> Probe:
    title = title_of(document.root)
    offered = swagger.servers(document.root) if document.is_swagger else document.root.get("servers")
    try:
        base_url = servers.base_url(offered, given=request.base_url, location=location, options=request.options)
        note = "" if request.base_url or not offered else placeholders.note(base_url, names_in(offered))
    except SourceError as error:
        base_url, note = "", f"{error.message}: {error.hint}"
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0]
    return Probe(
        kind="openapi",
        location=location,
        name=title[:200],
        namespace=request.namespace or namespace_from(title, host),
        base_url=base_url,
        transport="http",
        auth=tuple(auth(one) for one in security.schemes(document)),
        note=note or f"{'Swagger' if document.is_swagger else 'OpenAPI'} {document.version[:20]}",
    )


def names_in(offered: Any) -> list[str]:
    """The variables of the first server."""
    return [name for one in servers.listed(offered)[:1] for name in one["variables"]]


def auth(scheme: dict[str, Any]) -> Auth:
    return Auth(scheme["name"], scheme["type"], scheme["description"], scheme["details"])
