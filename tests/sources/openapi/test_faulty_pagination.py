"""Services that page badly: every walk ends, no item is lost or doubled without a word, and `complete` is the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executor.network.client import Egress
from tests.sources.openapi.paged_lists import FLAG, NUMBER, TEXT, THINGS, Asked, List, Service, fields, query, things
from tests.sources.upstream import Reply, Upstream, as_json

CURSOR = [query("cursor", TEXT)]
CURSOR_ANSWER = fields(items=THINGS, next_cursor=TEXT, has_more=FLAG, total=NUMBER)
WINDOW = [query("offset"), query("limit")]


def by_cursor(pages: dict[str, Any]) -> Service:
    return lambda asked: pages[asked.get("cursor", "")]


def page(items: list[Any], cursor: Any = None, **more: Any) -> dict[str, Any]:
    return {"items": items, "next_cursor": cursor, **more}


# what the service gives by cursor; the items that come; a word of the reason, or nothing if the list is complete
WALKS: dict[str, tuple[dict[str, Any], list[Any], str]] = {
    "a circle": ({"": page([1], "a"), "a": page([2], "b"), "b": page([3], "a")}, [1, 2, 3], "points back"),
    "the same cursor": ({"": page([1], "a"), "a": page([2], "a")}, [1, 2], "same cursor"),
    "more, but not where": ({"": page([1], None, has_more=True)}, [1], "not where"),
    "an empty cursor": ({"": page([1], "a"), "a": page([2], "")}, [1, 2], ""),
    "the cursor 0": ({"": page([1], "a"), "a": page([2], "0")}, [1, 2], ""),
    "no cursor at all": ({"": page([1], "a"), "a": {"items": [2]}}, [1, 2], ""),
    "fewer than counted": ({"": page([1], "a", total=3), "a": page([2], None, total=3)}, [1, 2], "reports 3"),
    "as many as counted": ({"": page([1], "a", total=2), "a": page([2], None, total=2)}, [1, 2], ""),
    "an empty page on the way": ({"": page([1], "a"), "a": page([], "b"), "b": page([2])}, [1, 2], ""),
    "an object for a cursor": ({"": page([1], {"id": 1})}, [1], "unsupported form"),
    "equal items without an identifier": ({"": page([1, 2], "a"), "a": page([2, 3])}, [1, 2, 2, 3], ""),
    "nothing at all": ({"": page([])}, [], ""),
    "null for the list": ({"": {"items": None, "next_cursor": None}}, [], ""),
    "nothing, and 204": ({"": page([1], "a"), "a": Reply(204)}, [1], ""),
    "no body behind the first page": ({"": page([1], "a"), "a": Reply(200)}, [1], "returned no answer"),
}


@pytest.mark.parametrize("case", WALKS)
async def test_a_list_by_cursor_ends_and_tells_the_truth(egress: Egress, upstream: Upstream, case: str) -> None:
    pages, expected, reason = WALKS[case]
    listed = List(egress, upstream, CURSOR, CURSOR_ANSWER)
    assert await listed.all(by_cursor(pages)) == (expected, not reason), listed.reason
    assert reason in listed.reason


async def test_an_item_that_comes_again_is_given_once(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, CURSOR, CURSOR_ANSWER)
    pages = {"": page(things(0, 3), "a"), "a": page(things(2, 3), "b"), "b": page(things(4, 2))}
    assert await listed.all(by_cursor(pages)) == (things(0, 6), True)
    pages = {"": page(things(0, 2), "a"), "a": page(things(0, 2), "b"), "b": page(things(2, 2))}
    assert await listed.all(by_cursor(pages)) == (things(0, 2), False)


async def test_cursors_without_end_and_without_items_are_given_up(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, CURSOR, CURSOR_ANSWER)

    def following(asked: Asked) -> Any:
        return page([] if asked else [1], asked.get("cursor", "") + "x")

    assert await listed.all(following) == ([1], False)
    assert "empty pages" in listed.reason


async def test_a_cursor_may_stay_the_same_where_the_service_moves_on(egress: Egress, upstream: Upstream) -> None:
    scrolled = List(egress, upstream, [query("scroll_id", TEXT)], fields(hits=THINGS, scroll_id=TEXT))
    left = [things(0, 2), things(2, 2), things(4, 1), []]
    assert await scrolled.all(lambda asked: {"hits": left.pop(0), "scroll_id": "s"}) == (things(0, 5), True)
    marked = List(egress, upstream, [query("cursorMark", TEXT)], fields(docs=THINGS, nextCursorMark=TEXT))
    marks = {"": ("a", things(0, 2)), "a": ("b", things(2, 1)), "b": ("b", [])}

    def answer(asked: Asked) -> Any:
        mark, items = marks[asked.get("cursorMark", "")]
        return {"docs": items, "nextCursorMark": mark}

    assert await marked.all(answer) == (things(0, 3), True)
    booked = List(egress, upstream, [query("bookmark", TEXT)], fields(docs=THINGS, bookmark=TEXT))

    def with_bookmark(asked: Asked) -> Any:  # also where nothing is left
        at = int(asked.get("bookmark", "0"))
        return {"docs": things(0, 3)[at:][:2], "bookmark": str(at + 2)}

    assert await booked.all(with_bookmark) == (things(0, 3), True)


async def test_a_name_is_not_taken_for_an_address(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, [], fields(items=THINGS, next=TEXT))
    assert await listed.all(lambda asked: {"items": things(0, 2), "next": "page-2"}) == (things(0, 2), False)
    assert "'page-2'" in listed.reason and listed.targets == ["/list"]


async def test_a_cursor_that_only_comes_when_asked_for_is_replaced_by_counting(
    egress: Egress, upstream: Upstream
) -> None:
    parameters = [*WINDOW, query("marker", TEXT), query("usemarker", FLAG)]
    listed = List(egress, upstream, parameters, fields(entries=THINGS, next_marker=TEXT, total_count=NUMBER))

    def window(asked: Asked) -> Any:
        return {"entries": things(0, 5)[int(asked.get("offset", 0)) :][:2], "total_count": 5}

    assert await listed.all(window) == (things(0, 5), True)
    assert await listed.all(lambda asked: {**window(asked), "total_count": None}) == (things(0, 5), True)
    paged = List(
        egress, upstream, [query("page", {**NUMBER, "default": 1})], fields(items=THINGS, links=fields(next=TEXT))
    )
    assert await paged.all(lambda asked: {"items": things(0, 5)[int(asked.get("page", 1)) * 2 - 2 :][:2]}) == (
        things(0, 5),
        True,
    )
    upstream.requests.clear()
    assert await paged.all(lambda asked: {"items": things(0, 2), "links": {"next": None}}) == (things(0, 2), True)
    assert paged.targets == ["/list"]


async def test_a_number_that_turns_pages_is_no_argument_of_the_whole_list(egress: Egress, upstream: Upstream) -> None:
    schema = fields(items=THINGS, links=fields(next=TEXT))
    for required in (False, True):
        number = {**query("page", NUMBER, "The first page is **0** (zero)."), "required": required}
        listed = List(egress, upstream, [number], schema)

        def answer(asked: Asked) -> Any:
            at = int(asked.get("page", 0))
            following = {"links": {"next": f"/list?page={at + 1}"}} if at < 2 else {}
            return {"items": things(0, 5)[at * 2 :][:2], **following}

        assert await listed.all(answer) == (things(0, 5), True)
        with pytest.raises(AssertionError):
            await listed.all(answer, page=1)


def windows(stock: Callable[[int], list[Any]], size: int = 2, **more: Any) -> Service:
    """Gives `size` items from the offset on; `stock` is the list as it is at the nth request."""
    asked_for: list[int] = []

    def answer(asked: Asked) -> Any:
        asked_for.append(0)
        found = stock(len(asked_for))
        counts = {name: value(found) for name, value in more.items()}
        items = found[int(asked.get("offset", 0)) :][:size]
        return {"items": items, **counts} if counts else items

    return answer


async def test_a_list_that_changes_while_it_is_read_is_not_called_complete(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, WINDOW, fields(items=THINGS, total=NUMBER))
    grows: Service = windows(lambda nth: things(-1 if nth > 1 else 0, 5 if nth > 1 else 4), total=len)
    assert await listed.all(grows) == (things(0, 4), False)  # nothing twice
    shrinks: Service = windows(lambda nth: things(1 if nth > 1 else 0, 5 if nth > 1 else 6), total=len)
    items, complete = await listed.all(shrinks)
    assert not complete and "changed while it was read" in listed.reason and len(items) == 5


@pytest.mark.parametrize("largest", [{}, {"maximum": 500}])
async def test_a_page_that_is_smaller_than_asked_for_is_not_the_last(
    egress: Egress, upstream: Upstream, largest: dict[str, int]
) -> None:
    for parameters in ([query("offset"), query("limit", {**NUMBER, **largest})],):
        listed = List(egress, upstream, parameters, THINGS)
        assert await listed.all(windows(lambda nth: things(0, 5))) == (things(0, 5), True)
        assert await listed.all(windows(lambda nth: things(0, 5)), limit=100) == (things(0, 5), True)


async def test_an_offset_may_count_pages(egress: Egress, upstream: Upstream) -> None:
    def by_pages(asked: Asked) -> Any:
        return things(0, 7)[int(asked.get("offset", 0)) * 2 :][:2]

    assert await List(egress, upstream, WINDOW, THINGS).all(by_pages) == (things(0, 7), True)
    described = [query("offset", NUMBER, "Number of pages to skip, starting from 0"), query("limit")]
    assert await List(egress, upstream, described, THINGS).all(by_pages) == (things(0, 7), True)


async def test_a_service_that_refuses_every_offset_ends_the_list(egress: Egress, upstream: Upstream) -> None:
    listed = List(egress, upstream, WINDOW, THINGS)
    assert await listed.all(lambda asked: as_json({}, 404) if asked else things(0, 3)) == (things(0, 3), True)
    assert len(listed.targets) == 3


@pytest.mark.parametrize(("total", "requests"), [(1, 1), (3, 1), (4, 2), (8, 2), (9, 3)])
async def test_a_total_saves_the_page_behind_the_last(
    egress: Egress, upstream: Upstream, total: int, requests: int
) -> None:
    parameters = [query("offset"), query("limit", {**NUMBER, "maximum": 4})]
    listed = List(egress, upstream, parameters, fields(items=THINGS, total=NUMBER))
    assert await listed.all(windows(lambda nth: things(0, total), 4, total=len)) == (things(0, total), True)
    assert len(listed.targets) == requests


@pytest.mark.parametrize(("status", "reason"), [(404, ""), (416, ""), (400, "refused"), (422, "refused")])
async def test_a_refusal_behind_the_last_page_ends_the_list(
    egress: Egress, upstream: Upstream, status: int, reason: str
) -> None:
    listed = List(egress, upstream, [query("page", {**NUMBER, "default": 1})], THINGS)

    def answer(asked: Asked) -> Any:
        number = int(asked.get("page", 1))
        return things(number * 2 - 2, 2) if number < 4 else as_json({}, status)

    assert await listed.all(answer) == (things(0, 6), not reason)
    assert reason in listed.reason


async def test_the_last_page_may_have_a_number_counted_from_zero(egress: Egress, upstream: Upstream) -> None:
    schema = fields(items=THINGS, page=NUMBER, lastPage=NUMBER)
    listed = List(egress, upstream, [query("page", {**NUMBER, "minimum": 0})], schema)

    def answer(asked: Asked) -> Any:
        number = int(asked.get("page", 0))
        return {"items": things(0, 6)[number * 2 :][:2], "page": number, "lastPage": 2}

    assert await listed.all(answer) == (things(0, 6), True)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("refusal", [400, 404, 200, 0])
async def test_a_page_that_has_to_be_given_is_given_from_the_first(
    egress: Egress, upstream: Upstream, base: int, refusal: int
) -> None:
    listed = List(egress, upstream, [{**query("page"), "required": True}], THINGS)

    def answer(asked: Asked) -> Any:
        number = int(asked["page"])
        if number < base and refusal:
            return as_json([] if refusal == 200 else {}, refusal)
        return things(0, 5)[max(number - base, 0) * 2 :][:2]

    assert await listed.all(answer) == (things(0, 5), True)


@pytest.mark.parametrize("name", ["X-Total-Count", "X-Total"])
async def test_a_header_may_count_the_items(egress: Egress, upstream: Upstream, name: str) -> None:
    listed = List(egress, upstream, WINDOW, THINGS)

    def answer_with_count(asked: Asked) -> Reply:
        return as_json(things(0, 4)[int(asked.get("offset", 0)) :][:2], **{name: "4"})

    assert await listed.all(answer_with_count) == (things(0, 4), True)
    assert len(listed.targets) == 2
    assert await listed.all(lambda asked: as_json(things(0, 2) if not asked else [], **{name: "4"})) == (
        things(0, 2),
        False,
    )
