"""HTTP around the strict authorization server, and a service that takes its tokens. Both on loopback, in threads."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from authlib.oauth2.rfc6749.errors import OAuth2Error

from tests.support.authorization import SCOPES, Form, Ledger, Server

Answer = tuple[int, Any, dict[str, str]]
NOTHING: Answer = (404, {"error": "not_found"}, {})


@dataclass
class Authority:
    """`metadata` changes what is published; None for a value takes it out. `hook` may answer in the server's place."""

    origin: str
    path: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    metadata: dict[str, Any] = field(default_factory=dict)
    publishes: bool = True
    states_issuer: bool = True
    issuer_in_answer: str = ""
    hook: Callable[[str, dict[str, str]], Answer | None] = lambda path, data: None
    consents: bool = True

    @property
    def issuer(self) -> str:
        return f"{self.origin}{self.path}"

    def answer(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        path, data = urlsplit(target).path, dict(parse_qsl(urlsplit(target).query))
        if body:
            is_json = headers.get("content-type", "").startswith("application/json")
            data |= json.loads(body) if is_json else dict(parse_qsl(body.decode(), keep_blank_values=True))
        with self.ledger.lock:
            self.ledger.asked[path] += 1
        if (instead := self.hook(path, data)) is not None:
            return instead
        if ".well-known" in path:
            return self._well_known(path)
        with self.ledger.lock:
            return self._protocol(Form(method, self.origin + path, data, headers), path.removeprefix(self.path))

    def _well_known(self, path: str) -> Answer:
        known = (
            f"/.well-known/oauth-authorization-server{self.path}",
            f"{self.path}/.well-known/openid-configuration",
        )
        return (200, self.document(), {}) if self.publishes and path in known else NOTHING

    def document(self) -> dict[str, Any]:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "device_authorization_endpoint": f"{self.issuer}/device_authorization",
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": self.states_issuer,
            **self.metadata,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _protocol(self, form: Form, path: str) -> Answer:
        server = Server(self.issuer, self.ledger)
        if path == "/authorize":
            return self._authorize(server, form)
        if path == "/token":
            self.ledger.asked[form.data.get("grant_type", "")] += 1
            self.ledger.forms.append(form.data)
            return server.create_token_response(form)  # type: ignore[no-any-return]  # authlib has no types
        names = {"/register": "client_registration", "/device_authorization": "device_authorization"}
        return server.create_endpoint_response(names[path], form) if path in names else NOTHING

    def _authorize(self, server: Server, form: Form) -> Answer:
        try:
            grant = server.get_consent_grant(form, end_user="ann")
        except OAuth2Error as error:
            return server.handle_error_response(form, error)  # type: ignore[no-any-return]
        status, body, headers = server.create_authorization_response(form, "ann" if self.consents else None, grant)
        issuer = self.issuer_in_answer or (self.issuer if self.states_issuer else "")
        if "Location" in headers and issuer:
            headers["Location"] += f"&iss={issuer}"
        return status, body, headers


@dataclass
class Service:
    """An API that takes the authority's tokens, and says so in its document, its metadata and its refusals."""

    origin: str
    authority: Authority
    publishes: bool = False
    calls: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    @property
    def resource(self) -> str:
        return f"{self.origin}/api"

    def answer(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        path = urlsplit(target).path
        if path == "/openapi.json":
            return 200, self.document(), {}
        if path == "/.well-known/oauth-protected-resource/api" and self.publishes:
            return 200, self.metadata(), {}
        if not path.startswith("/api/"):
            return NOTHING
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        known = self.authority.ledger.token(token)
        if known is None or (known.resource and known.resource != self.resource):
            return 401, {"error": "who are you"}, {"WWW-Authenticate": 'Bearer error="invalid_token"'}
        self.calls.append(path)
        return 200, {"name": "Ann", "scope": known.scope}, {}

    def metadata(self) -> dict[str, Any]:
        return {
            "resource": self.resource,
            "authorization_servers": [self.authority.issuer],
            "scopes_supported": ["read", "write"],
        }

    def document(self) -> dict[str, Any]:
        flow = {
            "authorizationUrl": f"{self.authority.issuer}/authorize",
            "tokenUrl": f"{self.authority.issuer}/token",
            "scopes": {"read": "look", "write": "change"},
        }
        me = {
            "get": {
                "operationId": "getMe",
                "tags": ["me"],
                "security": [{"login": ["read"]}],
                "responses": {
                    "200": {"description": "me", "content": {"application/json": {"schema": {"type": "object"}}}}
                },
            }
        }
        change = {"post": {**me["get"], "operationId": "setMe", "security": [{"login": ["write"]}]}}
        return {
            "openapi": "3.0.3",
            "info": {"title": "Service", "version": "1"},
            "servers": [{"url": self.resource}],
            "paths": {"/me": {**me, **change}},
            "components": {"securitySchemes": {"login": {"type": "oauth2", "flows": {"authorizationCode": flow}}}},
        }


@contextmanager
def listening(make: Callable[[str], Any]) -> Iterator[Any]:
    """Whatever `make` returns for its origin, served until the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            # authlib looks headers up by their usual names
            headers |= dict(self.headers.items())
            status, answer, sent = served.answer(self.command, self.path, body, headers)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode() if answer != "" else b""
            self.send_response(status)
            sent = {"Content-Type": "application/json", **sent}
            for name, value in sent.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = handle_any  # noqa: N815 - the library's names

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = make(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
