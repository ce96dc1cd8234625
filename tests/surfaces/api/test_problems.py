from __future__ import annotations

import logging

import pytest

from executor.storage.executions import executions
from tests.surfaces.api.daemon_server import Daemon

MEMBERS = {"type", "title", "status", "detail", "code", "hint"}


def test_every_kind_of_refusal_is_a_problem_document(daemon: Daemon) -> None:
    refusals = [
        daemon.get("/v1/status", role=None),
        daemon.post("/v1/policies", {}, role="agent"),
        daemon.get("/v1/nothing"),
        daemon.request("PUT", "/v1/executions", {}),
        daemon.get("/v1/executions?limit=0"),
        daemon.get("/v1/executions?status=unheard"),
        daemon.get("/v1/executions/exec_unknown?include=secrets"),
        daemon.post("/v1/executions", {"code": ""}),
        daemon.post("/v1/executions", {"code": "return 1", "language": "cobol"}),
        daemon.post("/v1/executions", {"code": "return 1", "color": "red"}),
        daemon.post("/v1/executions", {"code": "return 1", "wait": 601}),
        daemon.post("/v1/executions", {"code": "return 1", "wait": "1"}),
        daemon.post("/v1/executions", {"code": "return 1", "timeoutMs": 0}),
        daemon.get("/v1/events", headers={"Last-Event-ID": "x"}),
    ]
    expected = [401, 403, 404, 405, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400]
    assert [answer.status for answer in refusals] == expected
    for answer in refusals:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json.keys() >= MEMBERS
        assert answer.json["status"] == answer.status
        assert answer.json["type"] == f"urn:executor:error:{answer.json['code']}"
        assert answer.json["detail"]


def test_a_validation_problem_names_the_place_but_does_not_echo_the_value(daemon: Daemon) -> None:
    answer = daemon.post("/v1/executions", {"code": ["a-value-nobody-should-see"]})
    assert answer.json["problems"] == [{"at": "/code", "message": "Input should be a valid string"}]
    assert b"a-value-nobody-should-see" not in answer.body


def test_an_unexpected_error_is_answered_with_an_id_that_the_log_explains(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(*arguments: object) -> object:
        raise RuntimeError("inner detail")

    monkeypatch.setattr(executions, "counts", explode)
    with caplog.at_level(logging.ERROR):
        answer = daemon.get("/v1/status")
    assert (answer.status, answer.json["code"]) == (500, "internal")
    assert b"inner detail" not in answer.body
    assert b"Traceback" not in answer.body
    record = next(record for record in caplog.records if answer.json["incident"] in record.getMessage())
    assert record.exc_info is not None
    assert "inner detail" in str(record.exc_info[1])


def test_the_wrong_method_names_the_right_one(daemon: Daemon) -> None:
    answer = daemon.request("DELETE", "/v1/status")
    assert (answer.status, answer.json["code"]) == (405, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


def test_a_parameter_that_is_not_known_is_refused_with_the_one_that_was_meant(daemon: Daemon) -> None:
    misspelt = daemon.get("/v1/executions?statu=paused")
    assert (misspelt.status, misspelt.json["code"]) == (400, "invalid_request")
    assert "`statu`" in misspelt.json["detail"]
    assert misspelt.json["hint"] == "did you mean `status`?"
    assert "takes no parameters" in daemon.get("/v1/status?verbose=1").json["hint"]
    assert "`limit`" in daemon.get("/v1/executions?%22%3E%3Cscript%3E=1").json["hint"]
    assert daemon.get("/v1/executions?statu=paused", role=None).status == 401
