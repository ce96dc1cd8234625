"""What the words after `sources add` mean: an address, a file, a template, a module or a command."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from executor.errors import ConsentRequired, InvalidRequest
from executor.model.credentials import PLAIN_HEADER, SECRET_VARIABLE
from executor.surfaces.cli.output import clean, interactive, program, say
from executor.surfaces.cli.prompts.secret_input import enter_secret

DOCUMENT_BYTES = 64 * 1024 * 1024
DOCUMENT_ENDINGS = (".json", ".yaml", ".yml", ".graphql", ".graphqls", ".gql", ".txt")
_HOST = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+|\[[0-9a-fA-F:]+\])(:\d+)?(/\S*)?\Z", re.ASCII)
_MODULE = re.compile(r"[a-z_]+:(?!//)\S+\Z", re.ASCII)
_PROGRAM = re.compile(r"[./~]|(npx|uvx|uv|node|python\d?|docker|deno|bunx?|pipx|go|cargo|java)\s")
_LOCAL = re.compile(r"(localhost|127\.|\[::1\])")


def read_location(words: Sequence[str], templates: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a request that says where the source is."""
    if len(words) > 1:
        return command(list(words))
    [word] = words
    if "://" in word:
        return {"location": word}
    path = Path(word).expanduser()
    if path.exists() and not path.is_dir() and not (path.suffix == "" and os.access(path, os.X_OK)):
        return read_file(path)
    if word in templates or (_MODULE.match(word) and not _HOST.match(word)):
        return {"location": word}
    if " " in word.strip() and (shutil.which(split(word)[0]) or _PROGRAM.match(word.strip())):
        return command(split(word))
    if word.lower().endswith(DOCUMENT_ENDINGS):
        return read_file(path)
    if shutil.which(word):
        return command([word])
    if _HOST.match(word):
        return {"location": f"{'http' if _LOCAL.match(word) else 'https'}://{word}"}
    usual = f"use a URL, a file, an installed command, or a name that `{program()} sources templates` lists"
    near = difflib.get_close_matches(word, list(templates), n=1)
    raise InvalidRequest(
        f"{word!r} is not an address, file, template or command",
        hint=f"did you mean the template {near[0]}? Otherwise, {usual}" if near else usual,
    )


def command(words: list[str]) -> dict[str, Any]:
    """Run where the user is now: the words may name files here."""
    if shutil.which(words[0]) is None:
        raise InvalidRequest(
            f"the command {words[0]!r} was not found",
            hint="install it, or use the full path of the program; an address, file or template is one word",
        )
    return {"command": words, "options": {"cwd": str(Path.cwd())}}


def split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InvalidRequest(f"the command line can't be read: {error}", hint="check the quotes") from error


def read_file(path: Path) -> dict[str, str]:
    """A file is read here, as the user who named it; the daemon gets its text."""
    try:
        if path.stat().st_size > DOCUMENT_BYTES:
            raise InvalidRequest(f"the file {path} is larger than {DOCUMENT_BYTES:,} bytes", hint="split it")
        return {"location": str(path.absolute()), "document": path.read_text(encoding="utf-8-sig")}
    except OSError as error:
        raise InvalidRequest(
            f"the file {path} can't be read: {error.strerror}",
            hint="use a file, or a URL that starts with http:// or https://",
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the file {path} is not UTF-8", hint="save it as UTF-8") from error


def headers(given: Sequence[str]) -> dict[str, str]:
    """`NAME`: prompts for its value, or reads a line of standard input. `NAME:VALUE` is for what is not a secret."""
    found: dict[str, str] = {}
    for text in given:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not name:
            raise InvalidRequest(
                "a header needs a name", hint="write --header Authorization; you are prompted for its value"
            )
        if colon and value and not PLAIN_HEADER.fullmatch(name):
            raise in_sight(f"--header {name}", f"the header {name}")
        found[name] = value or enter_secret(f"value of the header {name}")
    return found


def variables(given: Sequence[str], handed_on: Sequence[str] = ()) -> dict[str, str | None]:
    """`NAME`: prompts for its value, or reads a line of standard input. `NAME=VALUE` is for what is not a secret.

    Of those `handed_on` the daemon takes its own.
    """
    found: dict[str, str | None] = dict.fromkeys(handed_on)
    for text in given:
        name, equals, value = text.partition("=")
        if equals and value and SECRET_VARIABLE.search(name):
            raise in_sight(f"--env {name}", f"the variable {name}")
        found[name] = value if equals else enter_secret(f"value of {name}")
    return found


def in_sight(option: str, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"the value of {what} would be visible to everyone on this machine and stay in the shell history",
        hint=f"write only {option}: you are prompted for the value, or it is read as a line of standard input",
    )


def consent(what: str, exact: str, *, yes: bool) -> None:
    """Asked before anything of it runs. Anything but a clear yes means no."""
    say(f"{what}:\n  {clean(exact)}")
    if yes:
        return
    if not interactive():
        raise ConsentRequired(f"{what}, and no one is here to give consent", hint="check it, then repeat with --yes")
    if not click.confirm("run it on this machine?", default=False, err=True):
        raise ConsentRequired("nothing was connected", hint="")
