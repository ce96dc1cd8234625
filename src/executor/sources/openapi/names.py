"""Names of tools: readable, unique, and the same for the same document. Nothing a document says gets through raw."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from executor.model.tool import ALL
from executor.sources.names import TAKEN, camel, identifier, to_ascii, words

_KEPT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,80}\.[A-Za-z][A-Za-z0-9_]{0,80}\Z")


def operation_name(operation_id: str, method: str, path: str, tag: str) -> str:
    """From the operationId, without what the tag and the framework's slug of method and path already say."""
    text = operation_id.strip()
    slug = re.sub(r"\W", "_", path) + f"_{method.lower()}"
    if text.endswith(slug) and len(text) > len(slug):
        text = text[: -len(slug)]
    head, separator, rest = text.partition("/")
    if separator and camel(head).lower() == camel(tag).lower() and words(rest):
        text = rest
    if not words(to_ascii(text)[0]):
        text = from_path(method, path)
    return identifier(text, "operation")


def from_path(method: str, path: str) -> str:
    fixed = [part for part in path.split("/") if part and not part.startswith("{")]
    given = re.findall(r"\{([^{}]+)\}", path)
    return " ".join([method.lower(), *fixed, *(["by", *given] if given else [])])


def group_name(tags: Sequence[str], path: str) -> str:
    if tags and tags[0].strip():
        return identifier(tags[0], "group")
    fixed = [part for part in path.split("/") if part and not part.startswith("{")]
    telling = [part for part in fixed if not re.fullmatch(r"(?i)api|rest|v\d+(\.\d+)*", part)]
    return identifier((telling or fixed or ["default"])[0], "group")


def kept(known: Mapping[str, str], namespace: str) -> dict[str, str]:
    """Names given before, by `METHOD /path`, without their namespace; none that is not safe, none twice."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for key, path in known.items():
        name = path.removeprefix(f"{namespace}.").removesuffix(ALL)
        if _KEPT.match(name) and name.lower() not in seen and not TAKEN & set(name.split(".")):
            seen.add(name.lower())
            found[key] = name
    return found
