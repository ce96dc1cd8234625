"""Parameters that count pages or items: which ones do, where they begin, and how large a page may be."""

from __future__ import annotations

import re
from typing import Any

from executor.sources.openapi.documents.document import Document
from executor.sources.openapi.tools.parameters import Parameter
from executor.sources.openapi.tools.responses import STRING, types_of
from executor.sources.pagination.names import OFFSETS, PAGES, SIZES, VAGUE_OFFSETS
from executor.sources.pagination.page_scheme import PageScheme

LARGEST_PAGE = 500
_ZERO_BASED = re.compile(
    r"\b(?:zero|0)[- ]?(?:based|indexed)|\bbase[d]?[- ](?:0|zero)\b"
    r"|\b(?:start|begin|count)\w*\s+(?:\w+\s+)?(?:at|from|with)\s+(?:0|zero)\b|\bfirst page is\W+(?:0|zero)\b",
    re.IGNORECASE,
)
_ONE_BASED = re.compile(
    r"\b(?:one|1)[- ]?(?:based|indexed)|\bbase[d]?[- ](?:1|one)\b"
    r"|\b(?:start|begin|count)\w*\s+(?:\w+\s+)?(?:at|from|with)\s+(?:1|one)\b|\bfirst page is\W+(?:1|one)\b",
    re.IGNORECASE,
)
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d{1,6})\b"
_LARGEST = re.compile(
    rf"\b(?:between|from)\s+[01]\s+(?:and|to)\s+{_NUMBER}"
    rf"|\bmax(?:imum)?\.?(?: (?:allowed|page size|value|limit|per page))?(?:\s+is|\s+of|:)?\s+{_NUMBER}",
    re.IGNORECASE,
)
_IN_PAGES = re.compile(
    r"\bpage (?:number|index|offset)\b|\b(?:number of|in|by) pages\b|\bpages? to (?:skip|return|start)", re.IGNORECASE
)
_TIMES = re.compile(r"\b(?:dates?|times?|timestamps?|epoch|unix|posix|milliseconds|seconds)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d{1,6}")
Query = dict[str, Parameter]


def page_parameter(document: Document, query: Query, has_page_fields: bool) -> Parameter | None:
    """A number; or text, if the answer speaks of pages (`has_page_fields`) or the document shows a number for it."""
    for name in PAGES:
        one = query.get(name)
        types = types_of(document, one.schema) if one is not None else None
        if one is not None and ({"integer", "number"} & (types or set()) or is_plain(document, one, has_page_fields)):
            return one
    return None


def is_plain(document: Document, parameter: Parameter, has_page_fields: bool) -> bool:
    schema = document.end_of(parameter.schema)
    if types_of(document, schema) not in STRING or not isinstance(schema, dict):
        return False
    shown = [schema.get("default"), schema.get("example")]
    return has_page_fields or any(isinstance(one, str) and _DIGITS.fullmatch(one) for one in shown)


def offset_parameter(document: Document, query: Query) -> Parameter | None:
    size = size_parameter(query)
    for name in OFFSETS:
        one = query.get(name)
        if one is None or one is size or not is_number(document, one.schema) or _TIMES.search(words_of(one)):
            continue
        if size is not None or name not in VAGUE_OFFSETS:
            return one
    return None


def counts_pages(parameter: Parameter) -> bool:
    """An offset that its description calls a number of pages."""
    return _IN_PAGES.search(words_of(parameter)) is not None


def words_of(parameter: Parameter) -> str:
    schema = parameter.schema
    return f"{parameter.description} {schema.get('description', '') if isinstance(schema, dict) else ''}"


def size_parameter(query: Query) -> Parameter | None:
    return next((query[name] for name in SIZES if name in query), None)


def largest_size(document: Document, query: Query) -> PageScheme:
    """How many items to ask for at once, if the document says how many a page may have."""
    size = size_parameter(query)
    schema = document.end_of(size.schema) if size is not None else None
    if size is None or not isinstance(schema, dict) or not is_number(document, schema):
        return {}
    most = schema.get("maximum")
    if not isinstance(most, int) or isinstance(most, bool):
        found = _LARGEST.search(f"{size.description} {schema.get('description', '')}")
        most = int(next(filter(None, found.groups())).replace(",", "")) if found else 0
    named: PageScheme = {"sizeArgument": size.argument}
    return {**named, "size": {size.argument: min(most, LARGEST_PAGE)}} if most > 1 else named


def first_number(document: Document, parameter: Parameter) -> PageScheme:
    """`guessed` where neither the schema nor the description says if pages are counted from 0 or from 1."""
    schema = document.end_of(parameter.schema)
    text = f"{parameter.description} {schema.get('description', '') if isinstance(schema, dict) else ''}"
    first = first_page(document, schema, -1)
    if first < 0:
        first = 0 if _ZERO_BASED.search(text) else 1 if _ONE_BASED.search(text) else -1
    required: PageScheme = {"required": True} if parameter.required else {}
    return {"start": first, **required} if first >= 0 else {"start": 1, "guessed": True, **required}


def first_page(document: Document, schema: Any, otherwise: int = 1) -> int:
    schema = document.end_of(schema)
    for key in ("default", "minimum"):
        value = schema.get(key) if isinstance(schema, dict) else None
        if value in (0, 1, "0", "1") and not isinstance(value, bool):
            return int(value)
    return otherwise


def is_number(document: Document, schema: Any) -> bool:
    types = types_of(document, schema)
    return types is not None and types <= {"integer", "number", "null"}
