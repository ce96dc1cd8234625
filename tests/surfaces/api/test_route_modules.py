"""Modules with routes are imported when one of their addresses is requested, whichever was requested before."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.routing import Route, Router

from executor.surfaces.api import route_modules
from executor.surfaces.api.route_modules import MODULES, NAMES, RouteModules, beginning, import_routes
from tests.surfaces.api.daemon_server import running_daemon


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/v1/sources", "/v1/sources"),
        ("/v1/sources/github/tools", "/v1/sources"),
        ("/oauth/callback", "/oauth"),
        ("/v1", "/v1"),
        ("/v1/", "/v1/"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_the_beginning_of_an_address(path: str, found: str) -> None:
    assert beginning(path) == found


def test_every_route_is_found_by_the_beginning_of_its_address() -> None:
    served = {(beginning(route.path), name) for name in NAMES for route in import_routes(name)}  # type: ignore[attr-defined]
    assert served == {(start, name) for start, names in MODULES.items() for name in names}


def test_no_module_with_routes_is_left_out() -> None:
    folder = Path(route_modules.__file__).parent
    files = [*folder.glob("*.py"), *folder.glob("routes/**/*.py")]
    having = {file for file in files if "\nrouter = APIRouter(" in file.read_text(encoding="utf-8")}
    assert having == {folder / f"{name.replace('.', '/')}.py" for name in NAMES}


def test_the_order_of_routes_is_not_that_of_requests() -> None:
    own = Route("/own", lambda request: None)
    router, other = Router([own]), Router([own])
    RouteModules(router).load(NAMES)
    modules = RouteModules(other)
    for name in reversed(NAMES):
        modules.load([name])
    assert other.routes == router.routes
    assert other.routes[0] is own
    assert not [path for path in MODULES if modules.missing(path)]


def test_a_request_loads_no_more_than_its_address_needs(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        assert daemon.get("/v1/secrets").status == 200
        assert not daemon.app.modules.missing("/v1/secrets/x")
        assert daemon.app.modules.missing("/v1/sessions")
