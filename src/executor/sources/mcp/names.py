"""Names of tools: what the server calls them where that can be written in code, else the nearest to it."""

from __future__ import annotations

import hashlib
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from executor.sources.kind import RESERVED

MAX_LENGTH = 64
# Names with a meaning of their own on objects of the languages that call tools, and Python's keywords.
TAKEN = frozenset(
    {
        "then", "catch", "finally", "constructor", "prototype", "toString", "toLocaleString", "valueOf", "toJSON",
        "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "arguments", "caller", "callee", "name", "length",
        "apply", "call", "bind",
    }
) | frozenset(keyword.kwlist)  # fmt: skip
NOISE = frozenset({"mcp", "reference", "server", "example", "servers", "the", "http", "stdio", "sse", "api", "v"})
RUNNERS = frozenset({"npx", "npm", "node", "bunx", "bun", "deno", "uvx", "uv", "pipx", "python", "python3", "docker",
                     "run", "exec", "sh", "bash", "env", "tool"})  # fmt: skip


def short_hash(text: str, length: int = 4) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def identifier(text: str) -> str:
    """Of `[A-Za-z0-9_]`, starting with a letter. Lookalikes of other alphabets can't pass for each other: a hash
    tells names apart that lost letters."""
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
    """A name for each original. One that was given before stays; of new ones that clash, each gets a hash of its own,
    so that the order in which a server lists them decides nothing."""
    given = {original: kept[original] for original in originals if original in kept}
    wanted = {original: identifier(original) for original in originals if original not in given}
    counts = Counter(name.lower() for name in wanted.values())
    taken = {name.lower() for name in given.values()}
    for original, name in wanted.items():
        if counts[name.lower()] > 1 or name.lower() in taken:
            name = distinct(name, original, taken | counts.keys())
        taken.add(name.lower())
        given[original] = name
    return given


def distinct(name: str, original: str, taken: set[str]) -> str:
    candidates = (f"{name}_{short_hash(original, length)}" for length in range(4, 65))
    return next(candidate for candidate in candidates if candidate.lower() not in taken)


def namespace_from(server_name: str, host: str, command: Sequence[str]) -> str:
    """A namespace someone would choose: the server's own name without filler, else what the host or command tells."""
    for text in (server_name, telling_word(command), telling_label(host)):
        words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", text.rpartition("/")[2])]
        telling = [word for word in words if word not in NOISE and not word.isdigit()][:3]
        name = "_".join(telling)[:40].strip("_")
        if re.match(r"[a-z]", name):
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
