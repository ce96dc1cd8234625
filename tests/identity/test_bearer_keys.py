"""Keys of an issuer: every asymmetric kind, rotation, and how often the issuer is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from executor.errors import IssuerUnavailable, OAuthFailed, Unauthorized
from executor.identity.oidc import jwks, jwt
from executor.identity.oidc.issuer import RETRY_SECONDS, Issuer, places
from executor.identity.oidc.jwks import FRESH_SECONDS, INTERVAL_SECONDS, STALE_SECONDS, KeySet
from executor.network.client import Egress
from tests.support.token_issuer import TokenIssuer, a_key, issuing, new_key

AUDIENCE = "https://executor.example/mcp"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Direct:
    """Answers of an issuer without a network, counted."""

    def __init__(self, authority: TokenIssuer) -> None:
        self.authority = authority
        self.asked: list[str] = []
        self.is_down = False

    async def document(self, url: str, bearer: str = "") -> dict[str, Any] | None:
        self.asked.append(url)
        if self.is_down:
            raise OAuthFailed("nobody answers")
        status, body, _ = self.authority.answer("GET", url.removeprefix(self.authority.origin), b"", {})
        return body if status == 200 else None

    async def post_form(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> Any:
        raise AssertionError("nothing is posted for keys")

    @property
    def fetches(self) -> int:
        return sum(url.endswith("/jwks") for url in self.asked)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authority() -> TokenIssuer:
    issuing = TokenIssuer("https://login.example")
    issuing.ledger.resource = AUDIENCE
    return issuing


@pytest.fixture
def wire(authority: TokenIssuer) -> Direct:
    return Direct(authority)


@pytest.fixture
def keys(authority: TokenIssuer, wire: Direct, clock: Clock) -> KeySet:
    return KeySet(Issuer(authority.issuer, wire, clock=clock), wire, clock=clock)


@pytest.mark.parametrize("algorithm", [*jwt.ALGORITHMS])
async def test_every_asymmetric_algorithm_is_verified(algorithm: str, authority: TokenIssuer, keys: KeySet) -> None:
    authority.algorithm, authority.key = algorithm, a_key(algorithm)
    token = authority.token()
    await keys.verify(jwt.read(token), AUDIENCE)
    head, _, signature = token.rpartition(".")
    with pytest.raises(Unauthorized):
        await keys.verify(jwt.read(f"{head}.{signature[:-8]}{signature[:8]}"), AUDIENCE)


async def test_a_good_signature_is_not_enough(authority: TokenIssuer, keys: KeySet) -> None:
    """Each of these would pass a check of the signature alone, and some of them PyJWT's own check of claims."""
    for changes in (
        *({"aud": "https://other.example"}, {"iss": "https://evil.example"}, {"exp": 1}, {"exp": "9999999999"}),
        *({"exp": True}, {"iat": "1"}, {"nbf": False}, {"sub": ""}, {"sub": "s" * 256}),
    ):
        with pytest.raises(Unauthorized):
            await keys.verify(jwt.read(authority.token(**changes)), AUDIENCE)


async def test_keys_are_fetched_once(authority: TokenIssuer, keys: KeySet, wire: Direct) -> None:
    for _ in range(5):
        await keys.verify(jwt.read(authority.token()), AUDIENCE)
    assert wire.fetches == 1


async def test_a_new_key_is_found_and_an_old_one_forgotten(
    authority: TokenIssuer, keys: KeySet, wire: Direct, clock: Clock
) -> None:
    old = authority.token()
    await keys.verify(jwt.read(old), AUDIENCE)
    authority.key = a_key("RS256", "second")
    clock.now += INTERVAL_SECONDS
    await keys.verify(jwt.read(authority.token()), AUDIENCE)
    assert wire.fetches == 2
    with pytest.raises(Unauthorized):
        await keys.verify(jwt.read(old), AUDIENCE)


async def test_an_unknown_key_is_looked_for_at_most_once_in_an_interval(
    authority: TokenIssuer, keys: KeySet, wire: Direct, clock: Clock
) -> None:
    await keys.verify(jwt.read(authority.token()), AUDIENCE)
    for _ in range(10):
        clock.now += INTERVAL_SECONDS / 5
        with pytest.raises(Unauthorized):
            await keys.verify(jwt.read(authority.token(header={"kid": "unknown"})), AUDIENCE)
    assert wire.fetches == 3


async def test_keys_are_believed_for_a_while_when_the_issuer_is_away_and_then_no_more(
    authority: TokenIssuer, keys: KeySet, wire: Direct, clock: Clock
) -> None:
    await keys.verify(jwt.read(authority.token()), AUDIENCE)
    wire.is_down = True
    clock.now += FRESH_SECONDS + 1
    await keys.verify(jwt.read(authority.token()), AUDIENCE)
    clock.now += STALE_SECONDS
    with pytest.raises(IssuerUnavailable):
        await keys.verify(jwt.read(authority.token()), AUDIENCE)
    wire.is_down = False
    clock.now += RETRY_SECONDS
    await keys.verify(jwt.read(authority.token()), AUDIENCE)


async def test_an_issuer_that_is_away_is_not_asked_again_at_once(
    authority: TokenIssuer, keys: KeySet, wire: Direct, clock: Clock
) -> None:
    wire.is_down = True
    for _ in range(5):
        with pytest.raises(IssuerUnavailable):
            await keys.verify(jwt.read(authority.token()), AUDIENCE)
    assert len(wire.asked) == len(places(authority.issuer))


async def test_a_token_that_names_no_key_is_taken_only_if_one_alone_could_be_meant(
    authority: TokenIssuer, wire: Direct, clock: Clock
) -> None:
    token = jwt.read(authority.sign('{"alg": "RS256"}', json.dumps(authority.claims())))
    public = [authority.key.as_dict(private=False), a_key("ES256").as_dict(private=False)]
    assert len(jwks.choose_keys(jwks.parse_keys(public), token)) == 1
    public.append(a_key("RS256", "second").as_dict(private=False))
    assert jwks.choose_keys(jwks.parse_keys(public), token) == []


def test_keys_that_must_not_verify_are_left_out() -> None:
    good = a_key("RS256").as_dict(private=False)
    weak = new_key("RS256", "x").as_dict(private=False)
    bad: list[Any] = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
        a_key("RS256").as_dict(private=True),
        {**good, "use": "enc"},
        {**good, "alg": "HS256"},
        {**good, "alg": "none"},
        {**good, "kid": 5},
        {**weak, "n": weak["n"][:170]},
        {**good, "n": "!!"},
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "Ed25519"},
        {},
        None,
        "key",
    ]
    assert jwks.parse_keys(bad) == ()
    assert len(jwks.parse_keys([*bad, good])) == 1


@pytest.mark.parametrize("said", ["https://login.example/", "https://evil.example", None, 5])
async def test_metadata_of_another_issuer_is_not_believed(authority: TokenIssuer, wire: Direct, said: Any) -> None:
    authority.metadata = {"issuer": said}
    with pytest.raises(IssuerUnavailable, match="can't be used"):
        await Issuer(authority.issuer, wire).metadata()


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "http://login.example/jwks", 5])
async def test_an_endpoint_must_be_an_encrypted_address(authority: TokenIssuer, wire: Direct, address: Any) -> None:
    authority.metadata = {"jwks_uri": address}
    with pytest.raises(IssuerUnavailable):
        await Issuer(authority.issuer, wire).address("jwks_uri")


@pytest.fixture(scope="module")
def live_issuer() -> Iterator[TokenIssuer]:
    with issuing("/realm") as authority:
        yield authority


async def test_what_the_issuer_names_on_a_private_network_is_not_reached(live_issuer: TokenIssuer) -> None:
    """Only what an operator wrote is open: a hostile issuer can't point us at another port of this machine."""
    from executor.daemon.wiring.issuers import IssuerWire

    egress = Egress()
    try:
        with issuing() as other:
            wire = IssuerWire(egress, live_issuer.issuer)
            assert await wire.document(f"{live_issuer.issuer}/jwks") is not None
            with pytest.raises(OAuthFailed):
                await wire.document(f"{other.issuer}/jwks")
            assert other.ledger.asked.total() == 0
    finally:
        await egress.close()
