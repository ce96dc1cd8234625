"""Reading documents: from the request itself, from its address, or from a file that an operator added."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from executor.dataclass import dataclass
from executor.errors import EgressRefused, SourceUnreachable
from executor.network.addresses import display_url
from executor.network.client import Answer, Bounds, Egress, Outgoing
from executor.network.credentials import with_credential
from executor.sources.documents.fetch_errors import no_address, read_file, wrong_status
from executor.sources.documents.threads import Loading
from executor.sources.kind import Unchanged
from executor.sources.openapi.documents import external_documents, linked_files, parser
from executor.sources.openapi.tools.builder import READER
from executor.sources.openapi.tools.servers import origin_of
from executor.sources.source_request import SourceRequest

ACCEPT_DOCUMENT = "application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5"
ALLOW_REFS = "remoteRefs"
PARTS = "parts"  # of the validators: which other documents were read
ELSEWHERE = "it redirects to a login: download the document there and add the file"
STATUS_HINTS = {
    401: ELSEWHERE,
    403: ELSEWHERE,
    404: parser.GIVE_DOCUMENT,
}


@dataclass(frozen=True, slots=True)
class Read:
    """`location` is where it came from in the end: relative servers and references are relative to that."""

    data: bytes
    location: str
    validators: dict[str, str]


def bare(answered: str, asked: str, wanted: str) -> str:
    """Where it came from, without what a credential added to the address."""
    return wanted if answered == asked else answered


def address_of(request: SourceRequest) -> str:
    return request.spec_url or request.location


def own_headers(request: SourceRequest, url: str) -> dict[str, str]:
    """The source's headers, if `url` is on an origin of the source: a document elsewhere does not get them."""
    named = [request.base_url] if request.base_url else [address_of(request)]
    if request.spec_url and not request.base_url:
        named = [request.location or request.spec_url]
    origin = origin_of(url)
    return dict(request.headers) if origin and origin in {origin_of(one) for one in named} else {}


class Fetcher:
    """Of private addresses it reaches those that were granted (see `grants`): requests come here with their grants."""

    def __init__(self, egress: Egress, bounds: Bounds, loading: Loading) -> None:
        self._egress = egress
        self._bounds = bounds
        self._loading = loading

    async def read(self, request: SourceRequest) -> Read:
        """Raises Unchanged when the server says that nothing has changed since `validators`."""
        address = address_of(request)
        if request.document is not None:
            return Read(request.document, address, {})
        if not address:
            raise SourceUnreachable(
                "an address or a document is required",
                hint="pass a URL or a file; a source added as text can only be added again",
                reason="location",
            )
        if "://" in address:
            return await self._download(request, address)
        if not (request.previous is not None and request.consented.private_network):
            raise no_address(address)
        return Read(await asyncio.to_thread(read_file, address, parser.MAX_BYTES), address, {})

    async def _download(self, request: SourceRequest, address: str) -> Read:
        known = request.validators if request.validators.get("reader") == READER else {}
        asked = {"If-None-Match": known.get("etag", ""), "If-Modified-Since": known.get("last_modified", "")}
        asked = {name: value for name, value in asked.items() if value}
        answer = await self.get(request, address, asked)
        if answer.status == 304 and asked:
            raise Unchanged
        if answer.status != 200:
            raise wrong_status(address, answer, STATUS_HINTS)
        validators = {"etag": answer.headers.get("ETag", ""), "last_modified": answer.headers.get("Last-Modified", "")}
        return Read(answer.body, answer.url, {name: value[:500] for name, value in validators.items() if value})

    async def get(
        self, request: SourceRequest, url: str, headers: dict[str, str] | None = None, bounds: Bounds | None = None
    ) -> Answer:
        sent = {"Accept": ACCEPT_DOCUMENT, **own_headers(request, url), **(headers or {})}
        outgoing = with_credential(Outgoing("GET", url, sent), request.context.credential)
        answer = await self._egress.send(
            outgoing, origins=frozenset(request.consented.origins), bounds=bounds or self._bounds
        )
        return replace(answer, body=request.context.redact(answer.body), url=bare(answer.url, outgoing.url, url))

    async def others(self, request: SourceRequest, root: dict[str, object], location: str) -> external_documents.Linked:
        """The documents that this one refers to. Raises SourceUnreachable if one that was read before can't be now."""
        is_url = location.startswith(("http://", "https://"))
        path = Path(location)
        folder = path.parent if not is_url and path.is_absolute() and request.consented.private_network else None
        bounds = replace(self._bounds, size=linked_files.MAX_EACH)

        async def fetch(uri: str) -> bytes:
            if uri.startswith("file:") or "://" not in uri:
                if folder is None:
                    raise EgressRefused("files are only read for a document that an operator added as a file")
                return await asyncio.to_thread(
                    lambda: read_file(str(external_documents.file_path(uri, folder)), parser.MAX_BYTES)
                )
            if not external_documents.is_allowed(
                uri, location if is_url else uri_of(request), request.options.get(ALLOW_REFS)
            ):
                raise EgressRefused(f"it is on another origin, and the option `{ALLOW_REFS}` does not allow it")
            answer = await self.get(request, uri, bounds=bounds)
            if answer.status != 200:
                raise wrong_status(uri, answer, STATUS_HINTS)
            return answer.body

        found = await linked_files.gather(
            root, external_documents.base_of(location), fetch, self._loading, request.context.progress
        )
        check_complete(request, found)
        return found


def check_complete(request: SourceRequest, found: external_documents.Linked) -> None:
    """What could be read before and can't be read now must not take tools away: then all stay as they were."""
    failed = [uri for uri, reason in found.refused.items() if reason != external_documents.BEYOND]
    lost = linked_files.known_again(failed, request.validators.get(PARTS, ""))
    if not lost:
        return
    first = f"{display_url(lost[0])} {found.refused[lost[0]]}"
    more = f", and {len(lost) - 1:,} more" if len(lost) > 1 else ""
    raise SourceUnreachable(
        f"{first}{more}; it was available when the document was last read",
        hint="the tools are unchanged; refresh the source when its files are complete again",
        reason="incomplete",
    )


def uri_of(request: SourceRequest) -> str:
    """A file has no origin of its own; the reserved name matches none."""
    return request.base_url or "https://file.invalid"
