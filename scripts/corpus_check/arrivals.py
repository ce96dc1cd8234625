"""What arrived, compared with what the call was to say."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote

from .arrived import Arrived, pairs_of
from .bodies import body_problems
from .calls import FORM, Call, Place
from .styles import cookie_fits, header_fits, one_by_one, path_fits, query_fits, said, same, same_json


def problems(call: Call, arrived: Arrived, base: str, declared: Collection[str] = ()) -> list[str]:
    """`declared` are the names of all headers that the document has for the operation, in small letters."""
    found = []
    if arrived.method != call.method:
        found.append(f"the method is {arrived.method}")
    path, _, query = arrived.target.partition("?")
    found += path_problems(call, path.removeprefix(base))
    found += query_problems(call, query)
    for place in call.places:
        if place.place == "header" and not header_fits(place, arrived.headers.get(place.name.lower())):
            found.append(f"the header {place.name} is {arrived.headers.get(place.name.lower())!r}")
        if place.place == "cookie" and not cookie_fits(place, arrived.headers.get("cookie", "")):
            found.append(f"the cookie {place.name} is not as told")
    return found + stray_headers(call, arrived, declared) + body_problems(call, arrived)


# HTTP asks for the first; the others say who sends, and what can be read: nothing else goes by itself.
OWN_HEADERS = frozenset({"host", "user-agent", "accept", "accept-encoding"})
WITH_BODY = frozenset({"content-type", "content-length"})
WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"})


def stray_headers(call: Call, arrived: Arrived, declared: Collection[str]) -> list[str]:
    """Headers that neither the document, nor the call, nor HTTP asks for. Of those that the document declares only the
    idempotency key is sent without being given."""
    allowed = {one.name.lower() for one in call.places if one.place == "header"} | OWN_HEADERS
    allowed |= WITH_BODY if arrived.body else set()
    allowed |= {"content-length"} if call.method not in WITHOUT_BODY else set()
    allowed |= {"cookie"} if any(one.place == "cookie" for one in call.places) else set()
    allowed |= {"idempotency-key"} & set(declared)
    return [f"the header {name} was sent and nobody asked for it" for name in sorted(set(arrived.headers) - allowed)]


def path_problems(call: Call, path: str) -> list[str]:
    template = call.template.partition("#")[0].partition("?")[0]
    template = template if template.startswith("/") else f"/{template}"
    parts = re.split(r"\{([^{}/]+)\}", template)
    places = {one.name: one for one in call.places if one.place == "path"}
    open_ended = {name for name, one in places.items() if one.reserved}  # these may keep their slashes
    pattern = "".join(
        ("([^?#]+)" if part in open_ended else "([^/?#]+)")
        if index % 2
        else "".join(f"(?:{re.escape(c)}|{encoded(c)})" for c in part)
        for index, part in enumerate(parts)
    )
    match = re.fullmatch(pattern, path)
    if match is None:
        return [f"the path {path[:200]} is not the document's {template[:200]}"]
    arrived = dict(zip((name.strip("+*") for name in parts[1::2]), match.groups(), strict=True))
    if any(not part for part in parts[2:-1:2]):  # side by side: where one ends and the next begins can't be seen
        whole = "".join(one_by_one(places[name].value) for name in arrived if name in places)
        return [] if unquote("".join(arrived.values())) == whole else ["the path parameters did not arrive as told"]
    return [
        f"the path parameter {name} arrived as {arrived[name]!r}"
        for name, place in places.items()
        if name in arrived and not path_fits(place, arrived[name])
    ]


def encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def query_problems(call: Call, query: str) -> list[str]:
    pairs = pairs_of(query)
    fixed = pairs_of(call.template.partition("#")[0].partition("?")[2])
    given = {f"{{{one.name}}}": said(one.value) for one in call.places if one.place == "path"}
    used = {given.get(name, name) for name, _ in fixed}
    found = []
    for name, raw in fixed:
        if unquote(raw) in given and (given.get(name, name), given[unquote(raw)]) not in decoded(pairs):
            found.append(f"the query's own {name} did not arrive as {given[unquote(raw)]!r}")
    for place in call.places:
        if place.place == "querystring":
            used |= {name for name, _ in pairs}
            if not whole_fits(place, query):
                found.append(f"the query is {query[:200]!r}")
        if place.place == "query" and not query_fits(place, without_others(place, call.places, pairs), used):
            found.append(f"the query parameter {place.name} ({place.style}) did not arrive as {place.value!r}"[:300])
    extra = {name for name, _ in pairs} - used
    return [*found, f"the query has {sorted(extra)[:5]} besides"] if extra else found


def decoded(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, unquote(raw)) for name, raw in pairs]


def whole_fits(place: Place, query: str) -> bool:
    """The query as one value of its content type."""
    if FORM not in place.content or not isinstance(place.value, dict):
        return same_json(unquote(query), place.value)
    fields = [Place(name, "query", "form", True, "", one) for name, one in place.value.items() if one is not None]
    pairs = pairs_of(query)
    return all(query_fits(one, pairs, set()) for one in fields) and {name for name, _ in pairs} <= set(place.value)


def without_others(place: Place, places: list[Place], pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without what properties of other parameters of the same name wrote: an object may explode into such names."""
    left = list(pairs)
    for other in places:
        if other is place or other.place != place.place or not other.explode or other.content:
            continue
        if other.style == "form" and isinstance(other.value, dict) and other.value.get(place.name) is not None:
            own = (one for one in left if one[0] == place.name and same(unquote(one[1]), other.value[place.name]))
            first = next(own, None)
            if first is not None:
                left.remove(first)
    return left
