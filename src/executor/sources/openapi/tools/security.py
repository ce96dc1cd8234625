"""What a document says about credentials: its security schemes, and which of them each operation wants."""

from __future__ import annotations

from typing import Any

from executor.sources.openapi.documents import swagger
from executor.sources.openapi.documents.document import Document, key_text

Scheme = dict[str, Any]
MAX_TEXT = 300


def schemes(document: Document) -> list[Scheme]:
    """`{name, type, description, details}` each, in the order of the document."""
    found: Any
    if document.is_swagger:
        found = swagger.security_schemes(document.root)
    else:
        components = document.root.get("components")
        found = components.get("securitySchemes") if isinstance(components, dict) else None
    result = []
    for name, raw in found.items() if isinstance(found, dict) else ():
        if (scheme := document.object_at(raw)) is not None:
            result.append(describe_scheme(key_text(name), scheme))
    return result


def describe_scheme(name: str, raw: dict[str, Any]) -> Scheme:
    type, details = kind_of(raw)
    description = raw["description"][:MAX_TEXT] if isinstance(raw.get("description"), str) else ""
    return {"name": name[:200], "type": type, "description": description, "details": details}


def kind_of(raw: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    type = key_text(raw.get("type")).strip()
    if type.lower() == "apikey":
        return "apiKey", texts(raw, "in", "name")
    if type.lower() == "http":
        scheme = key_text(raw.get("scheme")).strip().lower()
        if scheme in ("bearer", "basic"):
            return f"http-{scheme}", texts(raw, "bearerFormat")
        return "unknown", {"scheme": scheme[:MAX_TEXT]}
    if type.lower() == "oauth2":
        return "oauth2", {"flows": flows(raw.get("flows")), **texts(raw, "oauth2MetadataUrl")}
    if type.lower() == "openidconnect":
        return "openIdConnect", texts(raw, "openIdConnectUrl")
    return ("mutualTLS", {}) if type.lower() == "mutualtls" else ("unknown", {"type": type[:MAX_TEXT]})


def flows(raw: Any) -> dict[str, Any]:
    found = {}
    for name, flow in raw.items() if isinstance(raw, dict) else ():
        if isinstance(flow, dict):
            scopes = flow.get("scopes")
            names = [key_text(scope)[:MAX_TEXT] for scope in scopes] if isinstance(scopes, dict | list) else []
            urls = texts(flow, "authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl")
            found[key_text(name)] = {**urls, "scopes": names}
    return found


def texts(raw: dict[str, Any], *names: str) -> dict[str, str]:
    return {name: raw[name][:2_000] for name in names if isinstance(raw.get(name), str)}


def required_schemes(operation: dict[str, Any], root: dict[str, Any]) -> list[dict[str, list[str]]]:
    """The alternatives of an operation, each a set of schemes with their scopes; an empty one means without any."""
    raw = operation.get("security", root.get("security"))
    found = []
    for one in raw if isinstance(raw, list) else []:
        if isinstance(one, dict):
            found.append(
                {
                    key_text(name): [key_text(scope) for scope in scopes] if isinstance(scopes, list) else []
                    for name, scopes in one.items()
                }
            )
    return found
