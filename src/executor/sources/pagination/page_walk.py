"""One list, page by page: which page comes next, and whether the last one was really the last."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

from executor.network.client import Answer
from executor.sources.pagination.ends import (
    says_more,
    says_no_next,
    stated_cursor,
    stated_offset,
    stated_page,
    stated_page_count,
    stated_total,
)
from executor.sources.pagination.link_headers import is_address, is_paging, listed_link, next_link
from executor.sources.pagination.names import AFTER, ASIDE, BESIDE, OTHER_CURSORS, plain
from executor.sources.pagination.page_scheme import PageScheme
from executor.sources.pagination.repeats import Repeats, are_alike, are_in_order

# Parts of an answer, by the way to them.
NOT_LISTS = ASIDE | BESIDE


def items_in(value: Any, path: list[str]) -> list[Any]:
    """The list, wherever a service puts it: some send it bare, or under another name of the document, and an object
    for a list of one."""
    if isinstance(value, list):
        return value
    holder, found = at(value, path[:-1]), at(value, path)
    if isinstance(holder, dict) and path and path[-1] not in holder:
        others = [part for name, part in holder.items() if isinstance(part, list) and plain(name) not in NOT_LISTS]
        found = others[0] if len(others) == 1 else None
    return found if isinstance(found, list) else [found] if isinstance(found, dict) and path else []


def is_absent(value: Any, path: list[str]) -> bool:
    """Whether a field is not even there; one that is null is there."""
    for name in path:
        if not isinstance(value, dict):
            return isinstance(value, list)
        if name not in value:
            return True
        value = value[name]
    return False


def at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


COUNTED = ("page", "offset")
EMPTY_PAGES = 3
ONE_BY_ONE = "call the tool without `.all`, page by page"

Following = dict[str, Any] | str | None


class Walk:
    """What is known of a list so far. `complete` is true once the service has said, or shown, that nothing follows."""

    def __init__(self, paging: PageScheme, size: Any = None, *, may_follow: bool = False) -> None:
        """`size` is how many items each page was asked to have; `may_follow`, that an address may be requested."""
        self.paging = paging
        self.items: list[Any] = []
        self.pages = 0
        self.complete = False
        self.reason = ""
        self._may_follow = may_follow
        self._start: int | None = None if self.paging.get("guessed") else self.paging.get("start", 0)
        self._size = size if isinstance(size, int) else 0
        self._step = 0  # of an offset; 0 is as many as came
        self._probe = ""  # what a request is to find out: where pages begin (`start`), what an offset counts (`step`)
        self.is_trying = False  # whether the service takes the identifier of the last item, which no one promised
        self._has_links = False
        self._total: int | None = None
        self._has_shrunk = False
        self._received = 0
        self._empty = 0
        self._first: list[Any] = []
        self._sent: Any = None
        self._seen: set[str] = set()
        self._repeats = Repeats(counted=self.paging["by"] in COUNTED)

    @property
    def is_counted(self) -> bool:
        return self.paging["by"] in COUNTED

    def begin(self) -> Following:
        """The first page: as the service gives it, unless its number has to be said."""
        if not self.paging.get("required"):
            return {}
        return {self.paging["argument"]: 0 if self._start is None else self._start}

    def begin_at_one(self) -> Following:
        """After page 0 was refused, or empty."""
        self._start, self.pages = 1, 0
        return {self.paging["argument"]: 1}

    def add(self, answer: Answer, value: Any) -> Following:
        """Takes a page in. Arguments of the next one, or its address; None after the last."""
        found = items_in(value, self.paging["items"])
        if self._probe:
            is_taken, following = self._settle(found)
            if is_taken:
                return following
        self.pages += 1
        self._received += len(found)
        self._first = self._first if self.pages > 1 else found
        fresh = self._repeats.fresh(found)
        self.items.extend(fresh)
        self._note_total(answer, value, found)
        if found and not fresh:
            return self._end_at_repetition(value)
        self._empty = 0 if found else self._empty + 1
        return self._refuse_circle(self._next(answer, value, found))

    def end(self) -> Following:
        """Nothing follows. A list that is shorter than the service said is not whole."""
        if self._has_shrunk:
            return self.stop("the list changed while it was read, so items may be missing: call it again")
        if self._total is not None and len(self.items) < self._total:
            return self.stop(f"the service reports {self._total} items but returned {len(self.items)}")
        self.complete = True
        return None

    def stop(self, reason: str) -> Following:
        """No one knows whether something follows, or it can't be asked for."""
        self.reason = reason
        return None

    def end_behind(self) -> Following:
        """A page behind the last one does not exist, or is empty."""
        counts = self.paging["by"] == "offset" and self._total is None and not self._step and not self._probe
        if counts and len(self._first) > max(1, self._size - 1):  # else the first page had room for all
            self._probe = "step"
            return {self.paging["argument"]: (self._start or 0) + 1}
        return self.end()

    def _settle(self, found: list[Any]) -> tuple[bool, Following]:
        """What a probe found out: whether its page is one that is known, and what follows then."""
        probe, self._probe = self._probe, ""
        if probe == "step":  # one item further, or one page further
            if not found or any(one in self._first for one in found):
                return True, self.end()
            self._step, self.pages, self.items, self._received = 1, 1, list(self._first), len(self._first)
            self._repeats, self._seen = Repeats(counted=True), set()
            self._repeats.fresh(self._first)
            return False, None
        is_same = are_alike(self._first, found)
        self._start = 1 if is_same else 0
        return is_same, self._refuse_circle({self.paging["argument"]: 2}) if is_same else None

    def _note_total(self, answer: Answer, value: Any, found: list[Any]) -> None:
        total = stated_total(value, answer.headers)
        counts_page = self.pages > 1 and total == len(found) and total < len(self.items)
        if total is None or counts_page:
            return
        self._has_shrunk |= self.is_counted and self._total is not None and total < self._total
        self._total = total

    def _end_at_repetition(self, value: Any) -> Following:
        if says_more(value) is False or (self._total is not None and len(self.items) >= self._total):
            return self.end()
        argument = self.paging.get("argument")
        ignored = f"; it seems to ignore `{argument}`" if self.pages == 2 and argument and self.is_counted else ""
        return self.stop(f"the service returned the same items again on page {self.pages}{ignored}, so more may follow")

    def _refuse_circle(self, following: Following) -> Following:
        self._sent = next(iter(following.values()), None) if isinstance(following, dict) else following
        if following is not None and not self._repeats_cursor():
            mark = repr(following)
            if mark in self._seen:
                return self.stop(f"page {self.pages} points back to an earlier page, so more may follow")
            self._seen.add(mark)
        return following

    def _repeats_cursor(self) -> bool:
        """Some keep one name for the whole list, and every request moves on."""
        return "scroll" in plain("".join(self.paging.get("from", ())[-1:]))

    def _next(self, answer: Answer, value: Any, found: list[Any]) -> Following:
        by, more = self.paging["by"], says_more(value)
        header = answer.headers.get("Link", "")
        link, has_links = next_link(header) if self._may_follow else "", is_paging(header)
        had_links, self._has_links = self._has_links, self._has_links or has_links
        if link and (by in ("link", *COUNTED) or not self._stated_next(answer, value)):
            return urljoin(answer.url, link)
        if by == "link":
            return self._by_link(answer, value, found, more)
        if by in COUNTED:
            if more is True and not found:
                return self.stop(f"the service says that more follows, but page {self.pages} is empty")
            if more is False or had_links or has_links:
                return self.end()
            return self._count_on(by, value, found)
        if by == "last":
            return self._after_last(found, more)
        return self._by_cursor(answer, value, found, more)

    def _count_on(self, by: str, value: Any, found: list[Any]) -> Following:
        argument = self.paging["argument"]
        if not found:
            is_first = self.pages == 1 and self.paging.get("required") and self._start is None
            return self.begin_at_one() if is_first else self.end_behind()
        # What is no more than one page has may count that page alone, unless the page has room for more.
        has_room = self._total is not None and (len(found) < self._total or len(found) < self._size)
        if self._total is not None and has_room and self._total <= len(self.items):
            return self.end()
        if by == "offset":
            if self.pages == 1 and "start" in argument.lower() and stated_offset(value) == 1:
                self._start = 1
            return {argument: (self._start or 0) + (self._step * self.pages or self._received)}
        if self.pages == 1:
            first = stated_page(value)
            self._start = first if first == 0 or (first == 1 and self._start is None) else self._start
        count = stated_page_count(value, self._start == 0)
        if count and self.pages >= count:
            return self.end()
        if self.pages == 1 and not self._start:
            self._probe = "start"
        return {argument: 1 if self._probe else (self._start or 0) + self.pages}

    def _by_link(self, answer: Answer, value: Any, found: list[Any], more: bool | None) -> Following:
        if self._has_links or not self.paging.get("undeclared") or not found or more is False:
            return self.end()
        argument = self.paging.get("argument", "")
        cursor = stated_cursor(value, argument) if argument else None
        if cursor is not None:
            return self._with_cursor(answer, cursor)
        if more is None and says_no_next(value):
            return self.end()
        if self._total is not None and len(self.items) >= self._total:
            return self.end()
        if more is None and plain(argument) in AFTER and are_in_order(self.items[-len(found) - 1 :]):
            self.is_trying = True
            return {argument: self.items[-1]["id"]}
        return self.stop(f"the service does not say whether more follows: to be sure, {ONE_BY_ONE}")

    def _after_last(self, found: list[Any], more: bool | None) -> Following:
        last = found[-1].get("id") if found and isinstance(found[-1], dict) else None
        if more is False or (more is None and not found):
            return self.end()
        if more and last is not None:
            return {self.paging["argument"]: last}
        return self.stop(f"the service does not say where the next page starts: {ONE_BY_ONE}")

    def _by_cursor(self, answer: Answer, value: Any, found: list[Any], more: bool | None) -> Following:
        stated = self._stated_next(answer, value)
        if isinstance(stated, dict | list):
            return self.stop(f"the service describes the next page in an unsupported form: {ONE_BY_ONE}")
        name = plain("".join(self.paging.get("from", ())[-1:]))
        is_echo = name in OTHER_CURSORS or bool(self.paging.get("more"))
        if stated is None and found and more is not False and self._counts_instead(value):
            return self._count_on(self.paging["by"], value, found)
        if stated is None and found and isinstance(value, list) and "from" in self.paging:
            return self.stop(f"the service does not say whether more follows: to be sure, {ONE_BY_ONE}")
        if stated is None and more:
            return self.stop(f"the service says that more follows, but not where: {ONE_BY_ONE}")
        # The last identifier is there on the last page as well, and some give a cursor even behind the end.
        if stated is None or (self.paging.get("more") and more is False) or (not found and is_echo and not more):
            return self.end()
        if stated == self._sent and not self._repeats_cursor():
            if more is False or name in ("nextcursormark", "bookmark", "nextbookmark"):
                return self.end()
            return self.stop("the service returned the same cursor again, so it is unknown whether more follows")
        if self._empty >= EMPTY_PAGES:
            return self.stop(f"{self._empty} empty pages came in a row: {ONE_BY_ONE}")
        return self._with_cursor(answer, stated)

    def _counts_instead(self, value: Any) -> bool:
        """Some name the next page only on request, and count otherwise: then the first answer lacks the
        field itself, or speaks of more items than came."""
        other = self.paging.get("otherwise")
        is_open = (
            is_absent(value, self.paging.get("from", [])) if self._total is None else len(self.items) < self._total
        )
        if other is None or self.pages > 1 or not is_open:
            return False
        self.paging = {**other, "items": self.paging["items"]}
        self._start = None if other.get("guessed") else other.get("start", 0)
        self._repeats = Repeats(counted=True)
        self._repeats.fresh(self._first)
        return True

    def _with_cursor(self, answer: Answer, stated: Any) -> Following:
        text = stated if isinstance(stated, str) else ""
        if text.startswith(("http://", "https://")) and not self._may_follow:
            return self.stop(f"the next page has its own address, which takes no body: {ONE_BY_ONE}")
        if text.startswith(("http://", "https://")) or (self.paging["by"] == "next" and is_address(text)):
            return urljoin(answer.url, text)
        if self.paging["by"] == "next":
            return self.stop(f"the service names the next page ({str(stated)[:40]!r}) without an address: {ONE_BY_ONE}")
        return {self.paging["argument"]: stated}

    def _stated_next(self, answer: Answer, value: Any) -> Any:
        """What the answer says of the next page; None if it names none."""
        if "header" in self.paging:
            stated: Any = answer.headers.get(self.paging["header"], "")
        else:
            stated = at(value, self.paging.get("from", ["?"]))
        if isinstance(stated, list):
            stated = listed_link(stated) if self.paging["by"] == "next" else stated
        if isinstance(stated, dict):
            stated = next((stated[name] for name in ("href", "url", "uri") if stated.get(name)), stated)
        if type(stated) is int and self._total is not None and len(self.items) < self._total:
            return stated  # items are counted from 0, and that one has not come yet
        return None if stated is None or stated is False or stated in ("", 0, "0", {}) or stated == [] else stated
