"""Namespaces: the first segment of every path of a source."""

from __future__ import annotations

import re

from executor.errors import InvalidRequest, NamespaceTaken
from executor.sources.kind import RESERVED
from executor.sources.tool_names import poses_as_executor

PATTERN = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")


def check(namespace: str) -> None:
    if not PATTERN.match(namespace):
        raise InvalidRequest(
            f"{namespace[:80]!r} can't be a namespace",
            hint="use lower-case letters, digits and _, start with a letter, at most 63 characters",
        )
    if namespace in RESERVED or poses_as_executor(namespace):
        raise NamespaceTaken(
            f"the namespace {namespace!r} is reserved for built-in tools", hint="choose another `namespace`"
        )


def check_name(name: str) -> None:
    """A name for people. What Executor says of itself must not be what a source says of itself."""
    if poses_as_executor(name):
        raise InvalidRequest(
            f"{name[:80]!r} can't be the name of a source: it looks like Executor's own",
            hint="choose a name without `executor` in it",
        )


def namespace_taken(namespace: str) -> NamespaceTaken:
    return NamespaceTaken(
        f"there is already a source with the namespace {namespace!r}",
        hint="choose another `namespace`, or refresh that source",
        namespace=namespace,
    )


def check_kept(given: str, found: str) -> None:
    """People agree to a namespace, and to the policies that come with it: no document chooses another afterwards."""
    if given not in ("", found):
        raise InvalidRequest(
            f"the source has the namespace {found!r}, not {given!r}", hint="this is a defect in its kind"
        )
