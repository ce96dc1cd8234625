"""A toolkit as people write it, checked: it makes sense, it is bounded, and it can only narrow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.policy import Policy
from executor.policy.drafts import draft
from executor.policy.pattern import parse_pattern

SLUG = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
SLUG_CHARACTERS = 50
MOST_PATTERNS = 100
MOST_POLICIES = 50
PATTERN_CHARACTERS = 500
NARROWING = ("require_approval", "deny")


@dataclass(frozen=True, slots=True)
class ToolkitDraft:
    slug: str
    patterns: tuple[str, ...]
    name: str = ""
    description: str = ""
    policies: tuple[Policy, ...] = field(default=())
    pass_through: tuple[str, ...] = ()


def check_draft(given: ToolkitDraft) -> None:
    """Raises InvalidRequest, which says what is wrong."""
    if not SLUG.fullmatch(given.slug) or len(given.slug) > SLUG_CHARACTERS:
        hint = f"use lower-case letters, digits and single hyphens, at most {SLUG_CHARACTERS} characters: support-desk"
        raise InvalidRequest(f"{given.slug[:80]!r} can't be the slug of a toolkit", hint=hint)
    if not given.patterns:
        raise InvalidRequest("a toolkit needs at least one pattern", hint="for example: github.issues.*")
    check_patterns("patterns", given.patterns)
    check_patterns("passThrough", given.pass_through)
    if len(given.policies) > MOST_POLICIES:
        raise InvalidRequest(f"a toolkit has at most {MOST_POLICIES} policies", hint="combine some of them")
    for one in given.policies:
        check_narrowing(one)


def check_patterns(what: str, patterns: Sequence[str]) -> None:
    if len(patterns) > MOST_PATTERNS:
        raise InvalidRequest(f"`{what}` has more than {MOST_PATTERNS} patterns", hint="use `*`, as in github.*.list")
    for pattern in patterns:
        if len(pattern) > PATTERN_CHARACTERS:
            raise InvalidRequest(f"a pattern has at most {PATTERN_CHARACTERS} characters", hint="shorten it")
        parse_pattern(pattern)


def check_narrowing(policy: Policy) -> None:
    if policy.action not in NARROWING:
        raise InvalidRequest(
            f"a policy of a toolkit can't {policy.action}: a toolkit only narrows",
            hint=f"use {' or '.join(NARROWING)}; `executor policies add` allows calls in the workspace",
        )


def draft_policy(fields: Mapping[str, Any]) -> Policy:
    """Raises InvalidRequest."""
    return draft(
        fields["pattern"],
        fields["action"],
        fields.get("conditions") or (),
        level="toolkit",
        effect=fields.get("effect") or "",
        note=fields.get("note") or "",
    )


def without_repeats(patterns: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.strip() for one in patterns))
