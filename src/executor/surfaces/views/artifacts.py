"""Artifacts: what is known of each, and what its preview leaves out."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

import orjson
from typing_extensions import TypedDict

from executor.model.artifact import Artifact
from executor.surfaces.views.base import View, time


class Cut(TypedDict):
    """What a preview leaves out at a place: how many items, keys or characters it shows, of how many."""

    at: str
    what: Literal["items", "keys", "characters"]
    shown: int
    total: int


class ArtifactView(TypedDict):
    id: str
    executionId: str
    call: int | None
    name: str
    mediaType: str
    size: int
    digest: str
    cut: list[Cut]
    uncounted: int
    preview: NotRequired[Any]
    createdAt: str
    deletedAt: str | None


def artifact_view(artifact: Artifact, *, preview: bool = False) -> ArtifactView:
    """`cut` says what its preview leaves out; the preview itself only if asked for."""
    shown = read_preview(artifact)
    return {
        "id": artifact.id,
        "executionId": artifact.execution_id,
        "call": artifact.call_seq or None,
        "name": artifact.name,
        "mediaType": artifact.media_type,
        "size": artifact.size,
        "digest": artifact.digest,
        "cut": shown.get("cut", []),
        "uncounted": shown.get("more", 0),
        "preview": shown.get("value") if preview else None,
        "createdAt": time(artifact.created_at),
        "deletedAt": time(artifact.deleted_at),
    }


def read_preview(artifact: Artifact) -> View:
    """Its `value`, what was `cut` of it, and how many cuts there are `more`."""
    shown: View = orjson.loads(artifact.preview or "{}")
    return shown


class ArtifactPage(TypedDict):
    items: list[ArtifactView]
    next: str | None
    partial: bool
