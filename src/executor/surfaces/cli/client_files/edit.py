"""Our entry in the text of a client's file: found, put, removed and shown. An edit that changes anything else fails."""

from __future__ import annotations

import copy
import difflib
import re
from typing import Any

from executor.dataclass import dataclass
from executor.surfaces.cli.client_files import json_text, toml_text
from executor.surfaces.cli.client_files.text import Unsupported
from executor.surfaces.clients.table import McpClient, Table

_TOKEN = re.compile(r"ex[oah]_[A-Za-z0-9_-]{20,}")
_CONTEXT = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a server of this name is in the files of this client."""

    client: McpClient
    name: str = "executor"

    @property
    def path(self) -> tuple[str, str]:
        return self.client.key, self.name

    def read(self, text: str) -> Table | None:
        servers = self._read_all(text).get(self.client.key)
        entry = servers.get(self.name) if isinstance(servers, dict) else None
        if entry is None or isinstance(entry, dict):
            return entry
        raise Unsupported(f"{self.name!r} in {self.client.key!r} is not an object")

    def put(self, text: str, entry: Table) -> str:
        """With this entry. One that is there already keeps what the user has set in it."""
        present = self.read(text)
        stale = self.client.transport_keys - entry.keys()
        if present is None:
            wanted = entry
            edited = self._write(text, entry)
        else:
            values = {k: v for k, v in entry.items() if k in self.client.transport_keys or k not in present}
            wanted = {**{k: v for k, v in present.items() if k not in stale}, **values}
            edited = self._update(text, values, frozenset(stale))
        self._verify(text, edited, wanted)
        return edited

    def remove(self, text: str) -> str:
        remove = toml_text.remove if self.client.is_toml else json_text.remove
        edited = remove(text, self.path)
        self._verify(text, edited, None)
        return edited

    def has_container(self, text: str) -> bool:
        return self.client.key in self._read_all(text)

    def remove_empty_container(self, text: str) -> str:
        """Without the member for servers, if there are none."""
        if self.client.is_toml or self._read_all(text).get(self.client.key) != {}:
            return text
        return json_text.remove(text, self.path[:1])

    def diff(self, before: str, after: str, file: str) -> str:
        """As people read changes, without anything in it that may be a secret."""
        shown = self.client.transport_keys - {self.client.headers} | self.client.settings.keys()
        mask = toml_text.mask if self.client.is_toml else json_text.mask
        old, new = (mask(text, self.path, frozenset(shown)).splitlines() for text in (before, after))
        lines = difflib.unified_diff(old, new, file, file, n=_CONTEXT, lineterm="")
        return _TOKEN.sub("…", "\n".join(lines))

    def is_same_otherwise(self, first: str, second: str) -> bool:
        """The two differ in nothing but our entry and how they are written."""
        return self._without(first) == self._without(second)

    def _read_all(self, text: str) -> Table:
        return toml_text.read(text) if self.client.is_toml else json_text.read(text)

    def _write(self, text: str, entry: Table) -> str:
        return toml_text.put(text, self.path, entry) if self.client.is_toml else json_text.put(text, self.path, entry)

    def _update(self, text: str, values: Table, stale: frozenset[str]) -> str:
        if self.client.is_toml:
            return toml_text.put(text, self.path, values, stale)
        for key in sorted(stale):
            text = json_text.remove(text, (*self.path, key))
        for key, value in values.items():
            text = json_text.put(text, (*self.path, key), value)
        return text

    def _without(self, text: str) -> Table:
        data = copy.deepcopy(self._read_all(text))
        servers = data.get(self.client.key)
        if isinstance(servers, dict):
            servers.pop(self.name, None)
            if not servers:
                del data[self.client.key]
        return data

    def _verify(self, before: str, after: str, wanted: Table | None) -> None:
        if self.read(after) != wanted or not self.is_same_otherwise(before, after):
            raise Unsupported("it is written in a way that can't be edited safely")


def command_in(entry: Table) -> list[str]:
    """What a client would start; nothing for a server over HTTP."""
    command, arguments = entry.get("command"), entry.get("args") or []
    if isinstance(command, list):
        return [str(word) for word in command]
    return [command, *map(str, arguments)] if isinstance(command, str) else []


def address_in(client: McpClient, entry: Table) -> tuple[str, dict[str, str]]:
    headers: Any = entry.get(client.headers)
    named = {str(name): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    return str(entry.get(client.url) or ""), named


def agent_in(entry: Table | None) -> str:
    """The agent that a client acts as now."""
    words = command_in(entry or {})
    return words[words.index("--agent") + 1] if "--agent" in words[:-1] else ""


def is_ours(client: McpClient, entry: Table) -> bool:
    """It starts `executor mcp`, or has the token of an agent of Executor."""
    words = command_in(entry)
    if words:
        return "mcp" in words and ("--data-dir" in words or words[0].rpartition("/")[2] == "executor")
    return any(value.startswith("Bearer exa_") for value in address_in(client, entry)[1].values())
