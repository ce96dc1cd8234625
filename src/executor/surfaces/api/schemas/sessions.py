"""The shapes of requests about agent sessions."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, AliasChoices, BaseModel, Field

from executor.model.sessions.session import Isolation, PermissionMode, SessionStatus, Unattended
from executor.surfaces.api.schemas.requests import Body, Wait, check_printable

Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_printable)]
UnixName = Annotated[str, Field(max_length=100)]
Prompt = Annotated[str, Field(max_length=600_000)]


class SessionBudget(Body):
    usd: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]


class NewSessionBody(Body):
    """`cwd` is a directory of the daemon's machine; `repository` a name of the settings or, for the operator, a
    location. `unixUser` is for isolation `strict`: `run_as_unix_user` is the same. `prompt` is the first one."""

    agent: Name
    cwd: Annotated[str, Field(max_length=4000)] = ""
    repository: Annotated[str, Field(max_length=4000)] = ""
    isolation: Isolation | None = None
    unix_user: UnixName = Field(default="", validation_alias=AliasChoices("unixUser", "run_as_unix_user"))
    permission_mode: PermissionMode = "default"
    unattended: Unattended | None = None
    budget: SessionBudget | None = None
    model: Annotated[str, Field(max_length=200)] = ""
    title: Annotated[str, Field(max_length=200)] = ""
    prompt: Prompt | None = None


class PromptBody(Body):
    """`interrupt` stops the task that runs and withdraws what is queued. `wait` is for this task to end."""

    prompt: Prompt
    interrupt: bool = False
    wait: Wait = 0


class EditedPrompt(Body):
    prompt: Prompt


class StopBody(Body):
    reason: Annotated[str, Field(max_length=2000)] = ""


class CommitBody(Body):
    message: Annotated[str, Field(min_length=1, max_length=10_000)]


class LookingForSessions(BaseModel):
    """Filters that are left out match everything. Archived sessions are listed only with `archived`."""

    status: Annotated[list[SessionStatus], Field(max_length=10)] = []
    agent: Annotated[str, Field(max_length=100)] = ""
    mine: bool = False
    archived: bool = False
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    before: Annotated[str, Field(max_length=200)] = ""


class NewTerminalBody(Body):
    """`record` keeps what it shows."""

    cols: Annotated[int, Field(ge=2, le=1000)] = 80
    rows: Annotated[int, Field(ge=2, le=500)] = 24
    record: bool = False
