"""A calendar: the meetings of a week, and when somebody is busy."""

from __future__ import annotations

from typing import Any

from agents_eval.service import Reply, Request, Service, route

DAY = "2026-03-04"
MEETINGS = (
    ("Stand-up", 9, 10),
    ("Planning", 10, 12),
    ("Lunch with Chloe", 12, 13),
    ("Review", 14, 16),
    ("Interview", 16, 17),
)


class GoogleCalendar(Service):
    name = "calendar"
    document = "googleapis.com/calendar"

    def __init__(self) -> None:
        self.events = {
            one["id"]: one for day in (2, 3, 4, 5) for one in (event(day, at) for at in range(len(MEETINGS)))
        }

    @route("GET", "/calendars/{calendar}/events")
    def list_events(self, request: Request, calendar: str) -> Reply:
        first, last = request.query.get("timeMin", ""), request.query.get("timeMax", "9")
        found = [one for one in self.events.values() if first[:19] <= one["start"]["dateTime"] <= last[:19]]
        return Reply({"kind": "calendar#events", "summary": calendar, "timeZone": "UTC", "items": found})

    @route("DELETE", "/calendars/{calendar}/events/{id}")
    def delete_event(self, request: Request, calendar: str, id: str) -> Reply:
        return Reply(None, 204) if self.events.pop(id, None) else gone()

    @route("PATCH", "/calendars/{calendar}/events/{id}")
    def patch_event(self, request: Request, calendar: str, id: str) -> Reply:
        return self.change(id, request.body)

    @route("PUT", "/calendars/{calendar}/events/{id}")
    def update_event(self, request: Request, calendar: str, id: str) -> Reply:
        if not (request.body.get("start") and request.body.get("end")):
            return Reply({"error": {"code": 400, "message": "Missing end time."}}, 400)
        return self.change(id, request.body)

    def change(self, id: str, changes: Any) -> Reply:
        if id not in self.events:
            return gone()
        self.events[id] |= changes
        return Reply(self.events[id])

    @route("POST", "/freeBusy")
    def read_busy(self, request: Request) -> Reply:
        first, last = request.body["timeMin"][:19], request.body["timeMax"][:19]
        busy = [
            {"start": one["start"]["dateTime"] + "Z", "end": one["end"]["dateTime"] + "Z"}
            for one in self.events.values()
            if first <= one["start"]["dateTime"] <= last
        ]
        calendars = {one["id"]: {"busy": busy} for one in request.body["items"]}
        return Reply({"kind": "calendar#freeBusy", "calendars": calendars})


def event(day: int, at: int) -> dict[str, Any]:
    summary, first, last = MEETINGS[at]
    return {
        "kind": "calendar#event",
        "id": f"ev{day}{at}",
        "status": "confirmed",
        "summary": summary,
        "start": {"dateTime": f"2026-03-{day:02}T{first:02}:00:00", "timeZone": "UTC"},
        "end": {"dateTime": f"2026-03-{day:02}T{last:02}:00:00", "timeZone": "UTC"},
        "attendees": [{"email": "chloe@acme.example", "responseStatus": "accepted"}],
    }


def gone() -> Reply:
    return Reply({"error": {"code": 404, "message": "Not Found"}}, 404)
