"""Parameters that carry a credential. A connection fills them, so they are no arguments: agents hold no secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from executor.errors import ToolError
from executor.model.credentials import Credential, Pairs
from executor.model.tool import Tool
from executor.sources.openapi.storage_format import CredentialBinding, OpenApiBinding, binding_of
from executor.sources.openapi.tools.parameters import Parameter
from executor.sources.openapi.tools.request_body import Body, Fields
from executor.sources.openapi.tools.security import Scheme
from executor.sources.pagination.names import plain

# Compared without case and separators. The first say it by themselves; the others need a description that does.
NAMED = frozenset(
    {
        "apikey", "xapikey", "apitoken", "xapitoken", "accesstoken", "xaccesstoken", "authtoken", "xauthtoken",
        "authkey", "xauthkey", "oauthtoken", "bearertoken", "privatetoken", "subscriptionkey", "ocpapimsubscriptionkey",
        "authenticationtoken", "authorizationtoken", "xauthorization",
    }
)  # fmt: skip
VAGUE = frozenset({"token", "xtoken", "key", "auth", "authorization", "authentication"})
BARE_HEADERS = frozenset({"token", "xtoken", "auth"})
PLACES = ("header", "query", "cookie")
# Schemes that put a bearer token into a header of their own.
HEADER_SCHEMES = frozenset({"http-bearer", "oauth2", "openIdConnect"})
USABLE = HEADER_SCHEMES | {"apiKey", "http-basic"}
_SAYS_SO = re.compile(
    r"\b(?:authenticat|authori[sz]|bearer|credential|oauth|(?:api|access|secret|private)[ _-]?(?:key|token))",
    re.IGNORECASE,
)
_IS_ANOTHER = re.compile(
    r"\b(?:page|pagination|next|continu\w+|cursor|refresh|reset|revo\w+|invit\w+|verif\w+|confirm\w+|device|push"
    r"|delet\w+|remov\w+|rotat\w+|regist\w+|csrf|xsrf|webhooks?|introspect\w*|inspect\w*|exchang\w+|one[- ]time|captcha"
    r"|look\w*)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;!?]\s|\n")


def is_credential(name: str, place: str, description: str, schemes: Iterable[Scheme]) -> bool:
    """By the document's own schemes, else by name and description. Never a guess where it could as well be data."""
    if any(is_scheme(name, place, one) for one in schemes):
        return True
    bare = plain(name)
    if bare not in NAMED and bare not in VAGUE:
        return False
    said = _SENTENCE.split(description.strip(), 1)[0]
    if _IS_ANOTHER.search(said):
        return False
    if _SAYS_SO.search(said):
        return place in (*PLACES, "form")
    if bare in NAMED:
        return place in PLACES
    return place == "header" and bare in BARE_HEADERS and not said


def is_scheme(name: str, place: str, scheme: Scheme) -> bool:
    details = scheme["details"]
    if scheme["type"] != "apiKey" or str(details.get("in", "")).lower() != place:
        return False
    known = str(details.get("name", ""))
    return known.lower() == name.lower() if place == "header" else known == name


def without_credentials(
    parameters: list[Parameter], schemes: Sequence[Scheme]
) -> tuple[list[Parameter], list[CredentialBinding]]:
    """The parameters that are arguments, and how the others are bound."""
    found = [one for one in parameters if is_credential(one.name, one.place, one.description, schemes)]
    bound = [bound_as(one.name, one.place, one.required, takes_bearer(schemes)) for one in found]
    return ([one for one in parameters if one not in found], bound) if found else (parameters, [])


def takes_bearer(schemes: Sequence[Scheme]) -> bool:
    """Whether a bearer token may go into a parameter: the document has no header for one."""
    return not any(scheme["type"] in HEADER_SCHEMES for scheme in schemes)


def bound_as(name: str, place: str, required: bool, may_be_bearer: bool) -> CredentialBinding:
    """`bearer` says that a bearer token goes here too."""
    bound: CredentialBinding = {"name": name, "in": place, "required": required}
    return {**bound, "bearer": True} if required and may_be_bearer else bound


def form_without_credentials(
    body: Body | None, schemes: Sequence[Scheme]
) -> tuple[Body | None, list[CredentialBinding]]:
    if body is None or body.form not in ("form", "multipart") or body.fields is None:
        return body, []
    fields = body.fields
    described = {name: description_of(raw) for name, raw in fields.properties.items()}
    found = [name for name, text in described.items() if is_credential(name, "form", text, schemes)]
    if not found:
        return body, []
    bound = [bound_as(name, "form", name in fields.required, takes_bearer(schemes)) for name in found]
    kept = {name: raw for name, raw in fields.properties.items() if name not in found}
    left = Fields(kept, fields.required - set(found), fields.open)
    schema = {"type": "object", "properties": kept, "required": sorted(left.required)}
    encoding = {name: one for name, one in body.encoding.items() if name not in found}
    return replace(body, fields=left, schema=schema, encoding=encoding), bound


def description_of(raw: Any) -> str:
    text = raw.get("description") if isinstance(raw, dict) else None
    return text if isinstance(text, str) else ""


def find_undeclared(bindings: Iterable[OpenApiBinding], schemes: Sequence[Scheme]) -> list[Scheme]:
    """Schemes for a document that names credentials only among its parameters, the most common first."""
    if any(scheme["type"] in USABLE for scheme in schemes):
        return []
    counts: dict[tuple[str, str], int] = {}
    for binding in bindings:
        for one in binding.get("credentials", ()):
            if one["in"] in PLACES:
                counts[(one["in"], one["name"])] = counts.get((one["in"], one["name"]), 0) + 1
    return [
        {"name": name, "type": "apiKey", "description": "", "details": {"in": place, "name": name}}
        for place, name in sorted(counts, key=lambda key: -counts[key])
    ]


def needed_parameters(credentials: Iterable[CredentialBinding]) -> list[CredentialBinding]:
    return [one for one in credentials if one["required"] and one["in"] in PLACES]


def check_not_given(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raises ToolError if arguments name a credential: nothing that an agent makes up is sent in its place."""
    credentials = binding_of(tool).get("credentials")
    if not credentials:
        return
    whole, known = arguments.get(tool.body_argument), tool.input_schema["properties"]
    for one in credentials:
        inside = one["in"] == "form" and isinstance(whole, dict) and one["name"] in whole
        if inside or (one["name"] in arguments and one["name"] not in known):
            raise ToolError(
                "invalid_arguments",
                f"{one['name']!r} is not an argument: the connection of this source provides it",
                details={"problems": [{"at": f"/{one['name']}", "message": "a connection provides it"}]},
                hint=f"leave out {one['name']!r}; credentials belong in connections, not in code",
            )


def with_bearer(binding: OpenApiBinding, credential: Credential | None) -> tuple[Credential | None, dict[str, str]]:
    """The credential with its bearer token also where the document wants it, and the fields of a form that carry it."""
    if credential is None:
        return None, {}
    places = [one for one in binding.get("credentials", ()) if one.get("bearer")]
    token = bearer_of(credential.headers) if places else ""
    if not token:
        return credential, {}
    given = {name.lower() for name, _ in (*credential.headers, *credential.query, *credential.cookies)}
    lacking = [one for one in places if one["name"].lower() not in given]
    more = {place: tuple((one["name"], token) for one in lacking if one["in"] == place) for place in PLACES}
    filled = replace(
        credential,
        headers=(*credential.headers, *more["header"]),
        query=(*credential.query, *more["query"]),
        cookies=(*credential.cookies, *more["cookie"]),
    )
    return filled, {one["name"]: token for one in lacking if one["in"] == "form"}


def bearer_of(headers: Pairs) -> str:
    written = next((value for name, value in headers if name.lower() == "authorization"), "")
    scheme, _, token = written.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
