"""What a program on this machine shows its daemon: a token, and the workspace to act in."""

from __future__ import annotations

import os

from executor.errors import DataDirectoryUnusable, InvalidRequest
from executor.settings import Settings


def workspace_header() -> dict[str, str]:
    """The workspace to act in, when it is not the default one."""
    wanted = os.environ.get("EXECUTOR_WORKSPACE", "").strip()
    if wanted and not (wanted.isascii() and wanted.isprintable()):
        raise InvalidRequest("EXECUTOR_WORKSPACE is not a workspace ID", hint="see `executor workspaces list`")
    return {"X-Executor-Workspace": wanted} if wanted else {}


def token(settings: Settings) -> str:
    """The operator's, unless the caller was given another one to act with."""
    if given := given_token():
        return given
    try:
        return settings.operator_token_file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataDirectoryUnusable(
            f"the operator token {settings.operator_token_file} can't be read: {error}",
            hint="run as the user who started the daemon, or set EXECUTOR_TOKEN",
        ) from error


def given_token() -> str:
    given = os.environ.get("EXECUTOR_TOKEN", "").strip()
    if not given.isascii() or not given.isprintable():
        raise DataDirectoryUnusable("EXECUTOR_TOKEN is not a token", hint="unset it, or copy the token again")
    return given
