"""The signature and the claims of a token, checked by PyJWT, which takes long to import: only once a token is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jwt import PyJWT, exceptions
from jwt.algorithms import OKPAlgorithm

from executor.identity.oidc.jwt import LEEWAY, MAX_TEXT, Unverified, check_times, parse_object, refusal

REASONS = {
    exceptions.ExpiredSignatureError: "the token has expired",
    exceptions.ImmatureSignatureError: "the token is not valid yet",
    exceptions.InvalidAudienceError: "the token was not issued for this daemon",
    exceptions.InvalidIssuerError: "the token was not issued by the authorization server of this daemon",
    exceptions.MissingRequiredClaimError: "the token lacks a claim that it must have: `iss`, `aud`, `exp` or `sub`",
}


class Verifier(PyJWT):
    def __init__(self) -> None:
        super().__init__({"require": ["iss", "aud", "exp", "sub"], "verify_jti": False})
        self._jws.register_algorithm("Ed25519", OKPAlgorithm())  # EdDSA under its newer name

    def _decode_payload(self, decoded: dict[str, Any]) -> dict[str, Any]:
        return parse_object(decoded["payload"])

    def claims(self, token: Unverified, keys: Iterable[Any], *, issuer: str, audience: str) -> dict[str, Any]:
        """If one of the keys, which all fit its algorithm, signed them, and they are for us and good at this time."""
        for key in keys:
            try:
                claims = self.decode(
                    token.text, key, [token.algorithm], issuer=issuer, audience=audience, leeway=LEEWAY
                )
            except exceptions.InvalidSignatureError:
                continue
            except exceptions.PyJWTError as error:
                raise refusal(REASONS.get(type(error), "the token is not a signed JWT")) from None
            check_times(claims)
            if not 0 < len(claims["sub"]) <= MAX_TEXT:
                raise refusal("the token has no subject")
            return claims
        raise refusal("the token was not signed by a key of the authorization server")
