"""`executor sources` as a user runs it."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.errors import InvalidRequest
from executor.sources.placeholders import is_placeholder
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.prompts import source_location
from executor.surfaces.cli.source_options import options_of
from tests.sources.openapi.documents import document
from tests.sources.upstream import Upstream, as_json, serving
from tests.surfaces.cli.conftest import Cli

LIST = {"/things": {"get": {"operationId": "listThings", "tags": ["things"]}}}
SERVER = Path(__file__).parents[2] / "sources" / "mcp" / "servers" / "real.py"
LISTED = SERVER.with_name("listed.py")
TEMPLATES = {"github": {}}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        server.routes["/openapi.json"] = as_json(document({**LIST, "/odd": {"get": {"$ref": "#/nowhere"}}}))
        yield server


def test_a_url_is_looked_at_shown_and_connected(shared: Cli, upstream: Upstream) -> None:
    added = shared("sources", "add", f"{upstream.url}/openapi.json", "--namespace", "looked")
    assert added.code == exit_codes.COMPLETED, added.err
    assert added.out == "added looked: 1 tool\n"
    assert "openapi" in added.err and "storing 1 tools" in added.err and "/odd" in added.err
    upstream.routes["/openapi.json"] = as_json(document({"/new": {"get": {"operationId": "a", "tags": ["n"]}}, **LIST}))
    refreshed = shared("sources", "refresh", "looked")
    assert refreshed.out.splitlines() == ["refreshed looked: 2 tools, 1 added, 0 removed, 0 changed", "+ looked.n.a"]
    assert "no changes" in shared("sources", "refresh", "looked").out
    everything = shared("sources", "refresh", "--json").json
    looked = next(one for one in everything["items"] if one["namespace"] == "looked")
    assert looked.get("error") is None, looked
    assert shared("sources", "remove", "looked").code == exit_codes.COMPLETED


def test_tools_are_chosen_when_a_source_is_added_and_later(shared: Cli, upstream: Upstream) -> None:
    extra = {"/users": {"get": {"operationId": "listUsers", "tags": ["admin"]}, "delete": {"tags": ["admin"]}}}
    upstream.routes["/openapi.json"] = as_json(document({**LIST, **extra}))
    location = (f"{upstream.url}/openapi.json", "--namespace", "some")
    preview = shared("sources", "add", *location, "--include", "tag:admin", "--preview")
    assert "2 of 3 tools" in preview.out and "tag:admin (2)" in preview.err
    wrong = shared("sources", "add", *location, "--include", "tag:admn")
    assert wrong.code == exit_codes.USAGE and "similar: admin" in wrong.err
    added = shared("sources", "add", *location, "--include", "tag:admin", "--exclude", "method:DELETE")
    assert added.out == "added some: 1 of 3 tools\n"
    assert "tag:admin" in shared("sources", "show", "some").out
    policy = shared("policies", "add", "some.admin.listUsers", "deny", "--json").json
    refused = shared("sources", "choose", "some", "--include", "things.*")
    assert refused.code == exit_codes.FAILED and policy["id"] in refused.err
    chosen = shared("sources", "choose", "some", "--include", "things.*", "--yes")
    assert chosen.out.splitlines() == [
        "chose 1 of 3 tools of some",
        "+ some.things.listThings",
        "- some.admin.listUsers",
    ]
    assert shared("sources", "choose", "some").code != exit_codes.COMPLETED
    assert shared("policies", "remove", policy["id"]).code == exit_codes.COMPLETED
    assert shared("sources", "remove", "some").code == exit_codes.COMPLETED


def test_a_header_can_come_from_standard_input_and_is_never_printed(shared: Cli, upstream: Upstream) -> None:
    location = f"{upstream.url}/openapi.json"
    added = shared("sources", "add", location, "--namespace", "kept", "--header", "X-Key", stdin="s3cret\n")
    assert added.code == exit_codes.COMPLETED, added.err
    assert upstream.requests[-1].headers["x-key"] == "s3cret"
    shown = shared("sources", "show", "kept")
    assert "X-Key" in shown.out and "s3cret" not in shown.out + added.out + added.err
    assert shared("sources", "remove", "kept").code == exit_codes.COMPLETED


def test_a_command_needs_a_yes_and_then_its_tools_can_be_called(shared: Cli) -> None:
    command = (sys.executable, str(SERVER), "stdio")
    refused = shared("sources", "add", "--namespace", "local", "--", *command)
    assert refused.code == exit_codes.FAILED
    assert str(SERVER) in refused.err and "--yes" in refused.err
    added = shared("sources", "add", "--namespace", "local", "--yes", "--json", "--", *command)
    assert added.code == exit_codes.COMPLETED, added.err
    assert added.json["toolCount"] > 0 and added.json["command"] == list(command)
    assert shared("sources", "remove", "local").code == exit_codes.COMPLETED


def test_functions_of_a_module_can_be_connected_and_called(own: Cli, tmp_path: Path) -> None:
    home = tmp_path / "modules"
    info = home / "mathematics-1.dist-info"
    info.mkdir(parents=True)
    (home / "mathematics.py").write_text(
        "from executor.sources.python import tool\n"
        "@tool(effect='read')\ndef double(number: int) -> int:\n    return 2 * number\n"
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mathematics\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[executor.kinds]\npython = executor.sources.python.kind:PythonFunctions\n")
    path = os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH", "")]))
    refused = own("sources", "add", "python:mathematics", PYTHONPATH=path)
    assert refused.code == exit_codes.FAILED and "imported into the daemon" in refused.err
    added = own("sources", "add", "python:mathematics", "--yes", PYTHONPATH=path)
    assert added.code == exit_codes.COMPLETED, added.err
    called = own("call", "return await tools.mathematics.double({number: 21})", PYTHONPATH=path)
    assert called.out == "42\n"


def test_a_template_that_is_nearly_named_is_suggested(shared: Cli) -> None:
    assert "did you mean the template github?" in shared("sources", "add", "githb").err


def test_a_list_of_tools_has_one_short_line_for_each(shared: Cli, upstream: Upstream) -> None:
    long = {"get": {"operationId": "a", "tags": ["t"], "description": f"First words.\n\n{'more ' * 100}"}}
    wide = {"get": {"operationId": "b", "tags": ["t"], "description": "wide " * 100}}
    upstream.routes["/openapi.json"] = as_json(document({"/long": long, "/wide": wide}))
    assert shared("sources", "add", f"{upstream.url}/openapi.json", "--namespace", "wordy").code == exit_codes.COMPLETED
    lines = shared("tools", "list", "--source", "wordy").out.splitlines()
    assert lines[1].endswith("First words.") and lines[2].endswith("wide …")
    assert max(map(len, lines)) < 160
    assert shared("sources", "remove", "wordy").code == exit_codes.COMPLETED


def test_a_query_of_any_length_is_searched_for(shared: Cli) -> None:
    done = shared("tools", "search", "refund " * 15_000)
    assert done.code == exit_codes.COMPLETED, done.err
    assert "1000 characters" in done.err


def test_templates_are_listed(shared: Cli) -> None:
    assert "github" in shared("sources", "templates").out
    assert len(shared("sources", "templates", "--json").json["items"]) >= 15


def test_what_is_nothing_at_all_is_a_usage_error(shared: Cli) -> None:
    refused = shared("sources", "add", "no-such-thing")
    assert refused.code == exit_codes.USAGE and "templates" in refused.err


@pytest.mark.parametrize(
    ("word", "location"),
    [
        ("https://x.example/y", "https://x.example/y"),
        ("github", "github"),
        ("api.example.com", "https://api.example.com"),
        ("api.example.com:8443/v1", "https://api.example.com:8443/v1"),
        ("localhost:3000/mcp", "http://localhost:3000/mcp"),
        ("127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("python:a.b", "python:a.b"),
    ],
)
def test_one_word_can_be_an_address_a_template_or_a_module(word: str, location: str) -> None:
    assert source_location.read_location([word], TEMPLATES) == {"location": location}


def test_a_file_of_that_name_comes_before_a_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("github").write_text("{}")
    assert source_location.read_location(["github"], TEMPLATES)["document"] == "{}"


def test_several_words_or_a_quoted_line_are_a_command_run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["sh", "-c", "a b"], ["sh -c 'a b'"]):
        found = source_location.read_location(words, TEMPLATES)
        assert found == {"command": ["sh", "-c", "a b"], "options": {"cwd": str(tmp_path)}}
    assert source_location.read_location(["sh"], TEMPLATES)["command"] == ["sh"]
    for words in (["no-such-program", "x"], ["none.json"], ["sh 'unclosed"]):
        with pytest.raises(InvalidRequest):
            source_location.read_location(words, TEMPLATES)


def test_headers_and_variables_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Bearer a:b\nhidden\n"))
    given = ["Authorization", "Accept: text/plain", "X-Api-Version:3"]
    assert source_location.headers(given) == {
        "Authorization": "Bearer a:b",
        "Accept": "text/plain",
        "X-Api-Version": "3",
    }
    found = source_location.variables(["A=b=c", "API_KEY", "EMPTY="], ["HANDED_ON"])
    assert found == {"A": "b=c", "API_KEY": "hidden", "EMPTY": "", "HANDED_ON": None}


def test_the_document_its_changes_and_its_dependents_are_shown(shared: Cli, upstream: Upstream, tmp_path: Path) -> None:
    assert shared("sources", "add", f"{upstream.url}/openapi.json", "--namespace", "seen").code == exit_codes.COMPLETED
    printed = shared("sources", "document", "seen")
    assert json.loads(printed.out)["openapi"] == "3.1.0"
    facts = shared("sources", "document", "seen", "--json").json
    assert facts["mediaType"] == "application/json" and facts["size"] == len(printed.out.encode())
    out = tmp_path / "seen.json"
    assert shared("sources", "document", "seen", "--out", str(out)).code == exit_codes.COMPLETED
    assert out.read_text() == printed.out
    assert "no changes since" in shared("sources", "changes", "seen").err
    upstream.routes["/openapi.json"] = as_json(document({"/new": {"get": {"operationId": "a", "tags": ["n"]}}, **LIST}))
    assert shared("sources", "refresh", "seen").code == exit_codes.COMPLETED
    assert "+ seen.n.a" in shared("sources", "changes", "seen").out
    assert shared("sources", "changes", "seen", "--json").json["revision"]["added"] == 1
    assert shared("sources", "dependents", "seen", "--json").json["tools"] == 2
    assert "tools        2" in shared("sources", "dependents", "seen").out
    assert "now called Ours" in shared("sources", "rename", "seen", "Ours").out
    assert shared("sources", "remove", "seen").code == exit_codes.COMPLETED


def test_a_preview_shows_tools_and_connects_nothing(shared: Cli, upstream: Upstream) -> None:
    seen = shared("sources", "preview", f"{upstream.url}/openapi.json")
    assert seen.code == exit_codes.COMPLETED, seen.err
    assert "1 tool," in seen.out and "listThings" in seen.out
    assert shared("sources", "preview", f"{upstream.url}/openapi.json", "--json").json["toolCount"] == 1
    assert "things" not in [one["namespace"] for one in shared("sources", "list", "--json").json["items"]]


def test_a_location_or_the_demo_is_needed_and_not_both(shared: Cli) -> None:
    for words in ((), ("--demo", "https://example.com")):
        assert "either a location or --demo" in shared("sources", "add", *words).err


@pytest.mark.parametrize("text", ["not a url", "my api", "http//x y"])
def test_text_with_spaces_that_starts_no_command_is_called_nothing(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not an address, file, template or command"):
        source_location.read_location([text], TEMPLATES)
    with pytest.raises(InvalidRequest, match="was not found") as raised:
        source_location.read_location(
            ["npx missing server"] if shutil.which("npx") is None else ["./none here"], TEMPLATES
        )
    assert "one word" in raised.value.hint


def test_descriptions_are_one_clean_line(shared: Cli, upstream: Upstream) -> None:
    text = "## OAuth Authentication\n\nIn order to call it, [log in](https://a.dev/login) first. " + "more " * 100
    schemes = {"login": {"type": "http", "scheme": "bearer", "description": text}}
    upstream.routes["/d.json"] = as_json(document(LIST, components={"securitySchemes": schemes}))
    added = shared("sources", "add", f"{upstream.url}/d.json", "--namespace", "described")
    assert "requires login (http-bearer): OAuth Authentication." in added.err, added.err
    assert "\\u{a}" not in added.err + shared("sources", "show", "described").out
    assert shared("sources", "remove", "described").code == exit_codes.COMPLETED


def test_options_of_a_kind_have_the_names_of_the_api(shared: Cli, upstream: Upstream) -> None:
    variables = {"region": {"default": "us", "enum": ["us", "eu"]}, "tenant": {}}
    servers = [{"url": "https://first.dev"}, {"url": f"{upstream.url}/{{region}}/{{tenant}}", "variables": variables}]
    upstream.routes["/s.json"] = as_json(document(LIST, servers=servers))
    add = ("sources", "add", f"{upstream.url}/s.json", "--namespace", "optional", "--json")
    missing = shared(*add, "--kind", "openapi", "--server", "1")
    assert missing.code == exit_codes.FAILED and "--variable tenant=VALUE" in missing.err
    wrong = shared(*add, "--kind", "openapi", "--server", "1", "--variable", "region=mars", "--variable", "tenant=t")
    assert wrong.code == exit_codes.FAILED and "choose one of: us, eu" in wrong.err
    added = shared(
        *add, "--server", "1", "--variable", "region=eu", "--variable", "tenant=acme", "--remote-refs", "any"
    )
    assert added.json["baseUrl"] == f"{upstream.url}/eu/acme", added.err
    assert shared("sources", "remove", "optional").code == exit_codes.COMPLETED


def test_options_that_say_nothing_are_refused() -> None:
    assert options_of({"server": "1", "raw": False, "transport": None, "remote_refs": ("https://a.dev",)}) == {
        "server": "1", "raw": False, "remoteRefs": ["https://a.dev"],
    }  # fmt: skip
    for given in ({"server_variables": ("region",)}, {"remote_refs": ("a.dev",)}):
        with pytest.raises(InvalidRequest, match="takes"):
            options_of(given)


def test_a_placeholder_for_the_server_is_called_one(shared: Cli, upstream: Upstream) -> None:
    servers = [{"url": "https://{subdomain}.okta.com", "variables": {"subdomain": {"default": "subdomain"}}}]
    upstream.routes["/p.json"] = as_json(document(LIST, servers=servers))
    added = shared("sources", "add", f"{upstream.url}/p.json", "--namespace", "placed")
    assert "https://subdomain.okta.com is a placeholder" in added.err, added.err
    assert "--variable subdomain=VALUE" in added.err and "--base-url" in added.err
    assert shared("sources", "remove", "placed").code == exit_codes.COMPLETED


@pytest.mark.parametrize(
    "url",
    [
        "https://yourdomain.atlassian.net", "https://{region}.sentry.io", "https://api.example.com/v1",
        "https://your-site.dev", "https://my-company.zendesk.com", "https://tenant.auth0.com",
    ],
)  # fmt: skip
def test_addresses_that_stand_in_for_the_real_one_are_known(url: str) -> None:
    assert is_placeholder(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.github.com", "https://account.docusign.com", "https://myfonts.com", "http://127.0.0.1:80",
        "https://examples.dev", "https://api.hostaway.com",
    ],
)  # fmt: skip
def test_real_addresses_are_not_called_placeholders(url: str) -> None:
    assert not is_placeholder(url)


def test_a_tool_is_renamed_and_reworded(shared: Cli, upstream: Upstream) -> None:
    assert shared("sources", "add", f"{upstream.url}/openapi.json", "--namespace", "named").code == exit_codes.COMPLETED
    renamed = shared("tools", "rename", "named.things.listThings", "named.things.all_of_them")
    assert renamed.out == "named.things.listThings is now named.things.all_of_them\n", renamed.err
    assert shared("tools", "reword", "named.things.all_of_them", "Everything we own.").code == exit_codes.COMPLETED
    shown = shared("tools", "describe", "named.things.all_of_them").out
    assert "Everything we own." in shown and "people of this workspace" in shown and "named.things.listThings" in shown
    assert shared("tools", "rename", "named.things.all_of_them", "--reset").code == exit_codes.COMPLETED
    assert shared("tools", "rename", "named.things.listThings").code == exit_codes.USAGE
    assert shared("sources", "remove", "named").code == exit_codes.COMPLETED


def test_the_hints_of_a_server_are_trusted_when_that_is_said(shared: Cli) -> None:
    command = ("--yes", "--namespace", "hinted", "--", sys.executable, str(SERVER), "stdio")
    added = shared("sources", "add", "--hints", "ask", *command)
    assert added.code == exit_codes.COMPLETED, added.err
    assert "read-only; none of them is trusted yet" in added.err and "sources hints hinted trust" in added.err
    trusted = shared("sources", "hints", "hinted", "trust")
    assert "trusted  hinted.peek" in trusted.out and "policies remove" in trusted.err
    assert "allow: policy hinted.**" in shared("policies", "test", "hinted.peek").out
    assert "asked  hinted.peek" in shared("sources", "hints", "hinted", "ask").out
    policy = shared("tools", "treat-as-read", "hinted.peek")
    assert "treated as a read" in policy.out
    listed = shared("policies", "list", "--json").json["items"]
    assert shared("policies", "remove", listed[-1]["id"]).code == exit_codes.COMPLETED
    assert shared("sources", "remove", "hinted").code == exit_codes.COMPLETED


def test_a_tool_that_a_server_changed_is_shown_and_accepted(shared: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"

    def offer(description: str, **properties: Any) -> None:
        schema = {"type": "object", "properties": properties}
        file.write_text(json.dumps([{"name": "close", "description": description, "inputSchema": schema}]))

    offer("Close a ticket.")
    command = ("--yes", "--namespace", "held", "--", sys.executable, str(LISTED), str(file))
    assert shared("sources", "add", *command).code == exit_codes.COMPLETED
    try:
        offer("Close it and tell everyone.", reason={"type": "string"})
        refreshed = shared("sources", "refresh", "held")
        assert refreshed.out == "refreshed held: 1 tool, 1 held for a review\n"
        assert "1 changed tool waits for a review:\n" in refreshed.err
        shown = shared("sources", "review", "held").out.splitlines()
        assert shown[0].startswith("held.close  destructive  refused until you accept it")
        assert shown[1:] == ["  - Close a ticket.", "  + Close it and tell everyone.", "  input.reason added: string"]
        accepted = shared("sources", "review", "held", "--accept", "--yes")
        assert accepted.code == exit_codes.COMPLETED and "1 accepted; 0 still to review" in accepted.err
        assert "nothing to review" in shared("sources", "review", "held").err
    finally:
        shared("sources", "remove", "held")
