"""Other words for what a new source is given: what the API's body and code may say, in Executor's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.errors import InvalidRequest

URL = "url"
ENDPOINT = "endpoint"
TRANSPORTS = {
    "auto": "",
    "http": "http",
    "sse": "sse",
    "stdio": "stdio",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
}


def in_own_words(given: Mapping[str, Any], own: str) -> dict[str, Any]:
    """`own` is the word for the address here. Raises InvalidRequest where two words contradict each other.

    `endpoint` with `specUrl` is where calls go, and the document is elsewhere. A value of another type is left as
    it is.
    """
    words = dict(given)
    if isinstance(transport := words.get("transport"), str) and transport in TRANSPORTS:
        words["transport"] = TRANSPORTS[transport]
        if not words["transport"]:
            del words["transport"]
    if own != URL and words.get(URL):
        if words.get(own) not in (None, "", words[URL]):
            raise contradiction(own, URL)
        words[own] = words.pop(URL)
    if not isinstance(endpoint := words.get(ENDPOINT), str) or not endpoint:
        return words
    del words[ENDPOINT]
    if words.get(own) not in (None, "", endpoint):
        raise contradiction(own, ENDPOINT)
    if not words.get("specUrl") or words.get("kind") == "mcp":
        return {**words, own: endpoint}
    if words.get("baseUrl") not in (None, "", endpoint):
        raise contradiction("baseUrl", ENDPOINT)
    document = words.pop("specUrl")
    return {**words, own: document, "baseUrl": endpoint}


def contradiction(own: str, other: str) -> InvalidRequest:
    return InvalidRequest(f"`{own}` and `{other}` name different addresses", hint=f"leave out `{other}`")
