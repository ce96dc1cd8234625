"""`executor sources edit`, `definitions` and `manifest` as a user runs them."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.surfaces.cli import exit_codes
from tests.sources.upstream import serving
from tests.support.notes import DONE, Notes
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import read_until, terminal

LOOK = {"/look": {"get": {"tags": ["n"], "operationId": "look", "responses": DONE}}}


@pytest.fixture
def places(shared: Cli) -> Iterator[tuple[str, str]]:
    """A source `moving` at the first of two addresses."""
    with serving() as first, serving() as second:
        for server in (first, second):
            server.otherwise = notes = Notes(server.url)
            notes.more = dict(LOOK)
        notes.more["/new"] = {"get": {"tags": ["n"], "operationId": "fresh", "responses": DONE}}
        location = (f"{first.url}/openapi.json", "--kind", "openapi", "--namespace", "moving")
        added = shared("sources", "add", *location, "--header", "X-Key", stdin="s3cret\n")
        assert added.code == exit_codes.COMPLETED, added.err
        yield first.url, second.url
        shared("sources", "remove", "moving")


def base_url(cli: Cli) -> str:
    return str(cli("sources", "show", "moving", "--json").json["baseUrl"])


def test_without_a_terminal_an_edit_says_what_ends_and_needs_a_yes(shared: Cli, places: tuple[str, str]) -> None:
    address = f"{places[1]}/openapi.json"
    preview = shared("sources", "edit", "moving", address, "--preview")
    assert preview.code == exit_codes.COMPLETED, preview.err
    assert preview.out.splitlines()[:2] == ["would change moving: 3 tools", "+ moving.n.fresh"]
    assert f"calls go to {places[1]} instead of {places[0]}" in preview.err
    refused = shared("sources", "edit", "moving", address)
    assert refused.code != exit_codes.COMPLETED and "repeat with --yes" in refused.err
    assert "values of headers (X-Key)" in refused.err and base_url(shared) == places[0]
    done = shared("sources", "edit", "moving", address, "--yes")
    assert done.code == exit_codes.COMPLETED and done.out.startswith("changed moving: 3 tools"), done.err
    assert base_url(shared) == places[1]


@pytest.mark.parametrize(("answer", "moves"), [("n\n", False), ("\n", False), ("y\n", True)])
def test_in_a_terminal_only_a_clear_yes_changes_it(
    shared: Cli, places: tuple[str, str], answer: str, moves: bool
) -> None:
    with terminal(shared, "sources", "edit", "moving", "--base-url", f"{places[0]}/v2") as (process, ours):
        shown = read_until(ours, "change it?")
        assert "calls are sent in another way" in shown
        os.write(ours, answer.encode())
        process.wait(60)
    assert base_url(shared) == (f"{places[0]}/v2" if moves else places[0])


def test_settings_that_move_nothing_change_at_once(shared: Cli, places: tuple[str, str]) -> None:
    edited = shared("sources", "edit", "moving", "--name", "Ours", "--refresh", "3600", "--default", "write=deny")
    assert edited.code == exit_codes.COMPLETED, edited.err
    found = shared("sources", "show", "moving", "--json").json
    assert (found["name"], found["refreshSeconds"]) == ("Ours", 3600)
    assert shared("sources", "defaults", "moving", "--json").json["write"] == "deny"
    again = shared("sources", "edit", "moving", "--refresh", "default", "--default", "write=unset", "--json").json
    assert again["refreshSeconds"] is None
    assert shared("sources", "defaults", "moving", "--json").json["write"] is None


def test_headers_are_entered_and_never_arguments(shared: Cli, places: tuple[str, str]) -> None:
    seen = shared("sources", "edit", "moving", "--header", "X-Key:s3cret", "--yes")
    assert seen.code == exit_codes.USAGE and "visible to everyone" in seen.err
    edited = shared("sources", "edit", "moving", "--header", "X-New", "--remove-header", "X-Key", "--yes", stdin="s4\n")
    assert edited.code == exit_codes.COMPLETED, edited.err
    assert shared("sources", "show", "moving", "--json").json["headers"] == ["X-New"]


@pytest.mark.parametrize(
    "words",
    [(), ("--refresh", "often"), ("--default", "write=no"), ("--transport", "pigeon"), ("--env", "A=1"), ("nothing",)],
)
def test_bad_input_changes_nothing(shared: Cli, places: tuple[str, str], words: tuple[str, ...]) -> None:
    refused = shared("sources", "edit", "moving", *words, "--yes")
    assert refused.code != exit_codes.COMPLETED and refused.err, refused.out
    assert base_url(shared) == places[0]


def test_definitions_and_the_manifest_are_printed_and_written(
    shared: Cli, places: tuple[str, str], tmp_path: Path
) -> None:
    assert "declare const tools" in shared("sources", "definitions", "moving").out
    stub = tmp_path / "tools.pyi"
    written = shared("sources", "definitions", "--language", "python", "--out", str(stub))
    assert written.code == exit_codes.COMPLETED and "tools_moving_n_look" in stub.read_text(), written.err
    ast.parse(stub.read_text())
    lines = shared("sources", "manifest", "moving").out.splitlines()
    assert lines[0].split() == ["TOOL", "EFFECT", "POLICY", "DIGEST"]
    assert lines[2].split()[:3] == ["moving.n.look", "read", "allow"]
    file = tmp_path / "manifest.json"
    assert shared("sources", "manifest", "--out", str(file)).code == exit_codes.COMPLETED
    found = json.loads(file.read_text())
    assert "moving.n.add" in [one["path"] for one in found["items"]]
    assert shared("sources", "manifest", "nowhere").code != exit_codes.COMPLETED
    assert shared("sources", "definitions", "moving", "--out", str(tmp_path)).code == exit_codes.USAGE
