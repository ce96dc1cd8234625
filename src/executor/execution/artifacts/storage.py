"""What becomes of a large result: it is kept as an artifact, and so is each file in it.

The whole text is kept letter by letter, so that a replay finds what it found before. Only the reader outside, a model
above all, gets a preview instead. Secrets were taken out of the text before it comes here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.execution.artifacts.preview import below, outline, preview
from executor.model.artifact import Artifact, Form, media_type_of, name_of
from executor.model.digest import digest_text
from executor.model.execution import Execution
from executor.model.ids import new_id, now_ms
from executor.storage.executions import artifacts

PREVIEW_CHARACTERS = 4_000
FILE_CHARACTERS = 4_096  # of base64: a smaller file is no burden
MOST_FILES = 50
MOST_DEPTH = 50
OWN = "executor.artifacts."  # what these tools answer is an artifact's content already
_FILE = re.compile(rf'"base64":\s*"[A-Za-z0-9+/=_-]{{{FILE_CHARACTERS}}}')


@dataclass(frozen=True, slots=True)
class File:
    """A file inside a result: where it is, if that is known, and what was said about it.

    Its base64 is at `key` of `holder`.
    """

    at: str | None
    data: bytes
    media_type: str
    name: object
    holder: dict[str, Any]
    key: str


def is_large(text: str, most: int) -> bool:
    """On the road of every result, so that a small one costs a comparison."""
    return len(text) > most or (len(text) > FILE_CHARACTERS and '"base64":' in text and _FILE.search(text) is not None)


def keep(c: Connection, execution: Execution, text: str, *, seq: int = 0, path: str = "") -> Artifact:
    """In the transaction that records the result; `seq` and `path` are of the call that gave it."""
    made = _Keeping(c, execution, seq, f"{path}-{seq}" if seq else "result")
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:  # such as a lone surrogate: nothing can be said about the inside
        return made.add("json", text.encode(), "application/json", outline(text))
    files = files_in(value) if '"base64":' in text or '"bytes"' in text else ()
    kept = [(file.at, made.add("bytes", file.data, file.media_type, {}, file.name)) for file in files]
    shown = preview(value, PREVIEW_CHARACTERS, {at: stands_for(file) for at, file in kept if at is not None})
    if isinstance(value, str) and orjson.dumps(value).decode() == text:
        return made.add("text", value.encode(), "text/plain", shown)
    return made.add("json", text.encode(), "application/json", shown)


@dataclass(frozen=True, slots=True)
class _Keeping:
    c: Connection
    execution: Execution
    seq: int
    otherwise: str

    def add(self, form: Form, content: bytes, media_type: str, shown: dict[str, Any], name: object = None) -> Artifact:
        artifact = Artifact(
            id=new_id("art"),
            workspace_id=self.execution.workspace_id,
            execution_id=self.execution.id,
            call_seq=self.seq,
            name=name_of(name, media_type, self.otherwise),
            media_type=media_type,
            form=form,
            size=len(content),
            digest=digest_text(content),
            preview=orjson.dumps(shown).decode(),
            created_at=now_ms(),
        )
        return artifacts.add(self.c, artifact, content)


def stands_for(file: Artifact) -> str:
    return f"… ({file.size} bytes of {file.media_type}, stored as {file.id})"


def files_in(value: Any, least: int = FILE_CHARACTERS) -> Iterator[File]:
    """Objects with base64 that is long enough and can be read as such."""
    for number, (at, holder, key) in enumerate(_holders(value, "", 0, least)):
        if number == MOST_FILES:
            return
        encoded = holder[key].replace("-", "+").replace("_", "/")
        try:
            data = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue
        named = holder.get("filename") or holder.get("name") or holder.get("uri")
        media_type = holder.get("contentType") or holder.get("mimeType") or holder.get("mediaType")
        yield File(below(at, key), data, media_type_of(media_type), named, holder, key)


def _holders(value: Any, at: str | None, depth: int, least: int) -> Iterator[tuple[str | None, dict[str, Any], str]]:
    if depth > MOST_DEPTH:
        return
    if isinstance(value, list):
        for index, one in enumerate(value):
            if isinstance(one, list | dict):
                yield from _holders(one, below(at, index), depth + 1, least)
    elif isinstance(value, dict):
        key = _key_in(value)
        held = value.get(key)
        if isinstance(held, str) and len(held) >= least:
            yield at, value, key
        for name, one in value.items():
            if isinstance(one, list | dict):
                yield from _holders(one, below(at, name), depth + 1, least)


def _key_in(value: dict[str, Any]) -> str:
    """`executor.artifacts.read` answers the whole of a file as a value."""
    is_read = value.get("kind") == "bytes" and value.get("offset") == 0 and value.get("next", 0) is None
    return "value" if is_read else "base64"
