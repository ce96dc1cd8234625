"""One request on a pooled connection, by aiohttp's own parts: as `aiohttp.ClientSession.request`, without what is not
wanted here, which is cookies, redirects, proxies, traces, and sending again. See docs/decisions/outbound-http.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextvars import ContextVar

import aiohttp
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from executor import __version__
from executor.network.client import SAFE_METHODS, Attempt, Outgoing
from executor.network.decompression import ACCEPT_ENCODING
from executor.network.departure import check_departure
from executor.network.files import FILES, Upload

HEADERS = CIMultiDict({"User-Agent": f"executor/{__version__}", "Accept-Encoding": ACCEPT_ENCODING})
# aiohttp would call an absent body `application/octet-stream`, which strict services refuse.
NOT_GUESSED = ("Content-Type",)
ATTEMPT: ContextVar[Attempt] = ContextVar("executor_attempt")


class Request(aiohttp.ClientRequest):
    # Methods that have no length where they have no body (RFC 9110, 8.6): all but those that usually carry one.
    GET_METHODS = aiohttp.ClientRequest.ALL_METHODS - aiohttp.ClientRequest.POST_METHODS


async def open_response(
    connector: aiohttp.TCPConnector, timeout: aiohttp.ClientTimeout, outgoing: Outgoing, url: URL, seconds: float
) -> aiohttp.ClientResponse:
    """The response with its status and headers. Leaving it gives the connection back, or closes it."""
    headers, data = HEADERS.copy(), outgoing.body
    headers.update(outgoing.headers)
    if isinstance(data, Upload):
        headers["Content-Length"] = str(data.size)
    content = sending(data, seconds) if isinstance(data, Upload) else data
    # Where there is no body, nothing is guessed, and to forbid it would take long.
    skipped = None if data is None and outgoing.method in SAFE_METHODS else NOT_GUESSED
    made = Request(outgoing.method, url, headers=headers, skip_auto_headers=skipped, data=content)
    try:
        return await read_head(made, await connect(connector, made, timeout))
    except aiohttp.ClientError:
        raise
    except OSError as error:
        raise aiohttp.ClientOSError(*error.args) from error
    finally:
        if made.body:
            await made.body.close()


async def connect(connector: aiohttp.TCPConnector, made: Request, timeout: aiohttp.ClientTimeout) -> Connection:
    try:
        return await connector.connect(made, traces=[], timeout=timeout)
    except TimeoutError as error:
        raise aiohttp.ConnectionTimeoutError from error


async def read_head(made: Request, connection: Connection) -> aiohttp.ClientResponse:
    try:
        assert connection.protocol is not None  # noqa: S101 - it was just connected
        connection.protocol.set_response_params(
            skip_payload=made.method == "HEAD", read_until_eof=True, auto_decompress=False
        )
        check_departure()
        ATTEMPT.get().sent = True  # whatever failed before has not left
        response = await made.send(connection)
        try:
            await response.start(connection)
        except BaseException:
            response.close()
            raise
    except BaseException:
        connection.close()
        raise
    return response


async def sending(upload: Upload, seconds: float) -> AsyncIterator[bytes]:
    files, attempt = FILES.get(), ATTEMPT.get()
    assert files is not None  # noqa: S101 - an upload consists of the files of a call
    async for piece in upload.pieces(files):
        attempt.renew(seconds)
        yield piece
