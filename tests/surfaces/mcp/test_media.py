"""Images and sounds that code returns reach a model as what they are: few, whole, and of kinds that clients take."""

from __future__ import annotations

import base64
import json
import os
import random
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from executor.daemon import control
from executor.surfaces.mcp import stdio
from executor.surfaces.mcp.results import media
from executor.surfaces.mcp.results.media import ALL_BYTES, BLOCK_BYTES, LONGEST_SIDE, MOST_BLOCKS, KeptFile, Media
from tests.sources.openapi.documents import document
from tests.sources.upstream import Reply, serving
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import about
from tests.surfaces.mcp.test_bridge import execute
from tests.surfaces.mcp.test_clients import ROADS, call
from tests.surfaces.mcp.test_malformed_requests import ACCEPT, modern_request


def png(width: int = 1, height: int = 1, noise: int = 0) -> bytes:
    """With `noise`, so many bytes more, which nothing compresses."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    more = chunk(b"noIs", random.Random(7).randbytes(noise)) if noise else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0\0"))
        + more
        + chunk(b"IEND", b"")
    )


def jpeg(width: int = 1, height: int = 1) -> bytes:
    start = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    return (
        start
        + b"\xff\xc0\x00\x0b\x08"
        + struct.pack(">HH", height, width)
        + b"\x01\x01\x11\x00\xff\xda\x00\x08xx\xff\xd9"
    )


def gif(width: int = 1, height: int = 1) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00\x2c" + bytes(12) + b";"


def webp(width: int = 1, height: int = 1) -> bytes:
    body = b"WEBPVP8L" + struct.pack("<I", 17) + b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14) + bytes(13)
    return b"RIFF" + struct.pack("<I", len(body)) + body


SOUNDS = {
    "audio/wav": b"RIFF\x24\0\0\0WAVEfmt " + bytes(20) + b"data" + bytes(40),
    "audio/mpeg": b"ID3\x04" + bytes(40),
    "audio/ogg": b"OggS\0" + bytes(40),
    "audio/flac": b"fLaC" + bytes(60),
}
PICTURES = {"image/png": png(), "image/jpeg": jpeg(), "image/gif": gif(), "image/webp": webp()}
SMALL = png()
LARGE = png(noise=20_000)


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def returning(data: bytes, kind: str = "image/png", language: str = "typescript", **more: Any) -> dict[str, str]:
    value = json.dumps({"contentType": kind, "base64": encode(data), **more})
    return {"code": f"return {value}", "language": language}


def blocks(result: Any) -> list[tuple[str, str, bytes]]:
    """Behind the text, which comes first and has none of them. A link to the artifact of the result may follow."""
    first, *rest = result["content"]
    assert first["type"] == "text"
    rest = rest[:-1] if rest and rest[-1]["type"] == "resource_link" else rest
    assert not any(block["data"] in first["text"] for block in rest)
    return [(block["type"], block["mimeType"], base64.b64decode(block["data"])) for block in rest]


def text(result: Any) -> str:
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "kept"])
def test_an_image_is_a_block_of_execute_and_resume(daemon: Daemon, data: bytes, language: str, road: str) -> None:
    result = call(daemon, "execute", returning(data, language=language, title="a chart"), road)
    assert blocks(result) == [("image", "image/png", data)]
    assert f"{len(data)} bytes of image/png" in text(result) and "a chart" in text(result)
    assert "hown below" in text(result)
    again = call(daemon, "resume", {"executionId": about(result)["executionId"]}, road)
    assert again["content"] == result["content"]


def test_the_newest_revision_gets_the_same_and_the_oldest_no_sounds(daemon: Daemon) -> None:
    for arguments in (returning(LARGE), returning(SOUNDS["audio/wav"], "audio/wav")):
        message, headers = modern_request("tools/call", {"name": "execute", "arguments": arguments})
        modern = daemon.post("/mcp", message, role="agent", headers=headers).json["result"]
        assert len(blocks(modern)) == 1
        for more in ROADS.values():
            headers = {**ACCEPT, "MCP-Protocol-Version": "2024-11-05"}
            params = {"name": "execute", "arguments": arguments}
            sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **more}
            oldest = daemon.post("/mcp", sent, role="agent", headers=headers).json["result"]
            assert [block["type"] for block in oldest["content"]][1:] == (
                ["image"] if arguments == returning(LARGE) else []
            )


@pytest.mark.parametrize(("kind", "data"), [*PICTURES.items(), *SOUNDS.items()])
def test_kinds_that_clients_take_are_shown_under_any_of_their_names(kind: str, data: bytes) -> None:
    names = [kind, *(other for other, same in media._SAME.items() if same == kind)]
    for name in names:
        shown = Media()
        value = {"mimeType": f"{name.upper()}; q=1", "base64": encode(data)}
        shown.take([value])
        assert shown.blocks == [{"type": kind.partition("/")[0], "mimeType": kind, "data": encode(data)}]
        assert value["base64"] == f"… ({len(data)} bytes of {kind}, shown below)"


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("image/png", b"<html><script>alert(1)</script></html>"),
        ("image/png", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("image/svg+xml", png()),
        ("application/pdf", b"%PDF-1.7"),
        ("text/html", png()),
        ("image/png", jpeg()),
        ("image/jpeg", png()),
        ("image/png", png()[:-12]),
        ("image/png", png()[:8]),
        ("image/jpeg", jpeg()[:-2]),
        ("image/gif", gif()[:-1]),
        ("image/webp", webp()[:-4]),
        ("image/webp", b"RIFF\x24\0\0\0WAVEfmt " + bytes(40)),
        ("audio/wav", webp()),
        ("audio/mpeg", png()),
        ("image/png", b""),
        ("image/bmp", b"BM" + bytes(60)),
        ("video/mp4", bytes(60)),
        *((f"image/{name}", make(0, 1)) for name, make in (("png", png), ("jpeg", jpeg), ("gif", gif))),
        *(
            (f"image/{name}", make(LONGEST_SIDE + 1, 1))
            for name, make in (("png", png), ("jpeg", jpeg), ("gif", gif), ("webp", webp))
        ),
    ],
)
def test_what_is_no_whole_picture_or_sound_of_its_kind_is_not_shown(kind: str, data: bytes) -> None:
    shown, value = Media(), {"contentType": kind, "base64": encode(data)}
    before = dict(value)
    shown.take(value)
    assert shown.blocks == [] and value == before
    assert media.is_showable(kind) is False or "is not shown" in shown.take_kept([KeptFile("art_1", kind, 1, data)])


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_run_that_does_not_return_an_image_shows_none(daemon: Daemon, language: str) -> None:
    made = json.dumps({"contentType": "image/png", "base64": encode(LARGE)})
    code = {"typescript": f"const made = {made}; return made.base64.length", "python": f"made = {made}\nlen(made)"}
    assert blocks(call(daemon, "execute", {"code": code[language], "language": language})) == []


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "kept"])
def test_an_answer_has_few_of_them_and_says_which_are_missing(daemon: Daemon, data: bytes) -> None:
    """Each is another picture: equal ones are kept once."""
    different = [data[:-12] + bytes([number]) + data[-12:] for number in range(7)]
    files = [{"mimeType": "image/png", "base64": encode(one)} for one in different]
    result = call(daemon, "execute", {"code": f"return {json.dumps(files)}"})
    assert [block[2] for block in blocks(result)] == different[:MOST_BLOCKS]
    assert [encode(one) in text(result) for one in different] == [False] * 5 + [data is SMALL] * 2
    assert text(result).count(f"is not shown: a result has at most {MOST_BLOCKS}.") == (2 if data is LARGE else 0)


def test_an_image_that_is_too_large_stays_an_artifact_and_that_is_said(daemon: Daemon) -> None:
    result = call(daemon, "execute", {"code": making(BLOCK_BYTES)})
    assert blocks(result) == []
    assert "is not shown: " in text(result) and "bytes are too many." in text(result)
    assert blocks(call(daemon, "execute", {"code": making(100_000)}))


def making(size: int) -> str:
    """A picture made in the sandbox: so large a one is no code."""
    whole = png(noise=16)
    head, tail = whole[:-28], whole[-12:]
    return (
        f"const head = atob('{encode(head)}'), tail = atob('{encode(tail)}');"
        f"return {{mimeType: 'image/png', base64: btoa(head + 'x'.repeat({size}) + tail)}}"
    )


def test_all_of_them_together_are_bounded() -> None:
    shown = Media()
    half = png(noise=ALL_BYTES // 2)
    said = shown.take_kept([KeptFile(f"art_{n}", "image/png", len(half), half) for n in range(3)])
    assert len(shown.blocks) == 1 and said.count("bytes are too many") == 2
    assert (
        Media().take_kept([KeptFile("art_1", "image/png", 10**7, None)])
        == "\nart_1 is not shown: 10000000 bytes are too many."
    )


def test_an_artifact_that_code_reads_and_returns_is_shown(daemon: Daemon) -> None:
    for data in (LARGE, png(noise=60_000)):
        first = call(daemon, "execute", returning(data))
        kept = text(first).partition("Shown below: ")[2].partition(".")[0]
        for code in (
            f'return await tools.executor.artifacts.read({{id: "{kept}"}})',
            f'return [await tools.executor.artifacts.read({{id: "{kept}"}})]',
        ):
            assert blocks(call(daemon, "execute", {"code": code})) == [("image", "image/png", data)]
        part = f'return await tools.executor.artifacts.read({{id: "{kept}", limit: 100}})'
        assert blocks(call(daemon, "execute", {"code": part})) == []


def test_nobody_is_shown_an_image_of_another_agent_or_of_another_execution(daemon: Daemon) -> None:
    first = call(daemon, "execute", returning(LARGE))
    kept = text(first).partition("Shown below: ")[2].partition(".")[0]
    pad = "x" * 40_000
    named = f"return {{pad: '{pad}', base64: '… (20000 bytes of image/png, stored as {kept})', mimeType: 'image/png'}}"
    assert blocks(call(daemon, "execute", {"code": named})) == []
    other = identities.agent(daemon, "onlooker")
    message = {"name": "resume", "arguments": {"executionId": about(first)["executionId"]}}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}
    answer = daemon.post("/mcp", sent, role=other.token, headers={**ACCEPT, "MCP-Protocol-Version": "2025-11-25"})
    assert answer.json["result"]["isError"] and len(answer.json["result"]["content"]) == 1


def test_a_deleted_image_is_shown_no_more(daemon: Daemon) -> None:
    result = call(daemon, "execute", returning(LARGE))
    kept = text(result).partition("Shown below: ")[2].partition(".")[0]
    assert daemon.request("DELETE", f"/v1/artifacts/{kept}").status in (200, 204)
    again = call(daemon, "resume", {"executionId": about(result)["executionId"]})
    assert not again["isError"] and blocks(again) == []


SERVER = """
import json, sys
ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "camera", "version": "1"}},
    "tools/list": {"tools": [{"name": "shoot", "inputSchema": {"type": "object"},
                              "annotations": {"readOnlyHint": True}}]},
    "tools/call": {"content": [{"type": "text", "text": "the yard"},
                               {"type": "image", "mimeType": "image/png", "data": "IMAGE"},
                               {"type": "audio", "mimeType": "audio/wav", "data": "SOUND"},
                               {"type": "resource",
                                "resource": {"uri": "a:b", "mimeType": "image/png", "blob": "IMAGE"}},
                               {"type": "image", "mimeType": "image/png", "data": "PGh0bWw+"}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        known = ANSWERS.get(asked.get("method"))
        outcome = {"result": known} if known else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **outcome}), flush=True)
"""


@pytest.fixture(scope="module")
def camera(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A source of each kind that can answer with a file: an MCP server, and an API."""
    program = tmp_path_factory.mktemp("camera") / "server.py"
    program.write_text(SERVER.replace("IMAGE", encode(LARGE)).replace("SOUND", encode(SOUNDS["audio/wav"])))
    with serving() as upstream:
        upstream.routes["/shot"] = Reply(200, LARGE, {"Content-Type": "image/png"})
        shot = {"get": {"operationId": "shot", "tags": ["yard"], "responses": {"200": {"description": "it"}}}}
        given = json.dumps(document({"/shot": shot}, servers=[{"url": upstream.url}]))
        for body in (
            {"command": [sys.executable, str(program)], "namespace": "camera", "consent": True},
            {"document": given, "namespace": "lens", "kind": "openapi"},
        ):
            added = daemon.post("/v1/sources", body)
            assert added.status == 201, added.body
        policy = daemon.post("/v1/policies", {"pattern": "camera.**", "action": "allow"})
        yield
        daemon.request("DELETE", f"/v1/policies/{policy.json['id']}")
        for namespace in ("camera", "lens"):
            daemon.request("DELETE", f"/v1/sources/{namespace}")


@pytest.mark.parametrize(
    ("language", "call_of"),
    [("typescript", "return await tools.{}()"), ("python", "await tools.{}()")],
)
def test_what_sources_answer_is_shown(daemon: Daemon, camera: None, language: str, call_of: str) -> None:
    of_mcp = call(daemon, "execute", {"code": call_of.format("camera.shoot"), "language": language})
    assert ("image", "image/png", LARGE) in blocks(of_mcp), text(of_mcp)
    assert "the yard" in text(of_mcp)
    of_api = call(daemon, "execute", {"code": call_of.format("lens.yard.shot"), "language": language})
    assert blocks(of_api) == [("image", "image/png", LARGE)], text(of_api)


def test_the_stdio_bridge_carries_them(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    running = control.Running(pid=1, host="127.0.0.1", port=daemon.port, start_id="", version="")
    monkeypatch.setattr(control, "ensure", lambda *given: running)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as answered, os.fdopen(writing, "wb") as output:
        credential = {"Authorization": f"Bearer {daemon.tokens.agent}"}
        bridge = stdio.Bridge(daemon.executor.settings, lambda: credential, output)
        bridge._version = "2025-11-25"
        for token in ({}, {"_meta": {"progressToken": 1}}):
            bridge.serve([json.dumps(execute(returning(LARGE)["code"], **token)).encode()])
            assert blocks(json.loads(answered.readline())["result"]) == [("image", "image/png", LARGE)]
