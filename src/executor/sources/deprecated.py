"""Old names of modules that packages with a kind of their own may import. They still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "executor.sources.apart": "executor.sources.documents.subprocess",
    "executor.sources.addresses": "executor.network.addresses",
    "executor.sources.credentials": "executor.network.credentials",
    "executor.sources.digests": "executor.schemas.digests",
    "executor.sources.egress": "executor.network.client",
    "executor.sources.loading": "executor.sources.documents.threads",
    "executor.sources.names": "executor.sources.tool_names",
}


class MovedModules(MetaPathFinder, Loader):
    """Asked last, so it costs nothing while nobody imports an old name."""

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
