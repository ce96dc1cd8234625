"""How the daemon serves the UI: what may be cached, what it may load, and that no address leads out of its folder."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from executor.surfaces.http.page_paths import is_page
from executor.surfaces.web.pages import POLICY, STATIC, Pages, is_built
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.files import get

PAGE = b"<p>the page</p>"
WANTED = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


@pytest.fixture
def build_folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE.decode())
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


def test_files_with_a_digest_in_their_name_are_kept_and_others_are_asked_for_again(build_folder: Path) -> None:
    asset, theme = get(build_folder, "/assets/app-1.js"), get(build_folder, "/theme.js")
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asset.headers["content-type"] == "text/javascript; charset=utf-8"
    assert theme.headers["cache-control"] == "no-cache"
    again = get(build_folder, "/theme.js", {"if-none-match": theme.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    (build_folder / "theme.js").write_text("another()")
    changed = get(build_folder, "/theme.js", {"if-none-match": theme.headers["etag"]})
    assert (changed.status, changed.body) == (200, b"another()")


def test_a_browser_that_asks_for_it_gets_the_packed_copy(build_folder: Path) -> None:
    code = b"const a = 1;\n" * 1000
    (build_folder / "assets" / "app-3.js").write_bytes(code)
    (build_folder / "assets" / "app-3.js.gz").write_bytes(gzip.compress(code))
    packed = get(build_folder, "/assets/app-3.js", {"accept-encoding": "br, gzip;q=0.5"})
    assert packed.headers["content-encoding"] == "gzip" and gzip.decompress(packed.body) == code
    assert packed.headers["content-type"] == "text/javascript; charset=utf-8"
    assert int(packed.headers["content-length"]) == len(packed.body) < len(code) / 10
    plain = get(build_folder, "/assets/app-3.js", {"accept-encoding": "br, gzip;q=0"})
    assert plain.body == code and "content-encoding" not in plain.headers
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert packed.headers["etag"] != plain.headers["etag"]
    for answer, accepted in ((packed, "gzip"), (plain, "identity")):
        asked = {"if-none-match": answer.headers["etag"], "accept-encoding": accepted}
        assert (get(build_folder, "/assets/app-3.js", asked)).status == 304
    assert "content-encoding" not in (get(build_folder, "/theme.js", {"accept-encoding": "gzip"})).headers
    assert (get(build_folder, "/assets/app-3.js.gz")).status == 404


def test_head_says_what_get_would_send(build_folder: Path) -> None:
    answer = get(build_folder, "/assets/app-1.js", method="HEAD")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "5")


def test_a_browser_gets_scripts_packed(daemon: Daemon) -> None:
    page = daemon.get("/", role=None)
    [script] = re.findall(r'src="(/assets/index-[^"]+\.js)"', page.body.decode())
    answer = daemon.get(script, role=None, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip" and b"import" in gzip.decompress(answer.body)


def test_a_missing_file_is_not_answered_with_the_page(build_folder: Path) -> None:
    assert (get(build_folder, "/assets/app-2.js")).status == 404


@pytest.mark.parametrize("path", ["/../secret.js", "/assets/../../secret.js", "//secret.js", "/assets\\..\\secret.js"])
def test_no_address_leads_out_of_the_folder(build_folder: Path, path: str) -> None:
    outside = build_folder.parent / "secret.js"
    outside.write_text("SECRET")
    assert b"SECRET" not in (get(build_folder, path)).body


def test_a_link_out_of_the_folder_is_not_followed(build_folder: Path) -> None:
    outside = build_folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret.js").write_text("SECRET")
    (build_folder / "file.js").symlink_to(outside / "secret.js")
    (build_folder / "folder").symlink_to(outside)
    (build_folder / "theme.js.gz").symlink_to(outside / "secret.js")
    assert (get(build_folder, "/theme.js", {"accept-encoding": "gzip"})).body == b"theme()"
    (build_folder / "theme.js").unlink()
    (build_folder / "theme.js").symlink_to(outside / "secret.js")
    for path in ("/file.js", "/folder/secret.js", "/theme.js"):
        assert (get(build_folder, path)).status == 404


def test_hidden_files_and_unknown_types_are_not_served(build_folder: Path) -> None:
    for name in (".inputs", ".hidden.js", "notes.txt"):
        (build_folder / name).write_text("notes")
        assert (get(build_folder, f"/{name}")).status == 404


def test_a_new_build_is_served_without_a_restart(tmp_path: Path) -> None:
    pages = Pages(tmp_path)
    assert b"./scripts/setup" in (get(pages, "/")).body
    (tmp_path / "index.html").write_bytes(PAGE)
    (tmp_path / "theme.js").write_text("theme()")
    assert (get(pages, "/theme.js")).body == b"theme()"
    assert (get(pages, "/")).body == PAGE


def test_without_a_build_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    answer = get(tmp_path / "nothing", "/approvals/int_a")
    assert answer.status == 200
    assert b"./scripts/setup" in answer.body
    assert b"executor approvals" in answer.body
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
    if not is_built():
        pytest.skip("the web UI is not built: `scripts/setup`")
    return STATIC
