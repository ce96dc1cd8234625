"""How the daemon serves the UI: what may be cached, what it may load, and that no address leads out of its folder."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest
from starlette.responses import Response

from executor.surfaces.http.page_paths import is_page
from executor.surfaces.web.files import STATIC, Files
from executor.surfaces.web.gzip import Packing
from executor.surfaces.web.pages import POLICY, Pages
from tests.api.serving import Daemon

WANTED = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<p>the page</p>")
    (tmp_path / "assets" / "app-1.js").write_text("run()")
    (tmp_path / "theme.js").write_text("theme()")
    return tmp_path


def test_the_policy_of_the_page_allows_nothing_inline_and_no_other_host() -> None:
    assert POLICY == WANTED


def test_every_address_of_the_ui_gets_its_page_and_nothing_keeps_it(daemon: Daemon) -> None:
    for path in ("/", "/approvals", "/approvals/int_a", "/sources/add", "/connect/int_a", "/sign-in"):
        answer = daemon.get(path, role=None)
        assert answer.status == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert {"camera=()", "geolocation=()", "payment=()"} <= set(answer.headers["permissions-policy"].split(", "))
        assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_what_is_not_a_page_stays_behind_the_door(daemon: Daemon) -> None:
    for path in ("/v1", "/v1/nothing", "/mcp/nothing", "/internal/runs", "/v1/../v1/sources"):
        assert daemon.get(path, role=None).status in (401, 404), path
    assert not any(
        is_page("GET", f"/{name}") for name in ("v1", "V1", "mcp", "internal", "oauth", "healthz", ".well-known")
    )
    assert daemon.post("/approvals", {}, role=None).status == 401


def test_files_with_a_digest_in_their_name_are_kept_and_others_are_asked_for_again(built: Path) -> None:
    pages = Pages(Files(built))
    asset, theme = pages.answer("/assets/app-1.js", {}), pages.answer("/theme.js", {})
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asset.headers["content-type"] == "text/javascript; charset=utf-8"
    assert theme.headers["cache-control"] == "no-cache"
    known = {b"if-none-match": theme.headers["etag"].encode()}
    assert pages.answer("/theme.js", known).status_code == 304


async def test_files_are_packed_for_browsers_that_ask_for_it(built: Path) -> None:
    code = b"const a = 1;\n" * 1000
    (built / "assets" / "app-3.js").write_bytes(code)
    os.utime(built / "index.html", ns=(1, 1))
    pages, packing = Pages(Files(built)), Packing()

    async def asked(path: str, accepted: bytes) -> Response:
        answer = pages.answer(path, {})
        await packing.pack(path, answer, accepted)
        return answer

    packed = await asked("/assets/app-3.js", b"br, gzip;q=0.5")
    assert packed.headers["content-encoding"] == "gzip" and gzip.decompress(bytes(packed.body)) == code
    assert int(packed.headers["content-length"]) == len(packed.body) < len(code) / 10
    plain = await asked("/assets/app-3.js", b"br, gzip;q=0")
    assert plain.body == code and "content-encoding" not in plain.headers
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert packed.headers["etag"] == f"W/{plain.headers['etag']}"
    for tag in (packed.headers["etag"], plain.headers["etag"]):
        assert pages.answer("/assets/app-3.js", {b"if-none-match": tag.encode()}).status_code == 304
    assert "content-encoding" not in (await asked("/theme.js", b"gzip")).headers


def test_a_browser_gets_scripts_packed(daemon: Daemon) -> None:
    page = daemon.get("/", role=None)
    [script] = re.findall(r'src="(/assets/index-[^"]+\.js)"', page.body.decode())
    answer = daemon.get(script, role=None, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip" and b"import" in gzip.decompress(answer.body)


def test_a_missing_file_is_not_answered_with_the_page(built: Path) -> None:
    assert Pages(Files(built)).answer("/assets/app-2.js", {}).status_code == 404


@pytest.mark.parametrize("path", ["/../secret.js", "/assets/../../secret.js", "//secret.js", "/assets\\..\\secret.js"])
def test_no_address_leads_out_of_the_folder(built: Path, path: str) -> None:
    outside = built.parent / "secret.js"
    outside.write_text("SECRET")
    assert b"SECRET" not in Pages(Files(built)).answer(path, {}).body


def test_a_link_in_the_folder_is_not_followed(built: Path) -> None:
    outside = built.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret.js").write_text("SECRET")
    (built / "file.js").symlink_to(outside / "secret.js")
    (built / "folder").symlink_to(outside)
    files = Files(built)
    assert files.read("/file.js") is None
    assert files.read("/folder/secret.js") is None
    assert files.read("/theme.js") == b"theme()"
    (built / "theme.js").unlink()
    (built / "theme.js").symlink_to(outside / "secret.js")
    assert files.read("/theme.js") is None


def test_hidden_files_and_unknown_types_are_not_served(built: Path) -> None:
    (built / ".inputs").write_text("digest")
    (built / "notes.txt").write_text("notes")
    files = Files(built)
    assert files.read("/.inputs") is None
    assert files.read("/notes.txt") is None


def test_a_new_build_is_served_without_a_restart(built: Path) -> None:
    files = Files(built)
    assert files.read("/assets/app-2.js") is None
    (built / "assets" / "app-2.js").write_text("again()")
    os.utime(built / "index.html", ns=(1, 1))
    assert files.read("/assets/app-2.js") == b"again()"


def test_without_a_build_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    answer = Pages(Files(tmp_path)).answer("/approvals/int_a", {})
    assert answer.status_code == 200
    assert b"./scripts/setup" in bytes(answer.body)
    assert b"executor approvals" in bytes(answer.body)
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_the_first_load_is_small(built_ui: Path) -> None:
    """What `index.html` names is loaded before anything is shown; the rest comes when a page needs it."""
    page = (built_ui / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r'(?:src|href)="(/[^"]+\.js)"', page)
    assert scripts
    size = sum(len(gzip.compress((built_ui / name[1:]).read_bytes())) for name in scripts)
    assert size < 200_000
    assert not re.search(r"<script(?![^>]*\ssrc=)", page), "an inline script"
    assert "<style" not in page and " style=" not in page


@pytest.fixture
def built_ui() -> Path:
    if not Files().is_built:
        pytest.skip("the web UI is not built: `scripts/setup`")
    return STATIC
