"""Recognising an OpenAPI document at an address, or at the places where services usually put one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from executor.errors import DocumentInvalid, SourceError, SourceUnreachable
from executor.network.addresses import display_url, parse
from executor.network.client import Answer
from executor.sources import challenges, placeholders
from executor.sources.documents.fetch_errors import wrong_status
from executor.sources.documents.threads import Loading
from executor.sources.kind import DAMAGED, Auth, Probe
from executor.sources.openapi.documents import swagger
from executor.sources.openapi.documents.document import Document, named_format, read_root
from executor.sources.openapi.documents.fetch import STATUS_HINTS, Fetcher, address_of
from executor.sources.openapi.tools import security, servers
from executor.sources.openapi.tools.builder import title_of
from executor.sources.openapi.translations.formats import find_format, format_name
from executor.sources.pagination.link_headers import links
from executor.sources.source_request import SourceRequest
from executor.sources.tool_names import namespace_from

USUAL = (
    "openapi.json", "openapi.yaml", "swagger.json", "v3/api-docs", "api-docs", "swagger/v1/swagger.json",
    "openapi.yml", "swagger.yaml", "api/openapi.json", "v2/api-docs", "docs/openapi.json", ".well-known/api-catalog",
)  # fmt: skip
GONE = (404, 410)
MAX_TRIES = 24
MAX_SECONDS = 20.0
MAX_PAGE = 2_000_000
MAX_CLAIM = 5_000
MAX_FILES = 6
_ENDPOINT_EVENT = b"event: endpoint"
CHECK_SUBSTITUTE = "If it is not the one you meant, remove the source and add it with the right address"
CORRECT = "correct the document there, then try again"
_CLAIM = re.compile(rb"""(?m)(?:^|[{,])\s*["']?(?:openapi|swagger)["']?\s*:\s*["']?\d""")
RELATIONS = ("service-desc", "describedby", "api-catalog")
# How pages that show documents name theirs: Swagger UI, Redoc, Scalar, RapiDoc, Stoplight Elements.
_IN_SCRIPT = re.compile(
    r"""(?:["']?(?:url|configUrl|spec-?url|apiDescriptionUrl|data-url)["']?\s*[:=]\s*"""
    r"""|(?:Redoc\.init|\bfetch|\.getJSON|axios(?:\.get)?)\(\s*)["'`]([^"'`\s<>]{1,500})["'`]"""
)
_SPEC = re.compile(
    r"(?i)(openapi|swagger|api-docs)[^/]*\.?(json|ya?ml)?$|(\b|_)(spec|oas3?|api|schema|definition|v\d+)s?\b[^/]*\.(json|ya?ml)$"
    r"|/(spec|specs|openapi|swagger|oas)/[^?]*\.(json|ya?ml)$"
)
_FILE = re.compile(r"(?i)(?<!manifest)(?<!package)(?<!feed)\.(json|ya?ml)$")
_CALLED = re.compile(r"(?i)\b(open ?api|swagger|oas)\b")


async def probe(fetcher: Fetcher, request: SourceRequest, loading: Loading) -> Probe | None:
    """None if there is no document; raises if nothing could be asked, or if there is more to say than that."""

    async def recognised_in(data: bytes, location: str, *, is_given: bool = False) -> Probe | None:
        return await loading.run(lambda stopped: recognise(request, data, location, is_given=is_given))

    address = address_of(request)
    if request.document is not None:
        return await recognised_in(request.document, address, is_given=True)
    if not address.startswith(("http://", "https://")):
        return None
    first = await fetcher.get(request, address)
    found = await recognised_in(first.body, first.url, is_given=True) if first.status == 200 else None
    if found is not None:
        return found
    if first.status in challenges.REFUSED and first.url == address and is_document(address):
        return guarded_probe(request, wrong_status(address, first, STATUS_HINTS))
    tried = {address, first.url}
    pointed = linked_from(first)
    hopeful = {url for url in pointed if _SPEC.search(url.partition("?")[0])}
    settle_look(request, first, hopeful)
    waiting = [*pointed, *usual_places(first.url), *other_files(first)]
    deadline = time.monotonic() + MAX_SECONDS
    own = {servers.origin_of(address), servers.origin_of(first.url)}
    while waiting and len(tried) < MAX_TRIES and time.monotonic() < deadline:
        url = waiting.pop(0)
        if url in tried or servers.origin_of(url) not in own:
            continue
        tried.add(url)
        hopeful.discard(url)
        request.context.progress(f"trying {url}")
        try:
            answer = await fetcher.get(request, url)
        except SourceError:
            continue
        if answer.status != 200:
            continue
        found = await recognised_in(answer.body, answer.url)
        if found is not None:
            return name_substitute(found, address, first)
        settle_look(request, first, hopeful)
        waiting[:0] = read_api_catalog(answer) or (linked_from(answer) if url in pointed else [])
    check_hints(address, first, [url for url in pointed if servers.origin_of(url) not in own])
    return None


def name_substitute(found: Probe, address: str, first: Answer) -> Probe:
    """A wrong address is not passed over in silence, although there is a document beside it."""
    if first.status not in GONE:
        return found
    where, instead = display_url(address), display_url(found.location)
    said = f"{where} answered {first.status}; the document at {instead} is used instead"
    return replace(found, warning=f"{said}. {CHECK_SUBSTITUTE}")


def is_document(address: str) -> bool:
    return _SPEC.search(address.partition("?")[0].partition("#")[0]) is not None


def guarded_probe(request: SourceRequest, error: SourceUnreachable) -> Probe:
    """By its name a document, which only a credential opens."""
    namespace = request.namespace or namespace_from("", parse(request.base_url or address_of(request)).host)
    return Probe(
        kind="openapi",
        location=request.location,
        namespace=namespace,
        base_url=request.base_url,
        transport="http",
        auth=tuple(Auth(**one) for one in error.details["auth"]),
        note=error.message,
        guarded=True,
    )


def settle_look(request: SourceRequest, first: Answer, hopeful: set[str]) -> None:
    """Settle what the GET of the address said, unless it points to a document that is still to be read."""
    look = request.context.first_look
    if look is None or (hopeful and not names_other_kind(address_of(request))):
        return
    is_stream = first.media_type.startswith("text/event-stream") and _ENDPOINT_EVENT in first.body
    look.settle("stream" if first.status == 200 and is_stream else "")


def names_other_kind(address: str) -> bool:
    """Pages at such addresses are consoles, and what they link to says nothing of the address."""
    path = address.partition("://")[2].partition("/")[2].lower()
    return "graphql" in path or "mcp" in path


def check_hints(address: str, first: Answer, elsewhere: list[str]) -> None:
    """Raises what the address answered, or where it points that was not asked."""
    if first.status != 200:
        raise wrong_status(address, first, STATUS_HINTS)
    named = next((url for url in elsewhere if _SPEC.search(file := url.partition("?")[0]) or _FILE.search(file)), "")
    if named:
        raise DocumentInvalid(
            f"{display_url(first.url)} points to {display_url(named)}, which is on another origin",
            hint=f"if that is the document, add it by its own address: {display_url(named)}",
            reason=DAMAGED,
        )


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
    if is_page(answer):
        text = answer.body[:MAX_PAGE].decode("utf-8", "replace")
        page = Page()
        page.feed(text)
        found += [urljoin(answer.url, one) for one in [*page.found, *(match[1] for match in _IN_SCRIPT.finditer(text))]]
        found += [urljoin(answer.url, one) for one in page.scripts if "initializer" in one or "swagger-config" in one]
    return list(dict.fromkeys(found))


def is_page(answer: Answer) -> bool:
    return b"<" in answer.body[:1_000] and "json" not in answer.media_type and "yaml" not in answer.media_type


def other_files(answer: Answer) -> list[str]:
    """Files that a page links to and that may be a document, though nothing says so."""
    if not is_page(answer):
        return []
    page = Page()
    page.feed(answer.body[:MAX_PAGE].decode("utf-8", "replace"))
    return [urljoin(answer.url, one) for one in page.files[:MAX_FILES]]


def read_api_catalog(answer: Answer) -> list[str]:
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
            for relation in (*RELATIONS, "item") if isinstance(entry, dict) else ():
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
        self.files: list[str] = []
        self._href = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and set(given.get("rel", "").lower().split()) & set(RELATIONS):
            self.found.append(given.get("href", ""))
        if tag == "link" and "openapi" in given.get("type", "").lower():
            self.found.append(given.get("href", ""))
        for name in ("spec-url", "apidescriptionurl", "data-url", "data-spec-url"):
            if given.get(name):
                self.found.append(given[name])
        self._href = given.get("href", "") if tag == "a" else ""
        if tag == "a" and _SPEC.search(self._href.partition("?")[0].partition("#")[0]):
            self.found.append(self._href)
        elif tag == "a" and _FILE.search(self._href.partition("?")[0]):
            self.files.append(self._href)
        if tag == "script" and given.get("src"):
            self.scripts.append(given["src"])

    def handle_data(self, data: str) -> None:
        """Of a link, what it is called."""
        if self._href and _CALLED.search(data[:200]) and self._href not in self.found:
            self.found.append(self._href)


def recognise(request: SourceRequest, data: bytes, location: str, *, is_given: bool = False) -> Probe | None:
    """A location that claims to be such a document is not passed over: the error says what is wrong in it."""
    head = data[:200_000]
    where = display_url(location) or "the document"
    named = named_format(data, where) if is_given else None
    if b"openapi" in data or b"swagger" in data or find_format(data) is not None:
        try:
            return describe_probe(request, Document(read_root(data, where)), location)
        except DocumentInvalid as error:
            if is_given and not named and _CLAIM.search(head[:MAX_CLAIM]) and not head.lstrip().startswith(b"<"):
                raise DocumentInvalid(error.message, hint=CORRECT, reason=DAMAGED) from error
    if named is not None:
        raise DocumentInvalid(named.message, hint=named.hint, reason=DAMAGED)
    return None


def describe_probe(request: SourceRequest, document: Document, location: str) -> Probe:
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
        note=note or format_note(document),
    )


def format_note(document: Document) -> str:
    written = f"{'Swagger' if document.is_swagger else 'OpenAPI'} {document.version[:20]}"
    return format_name(document.root) or written


def names_in(offered: Any) -> list[str]:
    """The variables of the first server."""
    return [name for one in servers.list_servers(offered)[:1] for name in one["variables"]]


def auth(scheme: dict[str, Any]) -> Auth:
    return Auth(scheme["name"], scheme["type"], scheme["description"], scheme["details"])
