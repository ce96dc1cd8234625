"""Clients that authenticate with a private key (`private_key_jwt`), against another implementation of RFC 7523."""

from __future__ import annotations

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from executor.connections.oauth.client_assertion import sign_assertion
from executor.errors import InvalidRequest, OAuthFailed
from tests.support.authorization import Client
from tests.support.login_harness import LoginHarness

KEYS = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
}


def new_key(kind: str) -> tuple[str, str]:
    """A private key and its public one."""
    key = KEYS[kind]()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


@pytest.mark.parametrize("kind", KEYS)
async def test_a_client_with_a_private_key_signs_and_never_sends_it(harness: LoginHarness, kind: str) -> None:
    private, public = new_key(kind)
    harness.authority.ledger.clients["app-3"] = Client("app-3", public, (), "private_key_jwt")
    wish = harness.wish(client_id="app-3", client_secret=private, scopes=("read",))
    done = await harness.logins.by_credentials(harness.operator, wish)
    assert done.granted == ("read",)
    first = await harness.logins.grants.access_token(done.connection)
    harness.authority.ledger.tokens.clear()
    second = await harness.logins.grants.access_token(done.connection, rejected=first)  # another assertion
    assert harness.authority.ledger.token(second)


@pytest.mark.parametrize(("curve", "algorithm"), [(ec.SECP384R1(), "ES384"), (ec.SECP521R1(), "ES512")])
def test_the_algorithm_is_that_of_the_curve(curve: ec.EllipticCurve, algorithm: str) -> None:
    key = ec.generate_private_key(curve)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    signed = sign_assertion("app", pem, "https://login.example")
    claims = jwt.decode(signed, key.public_key(), [algorithm], audience="https://login.example")
    assert (claims["iss"], claims["sub"]) == ("app", "app") and claims["exp"] - claims["iat"] == 120


@pytest.mark.parametrize("secret", ["", "s3cret", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
async def test_what_is_not_a_private_key_is_refused_before_anything_is_sent(harness: LoginHarness, secret: str) -> None:
    wish = harness.wish(client_id="app-4", client_secret=secret, client_method="private_key_jwt")
    with pytest.raises(InvalidRequest, match="not a private key") as refused:
        await harness.logins.by_credentials(harness.operator, wish)
    assert "AAAA" not in str(refused.value)


async def test_a_signature_of_another_key_connects_nothing(harness: LoginHarness) -> None:
    harness.authority.ledger.clients["app-5"] = Client("app-5", new_key("p256")[1], (), "private_key_jwt")
    wish = harness.wish(client_id="app-5", client_secret=new_key("p256")[0])
    with pytest.raises(OAuthFailed, match="invalid_client"):
        await harness.logins.by_credentials(harness.operator, wish)
