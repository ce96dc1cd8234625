"""Sources: the kinds (OpenAPI, GraphQL, MCP, Python), how documents are read, and the life of a source.

The names below are what a package needs that brings a kind of its own; see docs/sources.md. They are imported when they
are first used: the process that reads large documents imports this package and must stay small.
"""

import sys
from typing import TYPE_CHECKING, Any

from executor import _import_export
from executor.sources import deprecated

if TYPE_CHECKING:
    from executor.model.source import Loaded
    from executor.schemas.digests import with_digests
    from executor.sources.documents.subprocess import build as build_in_subprocess
    from executor.sources.kind import Kind, Probe, Unchanged
    from executor.sources.registry import Surroundings
    from executor.sources.source_request import Consent, Previous, ReadContext, SourceRequest

__all__ = [
    "Consent",
    "Kind",
    "Loaded",
    "Previous",
    "Probe",
    "ReadContext",
    "SourceRequest",
    "Surroundings",
    "Unchanged",
    "build_in_subprocess",
    "with_digests",
]

_HOMES = {
    "Consent": "executor.sources.source_request",
    "Kind": "executor.sources.kind",
    "Loaded": "executor.model.source",
    "Previous": "executor.sources.source_request",
    "Probe": "executor.sources.kind",
    "ReadContext": "executor.sources.source_request",
    "SourceRequest": "executor.sources.source_request",
    "Surroundings": "executor.sources.registry",
    "Unchanged": "executor.sources.kind",
    "build_in_subprocess": "executor.sources.documents.subprocess:build",
    "with_digests": "executor.schemas.digests",
}

sys.meta_path.append(deprecated.MovedModules())


def __getattr__(name: str) -> Any:
    return _import_export(__name__, _HOMES, name)
