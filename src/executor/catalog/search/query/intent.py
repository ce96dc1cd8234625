"""What someone wants done, from how it is put: `we don't need X any more`, `there should be an X`, `is X up`.

A verb alone often is not said, or says little (`get`, `make`, `put`, `take`). Each form in `intent.toml` adds to the
wishes it speaks for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from executor.catalog.search.query import actions

# wish: the actions of tools that would grant it
WISHES: dict[str, int] = {
    "read": actions.READS,
    "make": actions.BITS["create"] | actions.BITS["send"] | actions.BITS["attach"],
    "change": actions.CHANGES | actions.BITS["attach"],
    "drop": actions.BITS["delete"] | actions.BITS["stop"],
}
FILE = Path(__file__).with_name("intent.toml")
_FORMS = tuple(
    (re.compile("".join(form["pattern"])), form["wishes"]) for form in tomllib.loads(FILE.read_text("utf-8"))["form"]
)
BY_VERB = 1.2


def wishes(said: Sequence[str], by_verb: int) -> Mapping[str, float]:
    """How much of what was said is each wish, from 0 to 1; `by_verb`: the actions of the first verb."""
    text = " ".join(said)
    found = dict.fromkeys(WISHES, 0.0)
    for form, speaks_for in _FORMS:
        if form.search(text):
            for wish, much in speaks_for.items():
                found[wish] += much
    if by_verb:
        granting = [wish for wish, bits in WISHES.items() if bits & by_verb]
        for wish in granting:
            found[wish] += BY_VERB / len(granting)
    found = {wish: max(0.0, much) for wish, much in found.items()}
    total = sum(found.values())
    return {wish: much / max(total, 1.0) for wish, much in found.items()}
