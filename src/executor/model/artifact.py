"""An artifact: a large result kept outside the model's context, reached by its id."""

from __future__ import annotations

import re
from typing import Literal

from executor.dataclass import dataclass

# json: the JSON text as it was journalled · text: a result that is one string, kept as that string · bytes: a file
# file: one that came in pieces, too large to pass through a sandbox
Form = Literal["json", "text", "bytes", "file"]

OCTETS = "application/octet-stream"
NAME_CHARACTERS = 100
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,60}")
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
SUFFIXES = {
    "application/json": "json",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/webp": "webp",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}


@dataclass(frozen=True, slots=True)
class Artifact:
    """`call_seq` says which call's result it is; 0 means the result of the execution itself.

    `preview` is JSON text: the value cut down to what a reader needs first, and what was cut. Of a deleted artifact
    everything is known but its content. With an `object_key`, the content is in the object store.
    """

    id: str
    workspace_id: str
    execution_id: str
    call_seq: int
    name: str
    media_type: str
    form: Form
    size: int
    digest: str
    preview: str
    created_at: int
    deleted_at: int | None = None
    object_key: str | None = None

    @property
    def content_key(self) -> str:
        """What its chunks are stored under: equal content of an execution is stored once, unless it came in pieces."""
        return self.id if self.form == "file" else self.digest


def media_type_of(given: object) -> str:
    """What a stranger says a file is, if it can be the name of a media type."""
    text = given.partition(";")[0].strip().lower() if isinstance(given, str) else ""
    return text if _MEDIA_TYPE.fullmatch(text) else OCTETS


def name_of(given: object, media_type: str, otherwise: str) -> str:
    """A file name that no shell, browser or file system takes for anything else. Its end follows the media type."""
    base = given.replace("\\", "/").rstrip("/").rpartition("/")[2] if isinstance(given, str) else ""
    plain = _STRANGE.sub("_", base).strip("._-")[:NAME_CHARACTERS]
    plain = plain or _STRANGE.sub("_", otherwise).strip("._-")[:NAME_CHARACTERS] or "artifact"
    suffix = SUFFIXES.get(media_type, "bin")
    return plain if plain.lower().endswith(f".{suffix}") else f"{plain}.{suffix}"
