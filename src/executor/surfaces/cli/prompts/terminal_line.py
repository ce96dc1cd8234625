"""One line from the terminal: a choice, or a text."""

from __future__ import annotations

import sys
from collections.abc import Collection
from contextlib import suppress

from executor.surfaces.cli.output import say

LEAVE = "leave"


def choose(question: str, answers: Collection[str], *, hidden: bool = False) -> str:
    """One of the answers, by its word or first letter. Enter or the end of the input leaves it; all else asks again."""
    known = {word: word for word in (*answers, LEAVE)}
    known |= {word[0]: word for word in known}
    while True:
        forget_typed_ahead()
        line = read_line(f"{question} [{LEAVE}] ", hidden=hidden)
        word = (line or LEAVE).strip().lower() or LEAVE
        if word in known:
            if hidden and line:
                say(known[word])
            return known[word]
        say(f"please answer {', '.join(answers)} or {LEAVE}")


def read_line(question: str, *, hidden: bool = False) -> str | None:
    """None at the end of the input."""
    try:
        if hidden:
            import getpass

            return getpass.getpass(question, stream=sys.stderr)
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
    except (OSError, ValueError, EOFError):
        line = ""
    if not line:
        say()
    return line or None


def forget_typed_ahead() -> None:
    """What was typed before the prompt was shown is not an answer to it."""
    import termios

    with suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
