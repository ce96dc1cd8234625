"""Scenarios and single checks that Executor does not pass, each with its reason. `docs/conformance.md` shows them.

A key is a scenario, or a scenario and one of its checks: `scenario:check`. A listed one that passes is a failure too.
"""

from __future__ import annotations

from typing import Final

from tests.conformance.suite import Side

_FORMS = (
    "By design. The scenario wants the client to answer what the server asks. There, a model or a script could answer "
    "it. Executor asks people on its own page: the client gets the link, as URL elicitation or as text"
)
_MODEL = "By design. Executor never asks for the client's model, its folders or any other ability of the client"
_STATIC = "Does not apply: artifacts and the guide never change, so there is nothing to subscribe to"
_PORTABLE = (
    "By design. Providers of models refuse tools with `$schema`, or with alternatives at the top of a schema. "
    "So these are left out of the list, and arguments are still checked against the whole schema"
)
_FAILED = (
    "Does not apply. A call that fails is a result with `isError`, also in a task; no task ends as a protocol error"
)
_OPTIONAL = "Does not apply: no tool requires tasks. A client that doesn't know them waits, and calls `resume`"
_GRANTS = (
    "Not built: an optional extension of the authorization. Executor logs in with the authorization code, a device, or "
    "client credentials with a secret or a private key"
)
_HANDSHAKE = (
    "By design. Executor opens with the handshake, since servers that offer both often keep state by session, "
    "or ask people in the middle of a call. It continues as the newest revision says where that is refused"
)

EXCEPTIONS: Final[dict[Side, dict[str, str]]] = {
    "server": {
        "tools-call-sampling": _MODEL,
        "tools-call-elicitation": _FORMS,
        "elicitation-sep1034-defaults": _FORMS,
        "elicitation-sep1330-enums": _FORMS,
        "prompts-get-with-image": "Does not apply: the only prompt is the guide, which has no image",
        "resources-subscribe": _STATIC,
        "resources-unsubscribe": _STATIC,
        "server-stateless:sep-2575-server-rejects-undeclared-capability": _MODEL,
        "server-stateless:sep-2575-missing-capability-http-400": _MODEL,
        "json-schema-2020-12": _PORTABLE,
        "input-required-result-basic-elicitation": _FORMS,
        "input-required-result-basic-sampling": _MODEL,
        "input-required-result-basic-list-roots": _MODEL,
        "input-required-result-request-state": _FORMS,
        "input-required-result-multiple-input-requests": _FORMS,
        "input-required-result-multi-round": _FORMS,
        "input-required-result-missing-input-response": _FORMS,
        "input-required-result-non-tool-request": _FORMS,
        "input-required-result-result-type": _FORMS,
        "input-required-result-tampered-state": _FORMS,
        "input-required-result-capability-check": _FORMS,
        "input-required-result-ignore-extra-params": _FORMS,
        "tasks-lifecycle:sep-2663-tasks-get-status-failed": _FAILED,
        "tasks-mrtr-input": _FORMS,
        "tasks-required-task-error": _OPTIONAL,
        "tasks-mrtr-composition": _FORMS,
    },
    "client": {
        "auth/basic-cimd:cimd-client-id-used": (
            "Can't pass: the suite accepts only its own address as a client id. Executor uses the address of its own "
            "`client.json`"
        ),
        "auth/dpop": _GRANTS,
        "auth/dpop-nonce": _GRANTS,
        "auth/enterprise-managed-authorization": _GRANTS,
        "auth/wif-jwt-bearer": _GRANTS,
        "json-schema-2020-12-preservation": (
            "By design. Schemas are stored in one form for all kinds of sources, without `$schema` and `$anchor`"
        ),
        "request-metadata:sep-2575-http-client-sends-version-header": _HANDSHAKE,
        "request-metadata:sep-2575-client-populates-meta": _HANDSHAKE,
        "request-metadata:sep-2575-client-sends-client-info": _HANDSHAKE,
    },
}
