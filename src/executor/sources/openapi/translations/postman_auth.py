"""The authorization of Postman's requests, as security schemes."""

from __future__ import annotations

import re
from typing import Any

from executor.schemas.keywords import key_text

Node = dict[str, Any]
NONE = "noauth"
_ADDRESS = re.compile(r"https?://[^{}\s]+\Z")


def security(auth: Any, headers: list[Node], schemes: Node) -> list[Node] | None:
    """What a request needs, and its scheme added to `schemes`. None where the collection says nothing."""
    if isinstance(auth, dict) and auth.get("type") == NONE:
        return []
    scheme = scheme_of(auth) if isinstance(auth, dict) else from_header(headers)
    if scheme is None:
        return None
    name = next((name for name, known in schemes.items() if known == scheme), "")
    if not name:
        wanted = key_text(scheme.get("scheme") or scheme.get("type"))
        name = wanted if wanted not in schemes else f"{wanted}{len(schemes) + 1}"
        schemes[name] = scheme
    return [{name: []}]


def scheme_of(auth: Node) -> Node | None:
    kind = key_text(auth.get("type", ""))
    values = settings(auth.get(kind))
    if kind in ("bearer", "basic"):
        return {"type": "http", "scheme": kind}
    if kind == "jwt":
        return {"type": "http", "scheme": "bearer"}
    if kind == "apikey":
        place = "query" if values.get("in") == "query" else "header"
        return {"type": "apiKey", "in": place, "name": values.get("key") or "X-API-Key"}
    if kind == "oauth2":
        return oauth2(values)
    return {"type": kind} if kind else None


def settings(value: Any) -> dict[str, str]:
    """2.1 has a list of `{key, value}`, 2.0 a map."""
    if isinstance(value, list):
        value = {one.get("key"): one.get("value") for one in value if isinstance(one, dict)}
    return {key_text(key): key_text(part) for key, part in value.items()} if isinstance(value, dict) else {}


def oauth2(values: dict[str, str]) -> Node:
    """With the endpoints where the collection has them, else a token that someone enters."""
    authorize, token = values.get("authUrl", ""), values.get("accessTokenUrl", "")
    scopes = {scope: "" for scope in values.get("scope", "").split() if "{{" not in scope}
    if values.get("grant_type") == "client_credentials" and _ADDRESS.match(token):
        return {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": token, "scopes": scopes}}}
    if _ADDRESS.match(authorize) and _ADDRESS.match(token):
        flow = {"authorizationUrl": authorize, "tokenUrl": token, "scopes": scopes}
        return {"type": "oauth2", "flows": {"authorizationCode": flow}}
    return {"type": "http", "scheme": "bearer"}


def from_header(headers: list[Node]) -> Node | None:
    """Of a request that carries its own `Authorization`."""
    found = next((one for one in headers if key_text(one.get("key")).lower() == "authorization"), None)
    if found is None or found.get("disabled") is True:
        return None
    scheme = key_text(found.get("value") or "").strip().partition(" ")[0].lower()
    if scheme in ("bearer", "basic"):
        return {"type": "http", "scheme": scheme}
    return {"type": "apiKey", "in": "header", "name": "Authorization"}
