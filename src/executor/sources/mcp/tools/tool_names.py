"""Names of tools: what the server calls them where that can be written in code, else the nearest to it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from executor.sources.kind import RESERVED
from executor.sources.tool_names import MAX_LENGTH, TAKEN, poses_as_executor, short_hash, unique

NOISE = frozenset({"mcp", "reference", "server", "example", "servers", "the", "http", "stdio", "sse", "api", "v"})
RUNNERS = frozenset({"npx", "npm", "node", "bunx", "bun", "deno", "uvx", "uv", "pipx", "python", "python3", "docker",
                     "run", "exec", "sh", "bash", "env", "tool"})  # fmt: skip


def identifier(text: str) -> str:
    """Of `[A-Za-z0-9_]`, starting with a letter. Lookalikes of other alphabets can't pass for each other: a hash
    distinguishes names that lost letters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    lost = any(c.isalnum() and not c.isascii() for c in plain)
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    if lost or not name:
        name = f"{name or 'tool'}_{short_hash(text)}"
    if name[0].isdigit():
        name = f"tool_{name}"
    if len(name) > MAX_LENGTH:
        name = f"{name[: MAX_LENGTH - 9]}_{short_hash(text, 8)}"
    return f"{name}_" if name in TAKEN else name


def name_all(originals: Sequence[str], kept: Mapping[str, str]) -> dict[str, str]:
    """A name for each original, whatever order a server lists them in."""
    each = list(dict.fromkeys(originals))
    return dict(zip(each, unique([(identifier(one), one) for one in each], kept), strict=True))


def namespace_from(server_name: str, host: str, command: Sequence[str]) -> str:
    """A namespace someone would choose: the server's own name without filler, else from the host or command."""
    for text in (server_name, telling_word(command), telling_label(host)):
        words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", text.rpartition("/")[2])]
        telling = [word for word in words if word not in NOISE and not word.isdigit()][:3]
        name = "_".join(telling)[:40].strip("_")
        if re.match(r"[a-z]", name) and not poses_as_executor(text):
            return f"{name}_mcp" if name in RESERVED else name
    return "mcp"


def telling_word(command: Sequence[str]) -> str:
    """Of `npx -y @scope/server-files@1.0 /data`: `server-files`."""
    for word in command:
        base = re.sub(r"(?<=.)@[^/]*\Z", "", word).rstrip("/").rpartition("/")[2]
        base = re.sub(r"\.(py|js|mjs|cjs|ts|exe|sh)\Z", "", base)
        if base and not base.startswith("-") and base.lower() not in RUNNERS and not re.match(r"python[\d.]+\Z", base):
            return base
    return ""


def telling_label(host: str) -> str:
    labels = [label for label in host.split(".") if label not in ("www", "api", "mcp", "localhost")]
    return labels[-2] if len(labels) >= 2 and not labels[-1].isdigit() else ""
