"""What the SDK returns for an execution, and how a program decides about its interactions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from executor.dataclass import dataclass
from executor.errors import ExecutionFailed, ExecutionPending

if TYPE_CHECKING:
    from typing import Self

    from executor.model.execution import Status
    from executor.model.interaction import InteractionKind
    from executor.surfaces.views.artifacts import ArtifactView
    from executor.surfaces.views.base import Failure
    from executor.surfaces.views.executions import Diagnostic, ExecutionView, LogLine
    from executor.surfaces.views.interactions import InteractionView

FINAL = ("completed", "failed", "cancelled")


Typecheck = Literal["error", "warn", "off"]
Priority = Literal["high", "normal", "low"]


class Options(NamedTuple):
    """How code is run."""

    language: str | None = None
    runtime: str | None = None
    timeout: float | None = None
    typecheck: Typecheck | None = None
    key: str | None = None
    priority: Priority | None = None


@dataclass(frozen=True, slots=True)
class Approve:
    """Allow exactly this call. `result` is only for an `unknown_outcome`: what the interrupted call really returned."""

    scope: Literal["once", "execution", "session", "always"] = "once"
    result: Any = ...


@dataclass(frozen=True, slots=True)
class Deny:
    """The code gets a `ToolError` with the reason."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Accept an `elicitation` with a value for each field of its form."""

    content: dict[str, Any] | None = None


Decision = Approve | Deny | Answer | None
"""None leaves the interaction to someone else."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """`prompt` is the text to show a person. `url` is the page to decide it on; empty if this program serves none.
    `view` has all that is known of it."""

    id: str
    kind: InteractionKind
    tool: str
    arguments: Any
    effect: str | None
    reason: str
    prompt: str
    url: str
    view: InteractionView

    @classmethod
    def read(cls, view: InteractionView, *, has_pages: bool = True) -> Interaction:
        return cls(
            id=view["id"],
            kind=view["kind"],
            tool=view["tool"],
            arguments=view["arguments"],
            effect=view["effect"],
            reason=view["reason"],
            prompt=view["prompt"],
            url=view["url"] if has_pages else "",
            view=view,
        )


OnInteraction = Callable[[Interaction], Decision | Awaitable[Decision]]


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of code, as it was when it was asked for. `result` is what the code returned; `error` is why it failed.

    `interactions` are the pending ones. `artifact` describes where a large result is kept; `result` has it too.
    """

    id: str
    status: Status
    result: Any
    error: Failure | None
    interactions: tuple[Interaction, ...]
    logs: Sequence[LogLine]
    diagnostics: Sequence[Diagnostic]
    artifact: ArtifactView | None
    language: str
    runtime: str
    created_at: str
    finished_at: str | None

    @classmethod
    def read(cls, view: ExecutionView, *, has_pages: bool = True) -> Execution:
        return cls(
            id=view["executionId"],
            status=view["status"],
            result=view["result"],
            error=view["error"],
            interactions=tuple(Interaction.read(one, has_pages=has_pages) for one in view["interactions"]),
            logs=view["logs"],
            diagnostics=view["diagnostics"],
            artifact=view.get("artifact"),
            language=view["language"],
            runtime=view["runtime"],
            created_at=view["createdAt"],
            finished_at=view["finishedAt"],
        )

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    def raise_for_status(self) -> Self:
        """Itself if it has completed. Raises `ExecutionFailed`, or `ExecutionPending` if it needs a decision."""
        if self.status == "completed":
            return self
        if self.error is not None or self.is_final:
            failure: dict[str, Any] = dict(self.error or {"code": self.status, "message": f"it was {self.status}"})
            message = str(failure.pop("message"))
            raise ExecutionFailed(self.id, message, **{**failure, "hint": str(failure.get("hint") or "")})
        if self.interactions:
            first = self.interactions[0]
            where = f"decide at {first.url}" if first.url else "pass `on_interaction=`, or use `interactions.approve`"
            raise ExecutionPending(
                self.id,
                f"{first.tool} needs a decision ({first.kind}): {first.reason}",
                hint=f"{where}; then `wait` for {self.id}",
                interactionIds=[one.id for one in self.interactions],
            )
        raise ExecutionPending(self.id, f"execution {self.id} is {self.status}", hint=f"`wait` for {self.id}")
