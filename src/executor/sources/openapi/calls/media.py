"""Media types: what each one means for a body or an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from executor.network.files import LARGE

FORM = "application/x-www-form-urlencoded"
LINES = frozenset(
    {
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl",
        "application/jsonlines",
        "application/x-jsonlines", "application/json-lines", "application/stream+json", "application/x-json-stream",
        "application/json-seq", "text/x-ndjson", "text/jsonl",
    }
)  # fmt: skip
_TEXT = frozenset({"application/javascript", "application/ecmascript", "application/graphql", "application/sql",
                   "application/yaml", "application/x-yaml", "application/toml", "application/csv",
                   "application/xhtml", "application/x-sh", "application/jwt", "application/jose"})  # fmt: skip


@lru_cache(1_000)
def essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


@lru_cache(1_000)
def is_json(media_type: str) -> bool:
    bare = essence(media_type)
    if bare in ("application/json", "text/json"):
        return True
    return bare.endswith("+json") and "/" in bare and bare not in LINES


def is_lines(media_type: str) -> bool:
    return essence(media_type) in LINES


def is_events(media_type: str) -> bool:
    return essence(media_type) == "text/event-stream"


def is_stream(media_type: str) -> bool:
    return is_events(media_type) or is_lines(media_type)


def is_xml(media_type: str) -> bool:
    bare = essence(media_type)
    return bare in ("application/xml", "text/xml") or bare.endswith("+xml")


def is_text(media_type: str) -> bool:
    bare = essence(media_type)
    return bare.startswith("text/") or is_xml(bare) or bare in _TEXT or bare.endswith(("+yaml", "+text"))


TEXT_FILE = 8_000_000  # bytes of text from which on it would be too large a result


def file_from(headers: Mapping[str, str]) -> int:
    """From how many bytes on an answer is kept as a file instead of being given to the code; 0 for never."""
    bare = essence(headers.get("Content-Type", ""))
    if headers.get("Content-Disposition", "").strip().lower().startswith("attachment"):
        return LARGE
    if not bare or is_json(bare) or is_stream(bare):
        return 0
    return TEXT_FILE if is_text(bare) else LARGE


def form_of(media_type: str) -> str:
    """How a body of this type is written: `json`, `form`, `multipart`, `lines`, `xml`, `text` or `binary`."""
    bare = essence(media_type)
    if is_json(bare) or bare in ("*/*", "application/*", "") or ("json" in bare and "/" not in bare):
        return "json"
    if bare == FORM:
        return "form"
    if bare.startswith("multipart/"):
        return "multipart"
    if is_lines(bare):
        return "lines"
    if is_xml(bare):
        return "xml"
    return "text" if is_text(bare) else "binary"


ORDER = ("json", "form", "multipart", "lines", "text", "xml", "binary")


def preferred_media_type(media_types: Iterable[str]) -> str:
    """The one that an operation is called with: exact JSON, then what is closest to plain arguments."""
    return min(media_types, key=rank)


def rank(media_type: str) -> tuple[int, int]:
    bare = essence(media_type)
    if "*" in bare and form_of(bare) == "json":
        return ORDER.index("lines"), -1
    exactness = {"application/json": 0, "application/merge-patch+json": 2, "application/json-patch+json": 3}
    return ORDER.index(form_of(media_type)), exactness.get(bare, 1)
