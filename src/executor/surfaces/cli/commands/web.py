from __future__ import annotations

import click

from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.surfaces.cli.browser import hand_out, leading_to
from executor.surfaces.cli.client import connect
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option


@click.command("web", help=COMMANDS["web"])
@click.argument("path", default="/")
@click.option("--no-open", is_flag=True, help="Print the link instead of opening a browser.")
@json_option
def command(path: str, no_open: bool, as_json: bool) -> None:
    """PATH is a page, such as /approvals."""
    if not path.startswith("/") or path.startswith("//"):
        raise InvalidRequest(f"`{path}` is not a page", hint="use a path that starts with /, such as `/approvals`")
    settings = Settings.load()
    link = connect(settings).post("/v1/auth/links", {})
    link["url"] = leading_to(path, link["url"])
    hand_out(settings, link, as_json=as_json, may_open=not no_open)
