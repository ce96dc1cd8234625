"""One service of the upstream: routes, and the state that its writes change."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    address: str  # of the service itself, for links in answers

    def number(self, name: str, otherwise: int) -> int:
        return int(self.query.get(name, otherwise))


@dataclass(frozen=True)
class Reply:
    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Callable[..., Any]


def route(method: str, template: str) -> Callable[[Answer], Answer]:
    """The parts in braces become arguments."""
    pattern = re.compile(re.sub(r"\\\{\w+\\\}", "([^/]+)", re.escape(template)) + r"\Z")

    def mark(answer: Answer) -> Answer:
        answer.__dict__["route"] = (method, pattern)
        return answer

    return mark


class Service:
    """`document` is the name of its OpenAPI document in the package that has them; empty where it describes itself."""

    name: ClassVar[str]
    document: ClassVar[str] = ""
    namespace: ClassVar[str] = ""  # empty: the one that Executor gives it
    routes: ClassVar[list[tuple[str, re.Pattern[str], Answer]]]

    def __init_subclass__(cls) -> None:
        found = (one for one in vars(cls).values() if hasattr(one, "route"))
        cls.routes = [(*one.route, one) for one in found]

    def answer(self, request: Request) -> Reply:
        for method, pattern, answer in self.routes:
            if method == request.method and (match := pattern.match(request.path)):
                found = answer(self, request, *match.groups())
                return found if isinstance(found, Reply) else Reply(found)
        return self.missing(request)

    def missing(self, request: Request) -> Reply:
        return Reply({"message": f"{request.method} {request.path} is not part of this evaluation"}, 404)
