"""Old names that packages with a kind of their own may use: of modules, and of a request's fields. They warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

Request = TypeVar("Request")

MOVED = {
    "executor.model.connection": "executor.model.credentials",
    "executor.model.credential": "executor.model.credentials",
    "executor.sources.apart": "executor.sources.documents.subprocess",
    "executor.sources.addresses": "executor.network.addresses",
    "executor.sources.credentials": "executor.network.credentials",
    "executor.sources.digests": "executor.schemas.digests",
    "executor.sources.egress": "executor.network.client",
    "executor.sources.loading": "executor.sources.documents.threads",
    "executor.sources.names": "executor.sources.tool_names",
}


class MovedModules(MetaPathFinder, Loader):
    """Asked last, so it costs nothing while no one imports an old name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        now = MOVED[spec.name]
        warnings.warn(f"{spec.name} is deprecated: import {now}", DeprecationWarning, stacklevel=2)
        return import_module(now)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it was run under its own name."""


# Old names of a `SourceRequest`'s fields, and the part of it that has them now.
PARTS = {
    "allow_private": ("consented", "private_network"),
    "by_code": ("consented", "by_code"),
    "by_operator": ("consented", "by_operator"),
    "consent": ("consented", "runs_code"),
    "inherit_rules": ("consented", "inherit_policies"),
    "origins": ("consented", "granted"),
    "validators": ("previous", "validators"),
    "names": ("previous", "names"),
    "again": ("previous", ""),
    "credential": ("context", "credential"),
    "progress": ("context", "progress"),
    "redact": ("context", "redact"),
}


class OldRequestNames:
    """Lets kinds from other packages read a request by its old names."""

    __slots__ = ()
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in PARTS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            part, now = PARTS[name]
            warn_of(name, part, now)
            if name == "origins":
                return self.consented.origins
            return getattr(getattr(self, part), now) if now else self.previous is not None


def accept_old_names(cls: type[Request]) -> type[Request]:
    """Lets them make a request, or `dataclasses.replace` one, by its old names."""
    build: Callable[..., None] = cls.__init__

    def initialize(self: Request, *values: Any, **fields: Any) -> None:
        build(self, *values, **(fields if PARTS.keys().isdisjoint(fields) else with_parts(fields)))

    cls.__init__ = initialize  # type: ignore[method-assign, assignment]
    return cls


def with_parts(fields: dict[str, Any]) -> dict[str, Any]:
    from executor.sources.source_request import Consent, Previous, ReadContext

    made: dict[str, Any] = {name: value for name, value in fields.items() if name not in PARTS}
    for name in PARTS.keys() & fields.keys():
        part, now = PARTS[name]
        warn_of(name, part, now)
        if now:
            empty = {"consented": Consent, "previous": Previous, "context": ReadContext}[part]
            made[part] = replace(made.get(part) or empty(), **{now: fields[name]})
    if "again" in fields:
        made["previous"] = (made.get("previous") or Previous()) if fields["again"] else None
    return made


def warn_of(name: str, part: str, now: str) -> None:
    new = f"{part}.{now}" if now else part
    warnings.warn(f"`{name}` of a SourceRequest is deprecated: use `{new}`", DeprecationWarning, stacklevel=4)
