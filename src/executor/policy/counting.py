"""How many of the tools there are each rule is about, for many rules and many tools in one go."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import takewhile

from executor.model.policy import Policy
from executor.policy.pattern import parse_pattern
from executor.policy.visibility import covers

Head = tuple[str, str, str]  # path, effect, source


def counts(rules: Sequence[Policy], heads: Iterable[Head]) -> dict[str, int]:
    """By the rule's id. Only tools that share a pattern's beginning are looked at."""
    known = sorted((path, tuple(path.split(".")), effect, source) for path, effect, source in heads)
    paths = [path for path, *_ in known]
    found = {}
    for rule in rules:
        wanted = parse_pattern(rule.pattern)
        beginning = ".".join(takewhile(lambda segment: "*" not in segment, wanted))
        start = bisect_left(paths, beginning)
        end = bisect_left(paths, f"{beginning}/") if beginning else len(paths)  # "/" follows "."
        found[rule.id] = sum(
            rule.effect in ("", effect)
            and rule.source_id in ("", source)
            and rule.retired_at is None
            and source not in rule.excluded
            and covers(wanted, given)
            for _, given, effect, source in known[start:end]
        )
    return found
