"""Ids of the events of a call: a client whose stream breaks names the last one, and gets the answer all the same.

Nothing is kept of a stream. The id itself says which execution the call waits for, and which request it answers, so a
client can also come back after the daemon was restarted.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import orjson

from executor.dataclass import dataclass

MAX_LENGTH = 1_000
DIRECT = "direct"  # for every tool that a toolkit passes through: its outcome is that of its execution
_SHAPE = re.compile(rf"(exec_[A-Za-z0-9]+)\.(execute|resume|{DIRECT})\.([A-Za-z0-9_-]+)")


@dataclass(frozen=True, slots=True)
class CallPlace:
    """A call under way: of which tool, for which execution, and the number of its request."""

    execution_id: str
    tool: str
    number: str | int

    def to_event_id(self) -> str:
        number = base64.urlsafe_b64encode(orjson.dumps(self.number)).decode().rstrip("=")
        return f"{self.execution_id}.{self.tool}.{number}"


def event_id_of(execution_id: str, message: dict[str, Any]) -> str:
    """Empty if the call can't be found again by one, as one with a number of more than 64 bits."""
    number, params = message.get("id"), message.get("params")
    tool = params.get("name") if isinstance(params, dict) else None
    if not isinstance(number, str | int) or isinstance(number, bool) or not isinstance(tool, str):
        return ""
    try:
        found = CallPlace(execution_id, tool if tool in ("execute", "resume") else DIRECT, number).to_event_id()
    except TypeError:
        return ""
    return found if len(found) <= MAX_LENGTH else ""


def read_event_id(text: str) -> CallPlace | None:
    """Anyone can make one up: what could not be written into an answer is none."""
    found = _SHAPE.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        return None
    try:
        number = orjson.loads(base64.urlsafe_b64decode(found[3] + "=" * (-len(found[3]) % 4)))
    except (binascii.Error, ValueError):
        return None
    return CallPlace(found[1], found[2], number) if type(number) in (str, int) else None
