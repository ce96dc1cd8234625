"""An administrator of one workspace gives a private key that keeps the daemon from the work of all."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from executor.connections.oauth.client_assertion import check_key
from executor.errors import InvalidRequest

PRIMES = 2**4253 - 1, 2**4423 - 1


def test_261_a_private_key_so_large_that_its_check_takes_seconds_is_refused_unread() -> None:
    p, q = PRIMES
    private = pow(65537, -1, (p - 1) * (q - 1))
    parts = rsa.rsa_crt_dmp1(private, p), rsa.rsa_crt_dmq1(private, q), rsa.rsa_crt_iqmp(p, q)
    numbers = rsa.RSAPrivateNumbers(p, q, private, *parts, rsa.RSAPublicNumbers(65537, p * q))
    key = numbers.private_key(unsafe_skip_rsa_key_validation=True)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(InvalidRequest, match="not a private key"):
        check_key(pem)
