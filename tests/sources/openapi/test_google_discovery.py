from __future__ import annotations

import json
from typing import Any

import pytest

from executor.errors import DocumentInvalid, ToolError
from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.network.client import Outgoing
from executor.schemas.validation import compile_schema
from executor.sources.openapi.calls.arguments import arrange, strict_schema
from executor.sources.openapi.calls.request import build
from executor.sources.openapi.documents.detection import recognise
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest
from executor.storage.catalog.definitions import with_definitions

LOCATION = "https://music.googleapis.com/$discovery/rest"
NAME = {"location": "path", "type": "string", "required": True}
ROOT: dict[str, Any] = {
    "kind": "discovery#restDescription",
    "name": "music",
    "title": "Music API",
    "version": "v1",
    "rootUrl": "https://music.googleapis.com/",
    "servicePath": "music/",
    "parameters": {
        "key": {"type": "string", "location": "query"},
        "alt": {"type": "string", "location": "query", "enum": ["json"]},
        "fields": {"type": "string", "location": "query", "description": "Which fields to answer with."},
    },
    "auth": {"oauth2": {"scopes": {"https://music.example/read": {"description": "See your songs"}}}},
    "schemas": {
        "Song": {
            "id": "Song",
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "length": {"type": "string", "format": "google-duration"},
                "plays": {"type": "string", "format": "int64"},
                "album": {"$ref": "Album", "description": "Where it is from."},
                "extra": {"type": "any"},
            },
        },
        "Album": {"id": "Album", "type": "object", "properties": {"name": {"type": "string"}}},
        "Songs": {
            "id": "Songs",
            "type": "object",
            "properties": {"songs": {"type": "array", "items": {"$ref": "Song"}}, "nextPageToken": {"type": "string"}},
        },
    },
    "resources": {
        "users": {
            "resources": {
                "songs": {
                    "methods": {
                        "get": {
                            "id": "music.users.songs.get",
                            "path": "v1/{+name}",
                            "flatPath": "v1/users/{usersId}/songs/{songsId}",
                            "httpMethod": "GET",
                            "description": "Gets a song.",
                            "parameters": {"name": {**NAME, "pattern": "^users/[^/]+/songs/[^/]+$"}},
                            "response": {"$ref": "Song"},
                            "scopes": ["https://music.example/read"],
                        },
                        "list": {
                            "id": "music.users.songs.list",
                            "path": "v1/{+parent}/songs",
                            "httpMethod": "GET",
                            "parameters": {
                                "parent": {**NAME, "pattern": "^users/[^/]+$"},
                                "pageSize": {"type": "integer", "location": "query", "maximum": "100", "default": "20"},
                                "pageToken": {"type": "string", "location": "query"},
                                "genre": {"type": "string", "location": "query", "repeated": True},
                            },
                            "response": {"$ref": "Songs"},
                        },
                        "create": {
                            "id": "music.users.songs.create",
                            "path": "v1/{+parent}/songs",
                            "httpMethod": "POST",
                            "parameters": {"parent": {**NAME, "pattern": "^users/[^/]+$"}},
                            "request": {"$ref": "Song"},
                            "response": {"$ref": "Song"},
                            "scopes": ["https://music.example/write"],
                            "mediaUpload": {
                                "accept": ["audio/*"],
                                "protocols": {"simple": {"path": "/upload/music/v1/{+parent}/songs"}},
                            },
                        },
                    }
                },
                "albums": {
                    "methods": {
                        "get": {
                            "id": "music.users.albums.get",
                            "path": "v1/{+name}",
                            "httpMethod": "GET",
                            "parameters": {"name": {**NAME, "pattern": "^users/[^/]+/albums/[^/]+$"}},
                            "response": {"$ref": "Album"},
                            "supportsMediaDownload": True,
                        }
                    }
                },
            }
        }
    },
}


def load(root: Any = ROOT) -> Loaded:
    return build_catalog(SourceRequest(location=LOCATION), json.dumps(root).encode(), LOCATION)


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    loaded = load()
    assert not loaded.skipped
    return {tool.path: tool for tool in loaded.tools}


def request_of(tool: Tool, arguments: dict[str, Any]) -> Outgoing:
    return build(tool.binding["server"], tool.binding, arrange(tool, arguments), "")


def test_every_method_is_a_tool_under_the_name_of_its_resource(tools: dict[str, Tool]) -> None:
    assert set(tools) == {
        "music.songs.get",
        "music.songs.list",
        "music.songs.list.all",
        "music.songs.create",
        "music.songs.createUpload",
        "music.albums.get",
    }
    assert tools["music.songs.get"].description.startswith("Gets a song.")
    assert [tools[f"music.songs.{name}"].effect for name in ("get", "create")] == ["read", "write"]


def test_resources_of_the_same_name_are_distinguished_by_what_they_belong_to() -> None:
    other = {"methods": {"get": {"id": "music.labels.songs.get", "path": "v1/labels/songs", "httpMethod": "GET"}}}
    root = {**ROOT, "resources": {**ROOT["resources"], "labels": {"resources": {"songs": other}}}}
    paths = {tool.path for tool in load(root).tools}
    assert {"music.usersSongs.get", "music.labelsSongs.get", "music.albums.get"} <= paths


def test_methods_that_share_an_address_stay_apart(tools: dict[str, Tool]) -> None:
    song = request_of(tools["music.songs.get"], {"name": "users/me/songs/7"})
    album = request_of(tools["music.albums.get"], {"name": "users/me/albums/8"})
    assert song.url == "https://music.googleapis.com/music/v1/users/me/songs/7"
    assert album.url == "https://music.googleapis.com/music/v1/users/me/albums/8"
    assert tools["music.songs.get"].input_schema["properties"]["name"]["pattern"] == "^users/[^/]+/songs/[^/]+$"


@pytest.mark.parametrize("value", ["users/me/songs/7?key=x", "users/me/songs/7#x", "users/me/songs/7%3Fkey=x&a;b"])
def test_a_resource_name_starts_no_query(tools: dict[str, Tool], value: str) -> None:
    url = request_of(tools["music.songs.get"], {"name": value}).url
    assert "?" not in url and "#" not in url


@pytest.mark.parametrize("value", ["users/../songs", "..", "users/me/../../admin"])
def test_a_resource_name_does_not_climb(tools: dict[str, Tool], value: str) -> None:
    with pytest.raises(ToolError):
        request_of(tools["music.songs.get"], {"name": value})


def test_parameters_have_their_types_and_bounds(tools: dict[str, Tool]) -> None:
    tool = tools["music.songs.list"]
    assert tool.input_schema["properties"]["pageSize"]["maximum"] == 100
    assert tool.input_schema["properties"]["pageSize"]["default"] == 20
    assert set(tool.input_schema["properties"]) == {"parent", "pageSize", "pageToken", "genre", "fields"}
    sent = request_of(tool, {"parent": "users/me", "genre": ["folk", "jazz"], "fields": "songs(title)"})
    assert sent.url.endswith("/users/me/songs?fields=songs%28title%29&genre=folk&genre=jazz")


def test_a_body_is_sent_as_json(tools: dict[str, Tool]) -> None:
    sent = request_of(tools["music.songs.create"], {"parent": "users/me", "title": "A", "album": {"name": "B"}})
    assert (sent.method, sent.url) == ("POST", "https://music.googleapis.com/music/v1/users/me/songs")
    assert isinstance(sent.body, bytes) and json.loads(sent.body) == {"title": "A", "album": {"name": "B"}}


def test_a_file_is_uploaded_at_the_address_for_uploads(tools: dict[str, Tool]) -> None:
    tool = tools["music.songs.createUpload"]
    assert tool.binding["server"] == "https://music.googleapis.com"
    assert tool.binding["path"] == "/upload/music/v1/{+parent}/songs?uploadType=media"
    assert tool.binding["body"] is not None and tool.binding["body"]["mediaType"] == "application/octet-stream"


def test_a_download_can_be_asked_for(tools: dict[str, Tool]) -> None:
    sent = request_of(tools["music.albums.get"], {"name": "users/me/albums/8", "alt": "media"})
    assert sent.url.endswith("alt=media")


def test_schemas_are_shared_and_checked(tools: dict[str, Tool]) -> None:
    loaded = load()
    song = loaded.definitions["Song"]
    assert song["properties"]["plays"] == {"type": "string", "format": "int64"}
    assert song["properties"]["length"] == {"type": "string"}
    schema = with_definitions(strict_schema(tools["music.songs.create"]), dict(loaded.definitions))
    validator = compile_schema(schema)
    assert validator.errors({"parent": "users/me", "body": {"album": {"name": 1}}})
    assert not validator.errors({"parent": "users/me", "body": {"album": {"name": "A"}, "extra": [1]}})


def test_any_scope_of_a_method_is_enough_and_an_api_key_reads() -> None:
    loaded = load()
    assert [one["type"] for one in loaded.config["auth"]] == ["oauth2", "apiKey"]
    security = {tool.path: tool.binding["security"] for tool in loaded.tools}
    assert security["music.songs.create"] == [{"oauth2": ["https://music.example/write"]}]
    assert security["music.songs.get"] == [{"oauth2": ["https://music.example/read"]}, {"apiKey": []}]


def test_only_googles_own_services_log_in_at_google() -> None:
    loaded = load({**ROOT, "rootUrl": "https://music.example.com/"})
    assert [one["type"] for one in loaded.config["auth"]] == ["http-bearer", "apiKey"]


def test_it_is_recognised_by_what_it_says() -> None:
    found = recognise(SourceRequest(location=LOCATION), json.dumps(ROOT).encode(), LOCATION, is_given=True)
    assert found is not None
    assert (found.kind, found.name, found.namespace) == ("openapi", "Music API", "music")
    assert found.base_url == "https://music.googleapis.com/music"
    assert found.note == "a Google Discovery document"


@pytest.mark.parametrize(
    "damage",
    [
        {"resources": []},
        {"resources": {"a": {"methods": {"b": "c"}}}},
        {"resources": {"a": {"methods": {"b": {"path": None, "httpMethod": None}}}}},
    ],
)
def test_a_damaged_document_is_refused_with_a_reason(damage: dict[str, Any]) -> None:
    with pytest.raises(DocumentInvalid) as raised:
        load({**ROOT, **damage})
    assert raised.value.hint


def test_parts_that_are_not_what_they_should_be_are_passed_over() -> None:
    odd = {"schemas": {"A": 1}, "parameters": None, "auth": "no"}
    assert len(load({**ROOT, **odd}).tools) >= 3


def test_a_document_nested_without_end_is_refused() -> None:
    deep = '{"type": "array", "items": ' * 20_000 + "{}" + "}" * 20_000
    text = json.dumps({**ROOT, "schemas": {"Deep": "DEEP"}}).replace('"DEEP"', deep)
    with pytest.raises(DocumentInvalid, match="nested too deeply"):
        build_catalog(SourceRequest(location=LOCATION), text.encode(), LOCATION)
