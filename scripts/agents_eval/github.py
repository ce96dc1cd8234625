"""A code host: one repository with bugs on two pages, and the repositories of its user."""

from __future__ import annotations

from typing import Any

from agents_eval.service import Reply, Request, Service, route

AUTHORS = ("ana", "ben", "chloe", "dmitri", "ana", "ben", "ana")
LANGUAGES = ("TypeScript", "Python", "Python", "Go", "TypeScript", "Python", "Rust", None)
BUGS = 65


class GitHub(Service):
    name = "github"
    document = "github.com/api.github.com"

    def __init__(self) -> None:
        self.issues = [issue(number) for number in range(1, 101)]
        self.comments: list[dict[str, Any]] = []
        self.repositories = [repository(number) for number in range(1, 24)]

    @route("GET", "/repos/{owner}/{repo}/issues")
    def list_issues(self, request: Request, owner: str, repo: str) -> Reply:
        state = request.query.get("state", "open")
        labels = set(filter(None, request.query.get("labels", "").split(",")))
        found = [
            one
            for one in self.issues
            if state in ("all", one["state"]) and labels <= {label["name"] for label in one["labels"]}
        ]
        return page_of(found, request)

    @route("POST", "/repos/{owner}/{repo}/issues")
    def create_issue(self, request: Request, owner: str, repo: str) -> Reply:
        made = issue(len(self.issues) + 1) | {"state": "open", "title": request.body["title"]}
        made |= {"body": request.body.get("body"), "labels": [label(name) for name in request.body.get("labels", ())]}
        self.issues.append(made)
        return Reply(made, 201)

    @route("POST", "/repos/{owner}/{repo}/issues/{number}/comments")
    def create_comment(self, request: Request, owner: str, repo: str, number: str) -> Reply:
        if int(number) > len(self.issues):
            return Reply({"message": "Not Found"}, 404)
        made = {"id": 9000 + len(self.comments), "body": request.body["body"], "user": user("bot")}
        made["issue"] = int(number)
        self.comments.append(made)
        return Reply(made, 201)

    @route("GET", "/user/repos")
    def list_repositories(self, request: Request) -> Reply:
        return page_of(self.repositories, request)

    @route("GET", "/repositories")
    def list_public(self, request: Request) -> Reply:
        return page_of([repository(number) | {"owner": user("someone")} for number in range(1, 4)], request)


def page_of(found: list[Any], request: Request) -> Reply:
    size, page = min(request.number("per_page", 30), 100), request.number("page", 1)
    last = max(1, -(-len(found) // size))

    def link(number: int, relation: str) -> str:
        kept = {**request.query, "page": str(number), "per_page": str(size)}
        query = "&".join(f"{key}={value}" for key, value in kept.items())
        return f'<{request.address}{request.path}?{query}>; rel="{relation}"'

    links = [link(page + 1, "next"), link(last, "last")] if page < last else []
    links += [link(page - 1, "prev"), link(1, "first")] if page > 1 else []
    return Reply(found[(page - 1) * size : page * size], headers={"Link": ", ".join(links)} if links else {})


def issue(number: int) -> dict[str, Any]:
    """The first 65 are open bugs, the oldest six of them from 2024; the rest is closed or something else."""
    is_bug = number <= BUGS or number % 2 == 0
    state = "open" if number <= BUGS or (number % 3 == 0 and not is_bug) else "closed"
    year = 2024 if number <= 6 else 2026
    return {
        "id": 1_000 + number,
        "number": number,
        "title": f"{'Crash' if is_bug else 'Wish'} in part {number}",
        "body": f"What happens in part {number}, at length. " * 20,
        "state": state,
        "user": user(AUTHORS[number % len(AUTHORS)]),
        "labels": [label("bug" if is_bug else "enhancement")],
        "assignees": [],
        "comments": number % 4,
        "created_at": f"{year}-0{number % 9 + 1}-{number % 28 + 1:02}T08:00:00Z",
        "html_url": f"https://github.example/acme/web/issues/{number}",
    }


def user(login: str) -> dict[str, Any]:
    return {"login": login, "id": len(login), "type": "User", "site_admin": False}


def label(name: str) -> dict[str, Any]:
    return {"id": len(name), "name": name, "color": "d73a4a", "default": True}


def repository(number: int) -> dict[str, Any]:
    return {
        "id": 500 + number,
        "name": f"part-{number}",
        "full_name": f"acme/part-{number}",
        "private": number % 2 == 0,
        "owner": user("acme"),
        "language": LANGUAGES[number % len(LANGUAGES)],
        "stargazers_count": number * 7 % 50,
        "open_issues_count": number % 5,
    }
