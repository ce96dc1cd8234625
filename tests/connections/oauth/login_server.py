"""An MCP server that wants a login, made with the SDK: its own authorization server included. It prints its port first.

`/test/forget` makes it forget the access tokens it gave; `/test/state` tells what it has seen.
"""

from __future__ import annotations

import secrets
import socket
import time
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(100)
HERE = f"http://127.0.0.1:{listener.getsockname()[1]}"


class Provider:
    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshes = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        assert client.client_id
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject="ann",
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.codes.pop(authorization_code.code)
        return self.issue(authorization_code)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant", "used before")
        self.refreshes += 1
        return self.issue(refresh_token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.access.pop(token.token, None)

    def issue(self, given: AuthorizationCode | RefreshToken) -> OAuthToken:
        common = {"client_id": given.client_id, "scopes": given.scopes, "resource": given.resource, "subject": "ann"}
        access = AccessToken(token=f"mcp-at-{secrets.token_urlsafe(24)}", expires_at=int(time.time()) + 600, **common)
        refresh = RefreshToken(token=f"mcp-rt-{secrets.token_urlsafe(24)}", **common)
        self.access[access.token], self.refresh[refresh.token] = access, refresh
        return OAuthToken(
            access_token=access.token, refresh_token=refresh.token, expires_in=600, scope=" ".join(given.scopes)
        )


provider = Provider()
server = MCPServer(
    "Guarded",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=HERE,
        resource_server_url=f"{HERE}/mcp",
        validate_token_resource=True,
        required_scopes=["tools"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["tools"], default_scopes=["tools"]
        ),
    ),
)


@server.tool(structured_output=False)
def whoami() -> str:
    return "ann"


@server.custom_route("/test/forget", methods=["POST"])
async def forget(request: Request) -> JSONResponse:
    provider.access.clear()
    return JSONResponse({})


@server.custom_route("/test/state", methods=["GET"])
async def state(request: Request) -> JSONResponse:
    resources = [token.resource for token in provider.access.values()]
    return JSONResponse({"refreshes": provider.refreshes, "clients": len(provider.clients), "resources": resources})


if __name__ == "__main__":
    print(HERE, flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[listener])
