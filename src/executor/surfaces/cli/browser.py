"""Links that sign a browser in: printed, and opened without showing them to other users of the machine."""

from __future__ import annotations

from html import escape
from typing import Any

from executor.settings import Settings
from executor.surfaces.cli.output import clean, emit, emit_json, interactive, say

_PAGE = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={url}"><title>Executor</title>'


def hand_out(settings: Settings, link: dict[str, Any], *, as_json: bool, may_open: bool) -> None:
    if as_json:
        emit_json(link)
        return
    say("open this link within ten minutes; it works once:")
    emit(clean(link["url"]))
    if may_open and interactive():
        open_page(settings, "sign-in.html", link["url"])


def open_page(settings: Settings, name: str, url: str) -> None:
    """Through a file that only its owner can read: the arguments of the browser are for everyone to see."""
    import webbrowser

    from executor.private_files import write_private

    page = settings.state_dir / name
    write_private(page, _PAGE.format(url=escape(url, quote=True)))
    if not webbrowser.open(page.as_uri()):
        say("could not open a browser")
