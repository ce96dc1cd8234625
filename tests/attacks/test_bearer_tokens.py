"""Hostile tokens at `/mcp`: forged, confused, borrowed, stale, ambiguous, huge. All are refused."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from executor.model.identity.permissions import AGENT
from tests.identity.test_bearer_tokens import ask
from tests.support.rate_limits import stop_rate_limit_clocks
from tests.support.token_issuer import SCOPE, TokenIssuer, a_key, encode_part, issuing
from tests.surfaces.api.daemon_server import Daemon, running_daemon


@pytest.fixture(scope="module")
def authority() -> Iterator[TokenIssuer]:
    with issuing() as authority:
        yield authority


@pytest.fixture(scope="module")
def daemon(authority: TokenIssuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon"), mcp_issuer=authority.issuer) as daemon:
        authority.ledger.resource = f"{daemon.url}/mcp"
        yield daemon


@pytest.fixture(autouse=True)
def forgiven(daemon: Daemon) -> None:
    daemon.executor.authenticator.attempts.clear()


def refusal_reason(daemon: Daemon, token: str) -> str:
    """The reason; whatever it is, nothing was run and nobody was made."""
    before = len(daemon.get("/v1/agents").json["items"])
    answer = ask(daemon, token)
    assert answer.status == 401, answer.body
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert len(daemon.get("/v1/agents").json["items"]) == before
    return str(answer.json["detail"])


def parts(authority: TokenIssuer) -> tuple[str, str, str]:
    header, claims, signature = authority.token().split(".")
    return header, claims, signature


def test_the_token_that_the_others_are_made_from_is_good(daemon: Daemon, authority: TokenIssuer) -> None:
    assert ask(daemon, authority.token()).status == 200


@pytest.mark.parametrize("name", ["none", "None", "NONE", "nOnE", "", "HS256", "HS512", "dir", "A128KW", "RSA1_5"])
def test_alg_none_and_other_words(daemon: Daemon, authority: TokenIssuer, name: str) -> None:
    """The defence: `algorithm not in ALGORITHMS` in identity/oidc/jwt.py."""
    _, claims, signature = parts(authority)
    for last in (signature, encode_part(b"x")):
        why = refusal_reason(daemon, f"{encode_part({'alg': name, 'kid': authority.key.kid})}.{claims}.{last}")
        assert "asymmetric" in why


def test_alg_none_with_an_empty_signature(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: `_FORM` in identity/oidc/jwt.py wants all three parts."""
    _, claims, _ = parts(authority)
    refusal_reason(daemon, f"{encode_part({'alg': 'none'})}.{claims}.")


@pytest.mark.parametrize("form", ["pem", "der", "n"])
def test_hs256_with_the_public_key_as_its_secret(daemon: Daemon, authority: TokenIssuer, form: str) -> None:
    """Key confusion. The defence: ALGORITHMS in identity/oidc/jwt.py has no algorithm with a shared secret."""
    secrets = {
        "pem": authority.key.as_pem(private=False),
        "der": authority.key.as_der(private=False),
        "n": authority.key.as_dict(private=False)["n"].encode(),
    }
    first = f"{encode_part({'alg': 'HS256', 'typ': 'JWT', 'kid': authority.key.kid})}.{encode_part(authority.claims())}"
    mac = hmac.new(secrets[form], first.encode(), hashlib.sha256).digest()
    refusal_reason(daemon, f"{first}.{encode_part(mac)}")


def test_an_algorithm_that_does_not_fit_the_key(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: `PublicKey.fits` in identity/oidc/jwks.py."""
    first = f"{encode_part({'alg': 'ES256', 'kid': authority.key.kid})}.{encode_part(authority.claims())}"
    refusal_reason(daemon, f"{first}.{encode_part(b'0' * 64)}")
    refusal_reason(daemon, authority.token(header={"alg": "PS256"}))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_key_of_the_attackers_own_under_the_issuers_key_id(
    daemon: Daemon, authority: TokenIssuer, algorithm: str
) -> None:
    """The defence: `Verifier.claims` in identity/oidc/verification.py."""
    key = a_key(algorithm, "attacker")
    refusal_reason(daemon, authority.token(header={"alg": algorithm}, key=key))


def test_a_key_that_the_token_brings_along(daemon: Daemon, authority: TokenIssuer) -> None:
    """`jwk`, `jku`, `x5u`: the defence is that identity/oidc/jwt.py reads nothing of a header but `alg`, `kid`,
    `typ`."""
    key = a_key("RS256", "attacker")
    asked = authority.ledger.asked.total()
    for extra in ({"jwk": key.as_dict(private=False)}, {"jku": f"{authority.origin}/evil"}, {"x5u": authority.origin}):
        header = json.dumps({"alg": "RS256", "kid": authority.key.kid, **extra})
        refusal_reason(daemon, authority.sign(header, json.dumps(authority.claims()), key))
    assert authority.ledger.asked["/evil"] == 0
    assert authority.ledger.asked.total() <= asked + 1


@pytest.mark.parametrize(
    "kid",
    ["../../../../../etc/passwd", "/dev/null", "x' OR '1'='1", "http://127.0.0.1/jwks", "\x00", "first\n", "k" * 255],
)
def test_a_key_id_that_is_a_path_or_a_query(daemon: Daemon, authority: TokenIssuer, kid: str) -> None:
    """The defence: `choose_keys` in identity/oidc/jwks.py compares it, and it goes nowhere else."""
    header = json.dumps({"alg": "RS256", "kid": kid})
    assert "key" in refusal_reason(daemon, authority.sign(header, json.dumps(authority.claims())))


@pytest.mark.parametrize("kid", [None, 1, ["first"], {"a": 1}, "k" * 256])
def test_a_key_id_that_is_no_name(daemon: Daemon, authority: TokenIssuer, kid: Any) -> None:
    header = json.dumps({"alg": "RS256", "kid": kid})
    refusal_reason(daemon, authority.sign(header, json.dumps(authority.claims())))


def test_a_flood_of_unknown_key_ids_does_not_reach_the_issuer(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: INTERVAL_SECONDS in identity/oidc/jwks.py."""
    ask(daemon, authority.token())
    before = authority.ledger.asked["/jwks"]
    for number in range(20):
        header = json.dumps({"alg": "RS256", "kid": f"unknown-{number}"})
        refusal_reason(daemon, authority.sign(header, json.dumps(authority.claims())))
    assert authority.ledger.asked["/jwks"] <= before + 1


@pytest.mark.parametrize(
    "aud",
    ["https://other.example/mcp", [], ["x", "y"], None, "", 1, {"a": 1}, "http://127.0.0.1", [["nested"]]],
)
def test_a_token_for_another_audience(daemon: Daemon, authority: TokenIssuer, aud: Any) -> None:
    """The confused deputy. The defence: `Verifier.claims` in identity/oidc/verification.py."""
    refusal_reason(daemon, authority.token(aud=aud))


def test_an_audience_that_only_begins_like_ours(daemon: Daemon, authority: TokenIssuer) -> None:
    ours = f"{daemon.url}/mcp"
    for aud in (ours + "/", ours + "x", ours[:-1], ours.upper(), f"{ours}?", f" {ours}"):
        refusal_reason(daemon, authority.token(aud=aud))


def test_a_token_of_another_issuer(daemon: Daemon, authority: TokenIssuer) -> None:
    """Mix-up, even with a good signature. The defence: `Verifier.claims` in identity/oidc/verification.py."""
    for iss in ("https://evil.example", authority.issuer + "/", authority.issuer.upper(), "", None, [authority.issuer]):
        refusal_reason(daemon, authority.token(iss=iss))


@pytest.mark.parametrize("exp", [1, 0, -1, None, "9999999999", True, 1e400, [9999999999], 1 << 60])
def test_a_token_that_has_expired_or_never_does(daemon: Daemon, authority: TokenIssuer, exp: Any) -> None:
    """The defence: PyJWT, and `check_times` in identity/oidc/jwt.py for what it takes as a number."""
    claims = (
        json.dumps({**authority.claims(), "exp": exp}) if exp is not None else json.dumps(authority.claims(exp=None))
    )
    refusal_reason(daemon, authority.sign(json.dumps({"alg": "RS256", "kid": authority.key.kid}), claims))


@pytest.mark.parametrize("name", ["nbf", "iat"])
def test_a_token_from_the_future(daemon: Daemon, authority: TokenIssuer, name: str) -> None:
    """The defence: `Verifier.claims` in identity/oidc/verification.py."""
    assert "yet" in refusal_reason(daemon, authority.token(**{name: int(time.time()) + 3600}))
    refusal_reason(daemon, authority.token(**{name: "soon"}))


@pytest.mark.parametrize("sub", [None, "", 1, ["ann"], "s" * 256])
def test_a_token_of_no_one(daemon: Daemon, authority: TokenIssuer, sub: Any) -> None:
    refusal_reason(daemon, authority.token(sub=sub))


@pytest.mark.parametrize("where", ["header", "claims"])
def test_a_name_that_stands_there_twice(daemon: Daemon, authority: TokenIssuer, where: str) -> None:
    """Two readers, two meanings. The defence: `_unique` in identity/oidc/jwt.py."""
    header = json.dumps({"alg": "RS256", "kid": authority.key.kid})
    claims = json.dumps(authority.claims())
    if where == "header":
        header = header.replace('"alg": "RS256"', '"alg": "none", "alg": "RS256"')
    else:
        claims = claims.replace('"sub"', '"sub": "root", "sub"')
    assert "ambiguous" in refusal_reason(daemon, authority.sign(header, claims))


def test_a_token_inside_a_token(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: REFUSED_HEADERS and `parse_object` in identity/oidc/jwt.py."""
    header = json.dumps({"alg": "RS256", "kid": authority.key.kid, "cty": "JWT"})
    refusal_reason(daemon, authority.sign(header, authority.token()))
    refusal_reason(daemon, authority.sign(header, json.dumps(authority.claims())))
    refusal_reason(daemon, authority.sign(json.dumps({"alg": "RS256", "kid": authority.key.kid}), authority.token()))
    refusal_reason(daemon, f"{authority.token()}.{authority.token()}")


@pytest.mark.parametrize(
    "extra", [{"crit": ["exp"]}, {"b64": False}, {"zip": "DEF"}, {"typ": "logout+jwt"}, {"typ": 1}]
)
def test_a_header_that_asks_for_what_is_not_understood(daemon: Daemon, authority: TokenIssuer, extra: Any) -> None:
    """The defence: REFUSED_HEADERS and TYPES in identity/oidc/jwt.py."""
    header = json.dumps({"alg": "RS256", "kid": authority.key.kid, **extra})
    refusal_reason(daemon, authority.sign(header, json.dumps(authority.claims())))


def test_a_huge_token(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: LARGEST in identity/oidc/jwt.py."""
    assert "longer" in refusal_reason(daemon, authority.token(filler="x" * 10_000))


def test_claims_nested_until_a_parser_falls_over(daemon: Daemon, authority: TokenIssuer) -> None:
    """The defence: LARGEST, and that a RecursionError is a refusal, in identity/oidc/jwt.py."""
    deep = "[" * 3_000 + "]" * 3_000
    claims = json.dumps(authority.claims())[:-1] + f', "deep": {deep}}}'
    header = json.dumps({"alg": "RS256", "kid": authority.key.kid})
    assert ask(daemon, authority.sign(header, claims)).status in (200, 401)


@pytest.mark.parametrize("text", ["[]", '"x"', "1", "null", "{", "{}x", '{"a": NaN}', "\ufeff{}", ""])
def test_claims_that_are_no_object(daemon: Daemon, authority: TokenIssuer, text: str) -> None:
    refusal_reason(daemon, authority.sign(json.dumps({"alg": "RS256", "kid": authority.key.kid}), text))


def test_another_spelling_of_a_good_token(daemon: Daemon, authority: TokenIssuer) -> None:
    """A second text for the same token would get past whoever compares texts. The defence: `_FORM`, and PyJWT."""
    header, claims, signature = parts(authority)
    last = {"A": "B", "Q": "R", "g": "h", "w": "x"}[signature[-1]]
    for token in (
        f"{header}=.{claims}.{signature}",
        f"{header}.{claims}.{signature}==",
        f"{header}.{claims}.{signature[:-1]}{last}",
        f"{header}.{claims}.{signature}\t",
        f"{header}.{claims}\u00a0.{signature}",
    ):
        if not token.endswith("\t"):  # white space around a header's value is no part of it
            answer = daemon.post("/mcp", {}, role=None, headers={"Authorization": f"Bearer {token}".encode("latin-1")})  # type: ignore[dict-item]
            assert answer.status == 401, token[-4:]


def test_a_stolen_signature_under_other_claims(daemon: Daemon, authority: TokenIssuer) -> None:
    header, _, signature = parts(authority)
    refusal_reason(daemon, f"{header}.{encode_part(authority.claims(sub='root'))}.{signature}")


@pytest.mark.parametrize(
    "claims",
    [
        {"permissions": ["own", "decide"], "role": "owner", "roles": ["owner"]},
        {"scope": f"{SCOPE} decide administer own read"},
        {"scp": [SCOPE, "own"], "groups": ["admin"]},
    ],
)
def test_claims_that_ask_for_more_than_an_agent_may(daemon: Daemon, authority: TokenIssuer, claims: Any) -> None:
    """The defence: `permissions=AGENT` in identity/oidc/external_agents.py, and surfaces/app.py: only at /mcp."""
    token = authority.token(sub="greedy", **claims)
    assert ask(daemon, token).status == 200
    for method, path in (
        ("GET", "/v1/events"),
        ("GET", "/v1/auth/whoami"),
        ("POST", "/v1/policies"),
        ("POST", "/v1/executions"),
        ("POST", "/v1/auth/links"),
        ("POST", "/mcp/anonymous"),
    ):
        answer = daemon.request(method, path, {} if method == "POST" else None, role=token)
        assert (answer.status, answer.json["code"]) == (403, "forbidden"), path
    bearers = daemon.executor.issuers.bearers
    assert bearers is not None
    actor = daemon.run(bearers.verify(token, ""))
    assert (actor.kind, actor.permissions, actor.account_id) == ("agent", AGENT, "")


def test_the_subject_of_a_token_can_not_choose_a_workspace(daemon: Daemon, authority: TokenIssuer) -> None:
    headers = {"X-Executor-Workspace": "ws_other"}
    assert daemon.post("/mcp", {}, role=authority.token(), headers=headers).status == 404


def test_the_subject_of_another_issuer_is_another_agent(daemon: Daemon, authority: TokenIssuer) -> None:
    """An id of ours as a subject is only a name. The defence: `subjects.agent` looks by issuer and subject."""
    ours = daemon.executor.tenancy.agent.id
    assert ask(daemon, authority.token(sub=ours)).status == 200
    agents = daemon.get("/v1/agents").json["items"]
    assert [one["name"] for one in agents if one["id"] == ours] == ["agent"]
    assert [one for one in agents if one["name"].startswith(f"{ours} (")]


def test_guessing_tokens_is_slowed_down(
    daemon: Daemon, authority: TokenIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defence: `attempts.spend` in identity/authentication.py."""
    stop_rate_limit_clocks(daemon, monkeypatch)
    answers = [ask(daemon, authority.token(exp=number + 1)).status for number in range(90)]
    assert answers[0] == 401 and answers[-1] == 429
