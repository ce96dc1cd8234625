"""What a server sends to ask a person something: read and checked before anyone sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.errors import EgressRefused, InvalidRequest
from executor.model.interaction import Elicitation
from executor.network.addresses import parse
from executor.schemas.form import read_form

MAX_MESSAGE = 8_000
MAX_URL = 4_000


def read_elicitation(params: Mapping[str, Any]) -> Elicitation:
    """Raises InvalidRequest, with what the protocol does not allow."""
    message, mode = params.get("message"), params.get("mode", "form")
    if not isinstance(message, str) or len(message) > MAX_MESSAGE:
        raise InvalidRequest(f"`message` is not a text of at most {MAX_MESSAGE} characters", hint="shorten it")
    if mode == "url":
        return Elicitation(message, url=read_url(params.get("url")))
    if mode != "form":
        raise InvalidRequest(f"the mode {str(mode)[:100]!r} is not known", hint="use form or url")
    read_form(params.get("requestedSchema"))
    return Elicitation(message, schema=params["requestedSchema"])


def read_url(url: Any) -> str:
    """A page that a person can look at before they open it: plain http or https, its host in ASCII."""
    if not isinstance(url, str) or len(url) > MAX_URL:
        raise InvalidRequest(f"`url` is not a text of at most {MAX_URL} characters", hint="send a shorter address")
    try:
        return parse(url).url
    except EgressRefused as error:
        raise InvalidRequest(error.message, hint=error.hint) from error
