"""A tracker: issues of one project that can be searched, moved, assigned, commented and created."""

from __future__ import annotations

import re
from typing import Any

from agents_eval.service import Reply, Request, Service, route

AMOUNT = 72
TRANSITIONS = {"11": "To Do", "21": "In Progress", "31": "Done"}
PEOPLE = {"5b10a2844c20165700ede21g": "Ana Costa", "5b10ac8d82e05b22cc7d4ef5": "Ben Vos"}
_MATCHES = re.compile(r"(\w+)\s*(=|~|is|!=)\s*(\"[^\"]*\"|'[^']*'|\w+)", re.IGNORECASE)


class Jira(Service):
    name = "jira"
    document = "atlassian.com/jira"

    def __init__(self) -> None:
        self.issues = {one["key"]: one for one in map(issue, range(1, AMOUNT + 1))}
        self.comments: list[tuple[str, Any]] = []

    @route("GET", "/rest/api/3/search")
    def search(self, request: Request) -> Reply:
        size, start = min(request.number("maxResults", 50), 50), request.number("startAt", 0)
        found = [one for one in self.issues.values() if matches(one["fields"], request.query.get("jql", ""))]
        return Reply(
            {"startAt": start, "maxResults": size, "total": len(found), "issues": found[start : start + size]}
            | {"names": {}, "warningMessages": []}
        )

    @route("POST", "/rest/api/3/issue")
    def create_issue(self, request: Request) -> Reply:
        fields = (request.body or {}).get("fields") or {}
        missing = [name for name in ("project", "summary", "issuetype") if not fields.get(name)]
        if missing:
            return refused({name: f"{name} is required." for name in missing})
        key = f"WEB-{len(self.issues) + 1}"
        self.issues[key] = issue(len(self.issues) + 1) | {"fields": {**issue(1)["fields"], **fields}}
        return Reply({"id": self.issues[key]["id"], "key": key, "self": f"{request.address}/issue/{key}"}, 201)

    @route("GET", "/rest/api/3/issue/{key}/transitions")
    def list_transitions(self, request: Request, key: str) -> Reply:
        to = [{"id": id, "name": name, "to": {"name": name}, "isAvailable": True} for id, name in TRANSITIONS.items()]
        return Reply({"expand": "transitions", "transitions": to}) if key in self.issues else unknown()

    @route("POST", "/rest/api/3/issue/{key}/transitions")
    def move(self, request: Request, key: str) -> Reply:
        name = TRANSITIONS.get(((request.body or {}).get("transition") or {}).get("id", ""))
        if key not in self.issues or name is None:
            return unknown() if name else refused({"transition": "The transition is missing or unknown."})
        self.issues[key]["fields"]["status"] = {"name": name}
        return Reply(None, 204)

    @route("POST", "/rest/api/3/issue/{key}/comment")
    def comment(self, request: Request, key: str) -> Reply:
        """The text is a document of Atlassian's own format, as in the real service."""
        body = (request.body or {}).get("body")
        if not isinstance(body, dict) or body.get("type") != "doc":
            return refused({"comment": "Comment body is not valid!"})
        self.comments.append((key, body))
        return Reply({"id": str(10_000 + len(self.comments)), "body": body, "author": {"displayName": "Agent"}}, 201)

    @route("PUT", "/rest/api/3/issue/{key}/assignee")
    def assign(self, request: Request, key: str) -> Reply:
        id = (request.body or {}).get("accountId")
        if id not in PEOPLE:
            return refused({"assignee": f"User '{id}' does not exist."})
        self.issues[key]["fields"]["assignee"] = person(id)
        return Reply(None, 204)

    @route("GET", "/rest/api/3/user/search")
    def find_people(self, request: Request) -> Reply:
        wanted = request.query.get("query", "").lower()
        return Reply([person(id) for id, name in PEOPLE.items() if wanted in name.lower()])


def matches(fields: dict[str, Any], jql: str) -> bool:
    """As much of the query language as the tasks use: `a = b AND c is EMPTY`."""
    for name, sign, value in _MATCHES.findall(re.split(r"(?i)order by", jql)[0]):
        wanted, actual = value.strip("\"'").lower(), text_of(fields.get(name.lower()))
        if name.lower() == "project" or sign == "~":
            continue
        is_same = (actual == "") if wanted in ("empty", "null") else (actual == wanted)
        if is_same == (sign == "!="):
            return False
    return True


def text_of(field: Any) -> str:
    found = field.get("name") or field.get("displayName") if isinstance(field, dict) else field
    return str(found or "").lower()


def issue(number: int) -> dict[str, Any]:
    return {
        "id": str(20_000 + number),
        "key": f"WEB-{number}",
        "fields": {
            "summary": f"Crash in part {number}" if number <= 4 else f"Work on part {number}",
            "status": {"name": "In Progress" if number % 3 else "To Do"},
            "priority": {"name": "High" if number % 12 == 5 else "Medium"},
            "assignee": None if number % 2 else person(next(iter(PEOPLE))),
            "issuetype": {"name": "Bug"},
            "project": {"key": "WEB"},
            "labels": [],
        },
    }


def person(id: str) -> dict[str, Any]:
    return {"accountId": id, "displayName": PEOPLE[id], "active": True, "accountType": "atlassian"}


def refused(errors: dict[str, str]) -> Reply:
    return Reply({"errorMessages": [], "errors": errors}, 400)


def unknown() -> Reply:
    message = "Issue does not exist or you do not have permission to see it."
    return Reply({"errorMessages": [message], "errors": {}}, 404)
