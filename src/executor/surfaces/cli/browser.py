"""Pages that are opened for a person, without showing their links to other users of the machine."""

from __future__ import annotations

import os
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from executor.errors import ExecutorError
from executor.settings import Settings
from executor.surfaces.cli.client import Client
from executor.surfaces.cli.output import clean, emit, emit_json, interactive, say

if TYPE_CHECKING:
    import webbrowser

_PAGE = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={url}"><title>Executor</title>'


def hand_out(settings: Settings, link: dict[str, Any], *, as_json: bool, may_open: bool) -> None:
    if as_json:
        emit_json(link)
        return
    say("open this link within ten minutes; it works once:")
    emit(clean(link["url"]))
    if may_open and interactive():
        open_page(settings, "sign-in.html", link["url"])


def is_for_browser(interaction: dict[str, Any]) -> bool:
    """What people settle on a page rather than in a terminal: credentials, logins, and addresses to visit."""
    asked = interaction.get("elicitation") or {}
    return interaction.get("kind") in ("credential", "oauth") or asked.get("mode") == "url"


def open_interaction(client: Client, interaction: dict[str, Any]) -> None:
    """Its page, by a link that signs the browser in if this terminal may hand one out."""
    url = str(interaction["url"])
    say(f"opening it in your browser:\n  {clean(url)}")
    with suppress(ExecutorError):
        url = leading_to(urlsplit(url).path, client.post("/v1/auth/links", {})["url"])
    open_page(client.settings, "interaction.html", url)


def leading_to(path: str, url: str) -> str:
    """The page to continue to is before the `#`, behind which the secret is."""
    page, _, token = url.partition("#")
    return url if path == "/" else f"{page}?to={quote(path, safe='/')}#{token}"


def open_page(settings: Settings, name: str, url: str) -> None:
    """Through a file that only its owner can read: the arguments of the browser are for everyone to see."""
    import webbrowser

    from executor.private_files import write_private

    page = settings.state_dir / name
    write_private(page, _PAGE.format(url=escape(url, quote=True)))
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        browser = None
    if browser is None or takes_terminal(browser) or not browser.open(page.as_uri()):
        say("could not open a browser")


def takes_terminal(browser: webbrowser.BaseBrowser) -> bool:
    """A browser for texts, such as lynx, would take the terminal from the prompt. One that you chose may."""
    import webbrowser

    return type(browser) is webbrowser.GenericBrowser and "BROWSER" not in os.environ
