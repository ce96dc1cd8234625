from __future__ import annotations

from typing import Any

import pytest

from tests.surfaces.api.daemon_server import Daemon

PATH = "/v1/tools/shop.things.createThing"


def test_a_tool_is_described_in_the_language_asked_for(daemon: Daemon, shop: list[Any]) -> None:
    typescript = daemon.get(PATH, role="agent").json
    assert typescript["language"] == "typescript" and "Promise<" in typescript["signature"]
    assert typescript["example"].startswith("await tools.shop.things.createThing({ name: ")
    python = daemon.get(f"{PATH}?language=python&budget=400", role="agent").json
    assert "async def createThing(" in python["signature"]
    assert python["example"].startswith("await tools.shop.things.createThing(name=")


def test_one_part_can_be_asked_for_alone(daemon: Daemon, shop: list[Any]) -> None:
    assert "signature" not in daemon.get(f"{PATH}?part=description").json
    assert "name" not in daemon.get(f"{PATH}?part=result").json["signature"].splitlines()[1]


@pytest.mark.parametrize("query", ["language=cobol", "budget=1", "budget=1000000", "part=all"])
def test_wishes_that_cannot_be_met_are_refused(daemon: Daemon, shop: list[Any], query: str) -> None:
    assert daemon.get(f"{PATH}?{query}").status == 400


def test_a_type_that_is_not_there_is_not_found(daemon: Daemon, shop: list[Any]) -> None:
    answer = daemon.get(f"{PATH}?types=Nope&types=Neither")
    assert answer.status == 404
    assert "Nope, Neither" in answer.json["detail"]
