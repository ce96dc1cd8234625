"""A configuration as text: what its entries say, and how what is wrong is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.execution.configuration.document import Document, Problem, read_file, read_variable
from executor.execution.configuration.entries import SourceEntry, read_entry

MCP = {"type": "mcp", "name": "files", "url": "https://files.example/mcp"}
CANARY = "canary-5d1e"


def problems(document: Document) -> list[Problem]:
    found = [one for one in map(read_entry, document.entries) if isinstance(one, Problem)]
    return [*document.problems, *found]


def source(**more: Any) -> SourceEntry:
    [entry] = read_variable(json.dumps([{**MCP, **more}])).entries
    found = read_entry(entry)
    assert isinstance(found, SourceEntry), found
    return found


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[{]", "EXECUTOR_TOOL_SOURCES", "not JSON"),
        ("", "EXECUTOR_TOOL_SOURCES", "not JSON"),
        ('{"type": "mcp"}', "EXECUTOR_TOOL_SOURCES", "a table, not an array"),
        ('["files"]', "EXECUTOR_TOOL_SOURCES[0]", "not a table"),
        ('[{"type": "mcp", "type": "openapi"}]', "EXECUTOR_TOOL_SOURCES", "twice in one object"),
        ("[" * 100_000, "EXECUTOR_TOOL_SOURCES", "nested too deeply"),
    ],
)
def test_a_variable_that_is_no_array_of_tables_is_named(text: str, place: str, message: str) -> None:
    document = read_variable(text)
    assert document.entries == () and not document.is_whole
    assert document.problems[0].place == place and message in document.problems[0].message


@pytest.mark.parametrize(
    ("fields", "key", "message"),
    [
        ({"type": "soap"}, "type", "unknown value of `type`"),
        ({"type": None}, "type", "missing"),
        ({"name": "Files!"}, "name", "namespace"),
        ({"name": "executor"}, "name", "reserved"),
        ({"url": None}, "url", "missing"),
        ({"url": 5}, "url", "a number"),
        ({"url": "files.example"}, "url", "not an address"),
        ({"endpoint": "https://other.example"}, "endpoint", "means the same"),
        ({"adress": "x"}, "adress", "unknown key"),
        ({"spec": "https://x.example"}, "spec", "unknown key"),
        ({"defaultApproval": "never"}, "defaultApproval", "unknown value of `defaultApproval`"),
        ({"transport": "carrier pigeon"}, "transport", "unknown value of `transport`"),
        ({"include": "tag:a"}, "include", "list of texts"),
        ({"auth": "token"}, "auth", "expected a table"),
        ({"auth": {"mode": "shared"}}, "auth.mode", "unknown value of `mode`"),
        ({"auth": {"mode": "workspace"}}, "auth.secret", "missing"),
        ({"auth": {"mode": "actor", "secret": "a"}}, "auth.secret", "unknown key"),
    ],
)
def test_a_wrong_entry_is_named_with_its_key_and_the_others_are_read(
    fields: dict[str, Any], key: str, message: str
) -> None:
    document = read_variable(json.dumps([{**MCP, **fields}, {**MCP, "name": "other"}]))
    [problem] = problems(document)
    assert problem.place == f"EXECUTOR_TOOL_SOURCES[0].{key}" and message in problem.message
    assert isinstance(read_entry(document.entries[1]), SourceEntry)


@pytest.mark.parametrize("key", ["token", "value", "apiKey", "accessToken", "password"])
def test_a_secret_that_is_written_down_is_refused_and_never_repeated(key: str) -> None:
    auth = {"mode": "static", "secret": "a", key: CANARY}
    [problem] = problems(read_variable(json.dumps([{**MCP, "auth": auth}])))
    assert "never write a secret here" in problem.hint and CANARY not in str(problem)
    [problem] = problems(read_variable(json.dumps([{**MCP, "type": CANARY, "url": CANARY}])))
    assert CANARY not in str(problem)


def test_a_line_of_a_file_is_named() -> None:
    text = '[[sources]]\ntype = "mcp"\nname = "a"\nurl = "https://a.example"\n\n[[sources]]\ntype = "mcp"\nname = 5\n'
    [problem] = problems(read_file(text, "executor.toml"))
    assert problem.place == "executor.toml: sources[1].name (line 8)"
    [problem] = problems(read_file("a = b c\n", "executor.toml"))
    assert "not TOML" in problem.message and "line" in problem.message
    assert "not YAML" in problems(read_file("a: [b\nc: {", "executor.yaml"))[0].message
    assert problems(read_file("", "sources.ini"))[0].place == "sources.ini"
    assert [one.place for one in problems(read_file("kits: []\nsources: {}", "x.yaml"))] == [
        "x.yaml: kits",
        "x.yaml: sources",
    ]


@pytest.mark.parametrize(
    ("words", "defaults"),
    [
        ({}, {}),
        ({"defaultApproval": "auto"}, {"read": "allow", "write": "allow", "destructive": "allow"}),
        ({"defaultWriteApproval": "auto"}, {"write": "allow"}),
        ({"defaultMutationApproval": "required"}, {"write": "require_approval", "destructive": "require_approval"}),
        (
            {"defaultApproval": "auto", "defaultWriteApproval": "deny", "defaultReadApproval": "required"},
            {"read": "require_approval", "write": "deny", "destructive": "deny"},
        ),
        (
            {"defaultWriteApproval": "deny", "defaultDestructiveApproval": "required"},
            {"write": "deny", "destructive": "require_approval"},
        ),
    ],
)
def test_words_for_approval_loosen_no_more_than_they_say(words: dict[str, str], defaults: dict[str, str]) -> None:
    assert source(**words).defaults == defaults
