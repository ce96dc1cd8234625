"""A tool as it was at the time of a call, and the signature of any, now or then."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection

from executor.catalog.signatures.signature import FULL, signature
from executor.model.language import Language
from executor.model.tool import Tool
from executor.schemas.references import names_in
from executor.storage.catalog import tool_versions
from executor.storage.catalog.definitions import read_reached, schemas_of

SIGNATURE_STEPS = 9


def describe_version(c: Connection, workspace_id: str, schema_digest: str) -> dict[str, Any] | None:
    found = tool_versions.get(c, workspace_id, schema_digest)
    if found is None:
        return None
    described = {
        "path": found.path,
        "description": found.description,
        "effect": found.effect,
        "schemaDigest": schema_digest,
    }
    return {
        **described,
        "signature": read_signature(c, workspace_id, found, FULL),
        **schemas_of(c, workspace_id, found),
    }


def read_signature(c: Connection, workspace_id: str, tool: Tool, budget: int, language: Language = "typescript") -> str:
    names = names_in(tool.input_schema, tool.output_schema)
    known = read_reached(c, workspace_id, tool.schema_digest, names, steps=SIGNATURE_STEPS)
    return signature(tool, known, budget=budget, language=language)
