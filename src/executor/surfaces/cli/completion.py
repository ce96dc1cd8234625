"""What a shell offers when someone presses Tab: commands, options, and names of what the running daemon has.

Click has the scripts for the shells and finds out what is to be completed. A daemon that does not run is not started.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    _resolve_context,
    _resolve_incomplete,
    get_completion_class,
)

from executor.errors import ExecutorError
from executor.surfaces.cli.main import COMPLETE

if TYPE_CHECKING:
    from executor.surfaces.cli.client import Client

SHELLS = ("bash", "zsh", "fish")
SECONDS = 2.0
MOST = 100
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")  # nothing that a shell would act on

Values = Callable[["Client", str], Iterator[str]]


def script(shell: str) -> str:
    return _completer(click.Command("executor"), shell).source()


def answer(root: click.Command, instruction: str) -> int:
    """What the shell's script asks for, on standard output. Something unexpected completes nothing."""
    shell, _, what = instruction.partition("_")
    if shell not in SHELLS or what != "complete":
        return 1
    with suppress(ExecutorError, OSError, click.ClickException, KeyError, ValueError):
        click.echo(_completer(root, shell).complete())
    return 0


def _completer(root: click.Command, shell: str) -> ShellComplete:
    base = get_completion_class(shell)
    if base is None:
        raise ValueError(f"no completion for {shell}")

    class Completer(base):  # type: ignore[misc, valid-type]
        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
            context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args)
            found, incomplete = _resolve_incomplete(context, args, incomplete)
            if isinstance(found, click.Parameter) and found.name == "client_id":
                return [CompletionItem(one) for one in _client_names() if one.startswith(incomplete)]
            values = _values_of(context, found) if isinstance(found, click.Parameter) else None
            if values is None:
                return found.shell_complete(context, incomplete)
            return [CompletionItem(one) for one in _ask(values, incomplete)]

    return Completer(root, {}, "executor", COMPLETE)


def _client_names() -> list[str]:
    from executor.surfaces.clients.table import CLIENTS

    return [*(one.id for one in CLIENTS), "other"]


def _ask(values: Values, incomplete: str) -> list[str]:
    from executor.settings import Settings
    from executor.surfaces.cli.client import connect_if_running

    client = connect_if_running(Settings.load())
    if client is None:
        return []
    found = (one for one in values(client, incomplete) if one.startswith(incomplete) and _PLAIN.fullmatch(one))
    return list(dict.fromkeys(found))[:MOST]


def _page(client: Client, path: str, field: str, **query: Any) -> Iterator[str]:
    yield from (str(one[field]) for one in client.get(path, seconds=SECONDS, **query)["items"])


def _sources(client: Client, incomplete: str) -> Iterator[str]:
    return _page(client, "/v1/sources", "namespace")


def _executions(client: Client, incomplete: str) -> Iterator[str]:
    return _page(client, "/v1/executions", "executionId", limit=MOST)


def _interactions(client: Client, incomplete: str) -> Iterator[str]:
    return _page(client, "/v1/interactions", "id", limit=MOST)


def _sessions(client: Client, incomplete: str) -> Iterator[str]:
    return _page(client, "/v1/sessions", "id")


def _secrets(client: Client, incomplete: str) -> Iterator[str]:
    return _page(client, "/v1/secrets", "name")


def _tools(client: Client, incomplete: str) -> Iterator[str]:
    """First the namespace, then what is below the last whole part of the path."""
    above = incomplete.rpartition(".")[0]
    return _page(client, "/v1/tools", "path", prefix=above, limit=MOST) if above else _sources(client, incomplete)


# By the name of a parameter; before it the command that it is for, if others mean something else by it.
_VALUES: dict[str, Values] = {
    "source": _sources,
    "connection": _sources,
    "execution_id": _executions,
    "execution": _executions,
    "interaction_id": _interactions,
    "approvals ids": _interactions,
    "session_id": _sessions,
    "secrets name": _secrets,
    "tools path": _tools,
    "tools beginning": _tools,
}


def _values_of(context: click.Context, parameter: click.Parameter) -> Values | None:
    group = context.parent.info_name if context.parent else ""
    return _VALUES.get(f"{group} {parameter.name}") or _VALUES.get(str(parameter.name))
