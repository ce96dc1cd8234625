from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from executor.catalog.catalog import Catalog
from executor.errors import ConsentRequired, DocumentInvalid, SourceUnreachable, ToolError
from executor.model.tool import Tool
from executor.sources.python.kind import PythonFunctions
from executor.sources.source_request import Consent, SourceRequest
from tests.support.catalogs import open_catalog

LOCATION = "python:office.letters"
LETTERS = '''
import asyncio
import threading
from dataclasses import dataclass
from typing import Literal

from executor.sources.python import tool

@dataclass
class Address:
    street: str
    zip: int = 0

@dataclass
class Letter:
    to: Address
    copies: list[Address]

@tool(effect="read")
def find(query: str, limit: int = 10, kind: Literal["letter", "card"] = "letter") -> list[dict[str, str]]:
    """Finds letters.

    By their text."""
    return [{"text": query * limit, "kind": kind}]

async def send(letter: Letter) -> Letter:
    await asyncio.sleep(0)
    assert isinstance(letter.to, Address)
    letter.to.zip += 1
    return letter

def where() -> str:
    return threading.current_thread().name

def fail(reason: str) -> None:
    raise ValueError(reason)

def leak():
    return object()

def scatter(*letters: str) -> None: ...

def _private() -> None: ...
'''


@pytest.fixture
async def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Catalog, str]]:
    package = tmp_path / "office"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "letters.py").write_text(LETTERS)
    monkeypatch.syspath_prepend(tmp_path)
    async with open_catalog(tmp_path, {"python": PythonFunctions()}) as here:
        yield here.catalog, here.workspace
    import sys

    for name in ("office.letters", "office"):
        sys.modules.pop(name, None)


async def connect(catalog: tuple[Catalog, str]) -> Any:
    return await catalog[0].add_source(
        catalog[1], SourceRequest(location=LOCATION, consented=Consent(runs_code=True, by_operator=True))
    )


async def call(catalog: tuple[Catalog, str], name: str, arguments: dict[str, Any]) -> Any:
    tool = await catalog[0].tool(catalog[1], f"office_letters.{name}")
    assert tool is not None
    await catalog[0].check(tool, arguments)
    return json.loads(await catalog[0].invoke(tool, arguments, idempotency_key=""))


async def tool_at(catalog: tuple[Catalog, str], name: str) -> Tool:
    tool = await catalog[0].tool(catalog[1], f"office_letters.{name}")
    assert tool is not None
    return tool


async def test_nothing_is_imported_before_someone_agreed(catalog: tuple[Catalog, str]) -> None:
    import sys

    with pytest.raises(ConsentRequired, match=r"office\.letters"):
        await catalog[0].add_source(catalog[1], SourceRequest(location=LOCATION, consented=Consent(by_operator=True)))
    probe = await PythonFunctions().probe(SourceRequest(location=LOCATION))
    assert probe is not None and (probe.namespace, "runs its code" in probe.note) == ("office_letters", True)
    assert "office" not in sys.modules


async def test_functions_become_tools_with_schemas_effects_and_descriptions(catalog: tuple[Catalog, str]) -> None:
    source = await connect(catalog)
    assert source.tool_count == 5
    assert [(one.where, "letters" in one.reason) for one in source.skipped] == [("scatter", True)]
    find = await tool_at(catalog, "find")
    assert (find.effect, find.description.splitlines()[0]) == ("read", "Finds letters.")
    assert (await tool_at(catalog, "send")).effect == "write"
    described = await catalog[0].describe(catalog[1], find.path, include_schemas=True)
    assert described["inputSchema"]["required"] == ["query"]
    assert described["inputSchema"]["properties"]["limit"] == {"default": 10, "title": "Limit", "type": "integer"}
    assert described["outputSchema"]["type"] == "array"
    send = await catalog[0].describe(catalog[1], "office_letters.send", include_schemas=True)
    assert "send_Address" in send["inputSchema"]["$defs"]


async def test_calls_are_checked_converted_and_answered(catalog: tuple[Catalog, str]) -> None:
    await connect(catalog)
    assert await call(catalog, "find", {"query": "a", "limit": 2}) == [{"text": "aa", "kind": "letter"}]
    sent = await call(catalog, "send", {"letter": {"to": {"street": "x", "zip": 1}, "copies": []}})
    assert sent == {"to": {"street": "x", "zip": 2}, "copies": []}
    assert await call(catalog, "where", {}) != threading.main_thread().name
    for arguments in ({}, {"query": 5}, {"query": "a", "other": 1}, {"query": "a", "kind": "parcel"}):
        with pytest.raises(ToolError) as caught:
            await call(catalog, "find", arguments)
        assert caught.value.tool_code == "invalid_arguments"


async def test_what_a_function_raises_or_cannot_say_in_json_is_a_typed_error(catalog: tuple[Catalog, str]) -> None:
    await connect(catalog)
    with pytest.raises(ToolError, match="ValueError: too late") as caught:
        await call(catalog, "fail", {"reason": "too late"})
    assert caught.value.tool_code == "upstream_error"
    with pytest.raises(ToolError) as caught:
        await call(catalog, "leak", {})
    assert caught.value.tool_code == "unexpected_response"


async def test_a_refresh_sees_the_code_as_it_is_now(catalog: tuple[Catalog, str], tmp_path: Path) -> None:
    import os

    await connect(catalog)
    module = tmp_path / "office" / "letters.py"
    module.write_text(LETTERS + "\ndef burn(letter: str) -> bool:\n    return True\n")
    os.utime(module, (1, 1))
    refreshed = await catalog[0].lifecycle.refresh(catalog[1], "office_letters")
    assert refreshed.differences.added == ("office_letters.burn",)


@pytest.mark.parametrize("location", ["python:", "python:os; import x", "python:../x", "python:a..b"])
async def test_what_is_no_module_is_refused(location: str) -> None:
    with pytest.raises(DocumentInvalid):
        await PythonFunctions().load(
            SourceRequest(location=location, consented=Consent(runs_code=True, by_operator=True))
        )


async def test_a_module_that_cannot_be_imported_says_why() -> None:
    with pytest.raises(SourceUnreachable, match="nowhere_at_all"):
        await PythonFunctions().load(
            SourceRequest(location="python:nowhere_at_all", consented=Consent(runs_code=True, by_operator=True))
        )


def test_our_own_package_registers_it_like_any_other_would() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["executor.kinds"]["python"].partition(":")
    assert getattr(import_module(module), name) is PythonFunctions
