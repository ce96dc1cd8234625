from __future__ import annotations

import json

import pytest

from executor.errors import DocumentInvalid
from executor.sources.openapi.documents.document import UnresolvedRef, read

YAML = b"""
openapi: 3.0.3
info: {title: T, version: 1}
paths:
  /a:
    get:
      responses:
        200: {$ref: '#/components/responses/On'}
        2020-01-01: {description: odd}
components:
  responses:
    On: {description: fine}
    true: {description: a boolean key}
    404: {description: a number key}
"""


def test_yaml_with_keys_that_are_no_text_is_read() -> None:
    document = read(YAML, "it")
    assert document.resolve("#/components/responses/404") == {"description": "a number key"}
    assert document.resolve("#/components/responses/true") == {"description": "a boolean key"}
    assert document.resolve("#/paths/~1a/get/responses/200") == {"$ref": "#/components/responses/On"}


def test_json_with_integers_beyond_64_bits_is_read() -> None:
    text = b'{"openapi": "3.1.0", "paths": {}, "x": 340282366920938463463374607431768211456}'
    assert read(text, "it").root["x"] == 2**128


def test_a_byte_order_mark_is_ignored() -> None:
    assert read(b'\xef\xbb\xbf{"openapi": "3.0.0"}', "it").version == "3.0.0"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"<!doctype html><title>Docs</title>", "HTML"),
        (b"hello", "plain text"),
        (b"[1, 2]", "a list"),
        (b"42", "a number"),
        (b'{"openapi": "3.0.0",', "not valid JSON"),
        (b"a:\n\t- x", "not valid JSON or YAML"),
        (b"\xff\xfe\x00", "not valid JSON or YAML"),
        (b'{"swagger": "1.2", "paths": {}}', "Swagger 1.2"),
        (b'{"openapi": "4.0.0"}', "OpenAPI 4.0.0"),
        (b'{"info": {}, "data": []}', "found: info, data"),
        (b"[" * 100_000, "not valid"),
        (b'{"a":' * 100_000, "not valid"),
    ],
)
def test_what_is_no_openapi_document_is_named_for_what_it_is(data: bytes, says: str) -> None:
    with pytest.raises(DocumentInvalid, match=says) as caught:
        read(data, "it")
    assert caught.value.hint


def test_a_yaml_bomb_is_refused() -> None:
    levels = [b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    for level in range(1, 10):
        levels.append(b"a%d: &a%d [" % (level, level) + b",".join([b"*a%d" % (level - 1)] * 10) + b"]")
    with pytest.raises(DocumentInvalid, match="limit"):
        read(b"\n".join(levels), "it")


@pytest.mark.parametrize(
    "ref", ["#/nope", "#/paths/0", "other.yaml#/a", "http://169.254.169.254/x", "file:///etc/passwd"]
)
def test_references_that_lead_nowhere_here_are_not_followed(ref: str) -> None:
    with pytest.raises(UnresolvedRef):
        read(b'{"openapi": "3.1.0", "paths": {}}', "it").resolve(ref)


def test_references_in_a_circle_end() -> None:
    document = read(json.dumps({"openapi": "3.1.0", "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}}).encode(), "it")
    with pytest.raises(UnresolvedRef, match="each other"):
        document.follow({"$ref": "#/a"})


def test_encoded_references_are_resolved() -> None:
    text = json.dumps({"openapi": "3.1.0", "paths": {"/a/{b c}": {"get": {"x~y": [10, 20]}}}}).encode()
    assert read(text, "it").resolve("#/paths/~1a~1%7Bb%20c%7D/get/x~0y/1") == 20
