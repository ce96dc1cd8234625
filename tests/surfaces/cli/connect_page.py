"""The part of docs/connect.md about each client. Made from the code.

`python -m tests.surfaces.cli.connect_page` writes it; test_connect.py compares.
"""

from __future__ import annotations

from pathlib import Path

from executor.surfaces.clients.snippets import snippets
from executor.surfaces.clients.table import CLIENTS, McpClient

PAGE = Path(__file__).parents[3] / "docs" / "connect.md"
BEGIN, END = "<!-- clients -->\n", "<!-- end of the clients -->"
WITH_HTTP = ("claude-code", "codex")


def example(client: str, transport: str) -> str:
    """For a daemon in the usual place."""
    home = "/home/you/.local"
    places = ["--data-dir", f"{home}/share/executor", "--state-dir", f"{home}/state/executor", "--port", "8788"]
    command = [f"{home}/bin/executor", "mcp", "--agent", client, *places]
    [shown] = [one for one in snippets(command, "http://127.0.0.1:8788", "exa_…") if one.id == client]
    text = shown.stdio if transport == "stdio" else shown.http
    assert text is not None
    return text


def render() -> str:
    rows = [f"| {one.name} | `{one.id}` | `{one.place}` | {_transports(one)} |" for one in CLIENTS]
    table = "\n".join(["| client | name | file | transports |", "| --- | --- | --- | --- |", *rows])
    return "\n\n".join([table, *(_section(one) for one in CLIENTS)]) + "\n\n"


def _transports(client: McpClient) -> str:
    return "stdio, HTTP" if client.url else "stdio"


def _section(client: McpClient) -> str:
    kind = "sh" if client.id == "claude-code" else "toml" if client.is_toml else "json"
    what = {"sh": "a command to run in a terminal"}.get(kind, f"an entry for `{client.place}`")
    parts = [
        f"## {client.name}",
        f"`executor connect {client.id}` changes `{client.place}`. With `--print` it prints {what}:",
        f"```{kind}\n{example(client.id, 'stdio')}\n```",
    ]
    if client.id in WITH_HTTP:
        parts += ["With `--http`:", f"```{kind}\n{example(client.id, 'http')}\n```"]
    if client.variable:
        parts.append(f"If `{client.variable}` is set, the file is `${client.variable}/{client.variable_file}`.")
    return "\n\n".join([*parts, *([client.note] if client.note else [])])


def read_page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)]


def write_page() -> None:
    PAGE.write_text(PAGE.read_text(encoding="utf-8").replace(read_page(), render()), encoding="utf-8")


if __name__ == "__main__":
    write_page()
