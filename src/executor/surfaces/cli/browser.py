"""Opening a browser with a link that holds a secret."""

from __future__ import annotations

from html import escape

from executor.settings import Settings
from executor.surfaces.cli.output import say

_PAGE = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={url}"><title>Executor</title>'


def open_signed_in(settings: Settings, url: str) -> None:
    """Through a page that only its owner can read: the arguments of the browser are for everybody to see."""
    import webbrowser

    from executor.daemon import files

    page = settings.state_dir / "sign-in.html"
    files.write_private(page, _PAGE.format(url=escape(url, quote=True)))
    if not webbrowser.open(page.as_uri()):
        say("no browser could be opened here")
