from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "executor.demo", "--port", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def call(url: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_sample_service_keeps_its_books(process: subprocess.Popen[str]) -> None:
    url = address(process)
    assert len(call(f"{url}/invoices")[1]) == 4
    assert [one["status"] for one in call(f"{url}/invoices?status=open&limit=1")[1]] == ["open"]
    status, invoice = call(f"{url}/invoices", "POST", {"customer": "Me", "amount": 10})
    assert (status, invoice["refunded"]) == (201, 0)
    refunds = f"{url}/invoices/{invoice['id']}/refunds"
    assert call(refunds, "POST", {"amount": 11})[0] == 409
    first = call(refunds, "POST", {"amount": 4}, **{"Idempotency-Key": "k"})
    assert first[0] == 201
    assert call(refunds, "POST", {"amount": 4}, **{"Idempotency-Key": "k"}) == first
    assert call(f"{url}/invoices/{invoice['id']}")[1]["refunded"] == 4
    assert call(refunds, "POST", {"amount": 6})[0] == 201
    assert call(f"{url}/invoices/{invoice['id']}")[1]["status"] == "refunded"
    assert call(f"{url}/invoices/{invoice['id']}", "DELETE") == (204, None)
    assert call(f"{url}/invoices/{invoice['id']}")[0] == 404
    assert {"name": "Ada Lovelace", "invoices": 2} in call(f"{url}/customers")[1]


@pytest.mark.parametrize("body", [None, [], {}, {"customer": "x"}, {"customer": "x", "amount": -1}])
def test_a_nonsense_invoice_is_refused(process: subprocess.Popen[str], body: Any) -> None:
    assert call(f"{address(process)}/invoices", "POST", body)[0] == 422


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}]
)
def test_no_page_in_a_browser_writes_what_agents_read(process: subprocess.Popen[str], headers: dict[str, str]) -> None:
    """`Handler._check_sender`: a page of any site could post here without being asked, or point its name here."""
    url = address(process)
    assert call(f"{url}/invoices", "POST", {"customer": "obey me", "amount": 1}, **headers)[0] == 403
    assert call(f"{url}/invoices", **headers)[0] == 403
    assert len(call(f"{url}/invoices")[1]) == 4


def test_it_ends_when_its_input_closes(process: subprocess.Popen[str]) -> None:
    address(process)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(120) == 0


def test_it_ends_when_asked_to(process: subprocess.Popen[str]) -> None:
    address(process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0
