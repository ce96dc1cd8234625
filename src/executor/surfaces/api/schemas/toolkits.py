"""Bodies of requests about toolkits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from executor.execution.toolkits.draft import MOST_PATTERNS, MOST_POLICIES, PATTERN_CHARACTERS
from executor.surfaces.api.schemas.requests import Body, Condition, check_printable


def check_visible(text: str) -> str:
    return check_printable(text) if text else text


Slug = Annotated[str, Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(max_length=100), AfterValidator(check_visible)]
Text = Annotated[str, Field(max_length=1000), AfterValidator(check_visible)]
Pattern = Annotated[str, Field(min_length=1, max_length=PATTERN_CHARACTERS)]
Patterns = Annotated[list[Pattern], Field(max_length=MOST_PATTERNS)]


class ToolkitPolicy(Body):
    """It can only narrow, so it allows nothing."""

    pattern: Pattern
    action: Literal["require_approval", "deny"]
    conditions: Annotated[list[Condition], Field(max_length=20)] = Field(default_factory=list)
    effect: Literal["read", "write", "destructive"] | None = None
    note: Annotated[str, Field(max_length=1000)] = ""


Policies = Annotated[list[ToolkitPolicy], Field(max_length=MOST_POLICIES)]


class NewToolkit(Body):
    """`slug` is part of its address. `passThrough` are patterns too: the tools that clients see beside `execute`."""

    slug: Slug
    patterns: Patterns
    name: Name = ""
    description: Text = ""
    policies: Policies = Field(default_factory=list)
    pass_through: Patterns = Field(default_factory=list)


class ToolkitChange(Body):
    """Only what you pass changes; a list replaces the one before. With the `revision` that you saw, nothing changes if
    someone else has changed it since."""

    slug: Slug | None = None
    patterns: Patterns | None = None
    name: Name | None = None
    description: Text | None = None
    policies: Policies | None = None
    pass_through: Patterns | None = None
    revision: Annotated[str, Field(max_length=100)] = ""


class NewToolkitKey(Body):
    """`keepToken` also stores the token on this machine, for `executor mcp --agent`."""

    name: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_printable)]
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = None
    keep_token: bool = False
