"""A made-up service behind one list of a document: it gives the list page by page, and takes no page that it did not
offer. How it does so follows from the document, read by the checker itself."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .arrived import Arrived
from .documents import Document
from .lists import PagedList, is_array, plain, properties
from .lists import is_number as is_numeric
from .replies import Reply
from .values import Maker

PAGE = 3
CURSOR = re.compile(
    r".*(cursor|marker|bookmark|token|after|continue|continuation|scrollid|key|nextpage|lastid)(id|key)?"
)
OFFSET = re.compile(r"\$?skip|.*offset|start(index|at|row)?|from|first(result|item)?")
NUMBER = re.compile(r"(current|pagination)?page|page(number|no|num|index|idx)")
URL = re.compile(r".*(url|uri|link|href)")
BACK = re.compile(r".*(prev|before|first|self).*")
ZERO = re.compile(r"(zero|0)[- ]?(based|index)|base[- ]?0|(start|begin)\w* (at|from|with) 0", re.IGNORECASE)
ONE = re.compile(r"(one|1)[- ]?(based|index)|base[- ]?1|(start|begin)\w* (at|from|with) 1", re.IGNORECASE)
USUAL = ("items", "data", "results", "values", "records", "entries", "value", "list", "objects", "resources", "rows")
NEWEST = 1000  # the number of the first item, where numbers go down


class PagingService:
    def __init__(
        self, document: Document, one: PagedList, url: str, total: int, *, base: int = 0, end: int = 0
    ) -> None:
        """`base` is the number of the first page where the document does not say it; `end` is one of three ways to
        say that nothing follows: null, nothing at all, an empty text."""
        self.one, self.url, self.total, self.end = one, url, total, end
        self.document = document
        self.cells = [{"id": f"item-{number}", "name": f"n{number}"} for number in range(total)]
        self.way = chosen_array(document, one)
        self.mode, self.turn = mode_of(document, one)
        first = first_of(document, one, self.turn)
        self.base = base if first is None else first
        self.is_open = self.mode == "page" and first is None
        self.problem = ""
        self.offered: set[int] = set()
        self.has_begun = False
        self.target = ""

    def respond(self, arrived: Arrived) -> Reply:
        self.target = arrived.target.partition("?")[0]
        asked = dict(parse_qsl(urlsplit(arrived.target).query, keep_blank_values=True))
        if arrived.body and arrived.headers.get("content-type", "").partition(";")[0].endswith("json"):
            asked = {**asked, **json.loads(arrived.body)}
        start = self.start_of(asked)
        if start is None:
            self.problem = self.problem or f"it was asked for a page that it did not offer: {arrived.target}"
            return Reply(400, "application/json", b"{}")
        self.has_begun = True
        page = self.cells[start : start + PAGE]
        following = start + PAGE if start + PAGE < self.total else None
        headers = self.links(following) if self.mode == "link" else {}
        return Reply(200, "application/json", json.dumps(self.answer(page, start, following)).encode(), headers=headers)

    def start_of(self, asked: dict[str, Any]) -> int | None:
        given = asked.get(self.turn) if self.turn else None
        other = next((name for name in self.one.turns if name in asked and name != self.turn), "")
        if given is None and str(asked.get(other, "")).isdecimal():  # what it takes beside that
            number = int(asked[other])
            if is_page(self.document, self.one, other):
                first = first_of(self.document, self.one, other)
                return max(number - (self.base if first is None else first), 0) * PAGE
            if re.fullmatch(r".*(offset|skip)", plain(other)):
                return number
        if "at_item" in asked:  # of an address that it gave
            return int(asked["at_item"]) if int(asked["at_item"]) in self.offered else None
        if given is None:
            return 0
        text = str(given)
        if self.mode == "page":
            return max(int(text) - self.base, 0) * PAGE if text.isdecimal() else None
        if self.mode == "offset":
            return max(int(text) - self.base, 0) if text.isdecimal() else None
        if self.mode == "mark":
            return NEWEST - int(text) if text.isdecimal() else None
        if self.mode == "last":
            return int(text.removeprefix("item-")) + 1 if text.startswith("item-") else None
        match = re.fullmatch(r"c-(\d+)-=&é", text)
        if match is None and not self.has_begun:  # a document that requires one leaves open which is the first
            return 0
        return int(match[1]) if match and self.mode == "cursor" else None

    def address(self, start: int) -> str:
        self.offered.add(start)
        return f"{self.url}{self.target}?at_item={start}"

    def links(self, following: int | None) -> dict[str, str]:
        first = f'<{self.address(0)}>; rel="self"'
        return {"Link": first if following is None else f'{first}, <{self.address(following)}>; rel="next"'}

    def answer(self, page: list[Any], start: int, following: int | None) -> Any:
        if () in self.one.arrays:
            return page
        maker = Maker(self.document, full=True, choice=0, odd=False, examples=False, answer=True)
        made = maker.value(self.one.schema)
        made = made if isinstance(made, dict) else {}
        for way in self.one.tells:
            holder = made
            for name in way[:-1]:
                holder = holder.setdefault(name, {})
            if isinstance(holder, dict):
                holder.setdefault(way[-1], re.fullmatch(r"has.*|more|is.*", plain(way[-1])) is not None or "text")
        self.fill(made, page, start, following)
        holder = made
        for name in self.way[:-1]:
            holder = holder.setdefault(name, {})
            self.fill(holder, page, start, following)
        holder[self.way[-1]] = page
        return made

    def fill(self, made: dict[str, Any], page: list[Any], start: int, following: int | None, depth: int = 0) -> None:
        """Puts the truth wherever the answer speaks of pages."""
        facts: dict[str, Any] = {
            r"total(count|items|results?(size|count)?|elements|records|size|hits)?|numfound|itemstotal": self.total,
            r"(total|num|numberof)pages|pages?count|pages(total)?": -(-self.total // PAGE),
            r"lastpage": self.base + max(-(-self.total // PAGE) - 1, 0),
            r"(current)?page(number|no|num|index)?|number": self.base + start // PAGE,
            r"has(more|next|nextpage|moreitems)|more": following is not None,
            r"(is)?last(page)?": following is None,
            r"limit|per_?page|(page)?size|itemsperpage": PAGE,
            r"offset|start(index|at)?|skip": self.base + start if self.mode == "offset" else start,
            r"(last|end)(id|cursor)?": page[-1]["id"] if page else "",
        }
        for name in list(made):
            value, bare = made[name], plain(name)
            if isinstance(value, dict):
                if bare in ("next", "nextpage") and following is None:
                    self.say_end(made, name)
                elif depth < 4 and not BACK.fullmatch(bare):
                    self.fill(value, page, start, following, depth + 1)
                if bare in ("next", "nextpage") and following is not None:
                    made[name] = {part: self.pointer(part, following) for part in value}
            elif isinstance(value, list) and bare == "links":
                made[name] = [] if following is None else [{"rel": "next", "href": self.address(following)}]
            elif isinstance(value, list):
                made[name] = []
            elif self.tells(bare):
                if following is None:
                    self.say_end(made, name)
                else:
                    made[name] = self.pointer(name, following)
            else:
                for pattern, fact in facts.items():
                    is_fit = isinstance(fact, bool) == isinstance(value, bool)
                    if re.fullmatch(pattern, bare) and is_fit:
                        made[name] = fact
                        break

    def tells(self, bare: str) -> bool:
        is_next = (
            bare.startswith("next") or "odatanext" in bare or bare in ("continue", "endcursor", "continuationtoken")
        )
        is_own = bare != "lastid" or (self.mode == "cursor" and plain(self.turn) == bare)
        return is_next or (CURSOR.fullmatch(bare) is not None and not BACK.fullmatch(bare) and is_own)

    def say_end(self, made: dict[str, Any], name: str) -> None:
        if self.end == 1:
            del made[name]
        else:
            made[name] = None if self.end == 0 or isinstance(made[name], dict) else ""

    def pointer(self, name: str, following: int) -> Any:
        if URL.fullmatch(plain(name)) or self.mode == "address":
            return self.address(following)
        if self.mode == "mark":
            return NEWEST - following
        if self.mode == "last":
            return f"item-{following - 1}"
        if self.mode in ("page", "offset"):
            return self.base + (following // PAGE if self.mode == "page" else following)
        return f"c-{following}-=&é"


def mode_of(document: Document, one: PagedList) -> tuple[str, str]:
    """How this list turns its pages, and by which parameter."""
    cursors = [name for name in one.turns if CURSOR.fullmatch(plain(name)) and not BACK.fullmatch(plain(name))]
    texts = [name for name in one.turns if not is_number(document, one, name)]
    numbers = [name for name in one.turns if is_number(document, one, name)]
    tells = [way for way in one.tells if points_on(way)]
    more = any(re.fullmatch(r"has(more|next).*|more", plain(way[-1])) for way in one.tells)
    turn = next(iter([*cursors, *texts]), "")
    if "from" in numbers and tells:
        return "mark", "from"
    if turn and tells and not all(URL.fullmatch(plain(way[-1])) for way in tells):
        return "cursor", turn
    if tells and any(URL.fullmatch(plain(way[-1])) or plain(way[-1]) == "next" for way in tells):
        return "address", turn
    if turn in cursors and more:
        return "last", turn
    page = next((name for name in [*numbers, *texts] if is_page(document, one, name)), "")
    if page:
        return "page", page
    offset = next((name for name in numbers if OFFSET.fullmatch(plain(name))), "")
    return ("offset", offset) if offset else ("link", turn)


def is_page(document: Document, one: PagedList, name: str) -> bool:
    return NUMBER.fullmatch(plain(name)) is not None or "page number" in schema_of(document, one, name)[1].lower()


def points_on(way: tuple[str, ...]) -> bool:
    bare = plain(way[-1])
    is_inside = len(way) > 1 and plain(way[-2]) in ("next", "nextpage")
    return is_inside or "next" in bare or (CURSOR.fullmatch(bare) is not None and not BACK.fullmatch(bare))


def schema_of(document: Document, one: PagedList, name: str) -> tuple[dict[str, Any], str]:
    for parameter in one.parameters:
        if parameter.get("name") == name:
            schema = document.follow(parameter.get("schema", parameter))
            return (schema if isinstance(schema, dict) else {}), str(parameter.get("description", ""))
    schema = document.follow(one.body.get(name))
    return (schema if isinstance(schema, dict) else {}), ""


def is_number(document: Document, one: PagedList, name: str) -> bool:
    return is_numeric(document, schema_of(document, one, name)[0])


def first_of(document: Document, one: PagedList, name: str) -> int | None:
    schema, text = schema_of(document, one, name)
    for key in ("default", "minimum"):
        if schema.get(key) in (0, 1) and not isinstance(schema.get(key), bool):
            return int(schema[key])
    if OFFSET.fullmatch(plain(name)):
        return 0
    text += str(schema.get("description", ""))
    return 0 if ZERO.search(text) else 1 if ONE.search(text) else None


def chosen_array(document: Document, one: PagedList) -> tuple[str, ...]:
    ways = [way for way in one.arrays if way]
    words = [plain(word) for word in one.path.split("/") if word and "{" not in word]
    named = [way for usual in (*USUAL, *reversed(words)) for way in ways if plain(way[-1]) == usual]
    of_objects = [way for way in ways if holds_objects(document, one, way)]
    return next(iter([*(ways if len(ways) == 1 else []), *named, *of_objects, *ways]), ())


def holds_objects(document: Document, one: PagedList, way: tuple[str, ...]) -> bool:
    schema = one.schema
    for name in way:
        schema = document.follow(properties(document, schema).get(name))
    items = document.follow(schema.get("items")) if isinstance(schema, dict) else None
    return isinstance(items, dict) and bool(properties(document, items)) and not is_array(document, items)
