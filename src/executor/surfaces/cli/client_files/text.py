"""What the formats of these files share."""

from __future__ import annotations


class Unusable(Exception):
    """The text can't be edited safely; says why."""


class Unsupported(Unusable):
    """It is valid, but written in a way that is not edited here."""


class Malformed(Unusable):
    def __init__(self, what: str, text: str, at: int) -> None:
        line = text.count("\n", 0, at) + 1
        column = at - text.rfind("\n", 0, at)
        super().__init__(f"line {line}, column {column}: {what}")


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
