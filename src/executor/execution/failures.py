"""The failures the engine itself gives to executions and calls, each with what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from executor.errors import ToolError
from executor.model.execution import Call, Failure
from executor.model.interaction import Interaction
from executor.model.language import has_signs, is_python, is_typescript
from executor.model.tool import Tool

LOOK_FIRST = "check the target before you send it again"


# A gateway's word that it passed the request on and got no answer that it could use.
GATEWAY = frozenset({502, 504, 520, 524})
UNANSWERED = ("upstream_timeout", "upstream_unreachable")


class AnswerLost(ToolError):
    """A write left, and no one knows if it was done. `cause` is what is known."""

    def __init__(self, path: str, cause: ToolError) -> None:
        super().__init__("unknown_outcome", f"{path} was sent; whether it took effect is unknown")
        self.path = path
        self.cause = cause.with_traceback(None)

    def as_error(self) -> ToolError:
        """For the code, which gets it in place of a human."""
        details = {"sent": True, "code": self.cause.tool_code, "status": self.cause.http_status}
        message = f"{self.message}: {self.cause.message}"
        return ToolError("unknown_outcome", message, hint=LOOK_FIRST, details=details)


def is_lost(tool: Tool, error: ToolError) -> bool:
    if tool.effect == "read":
        return False
    if error.http_status is not None:
        return error.http_status in GATEWAY
    details = error.tool_details if isinstance(error.tool_details, dict) else {}
    return error.tool_code in UNANSWERED and details.get("sent") is True


def wall_limit(limit_ms: int) -> Failure:
    hint = "do less in one execution, or ask for a higher limit"
    return Failure("wall_limit", f"the execution was active for more than {limit_ms / 1000:g} s", hint)


def sandbox_lost(times: int) -> Failure:
    hint = "run `executor doctor`; if it reports no problem, the code itself crashes the sandbox"
    return Failure("sandbox_lost", f"the sandbox crashed {times} times while running this code", hint)


def attempts_exhausted(times: int) -> Failure:
    hint = "look at the logs of the workers; if they ran out of memory, the code itself may be the cause"
    return Failure("attempts_exhausted", f"the process that ran this code was lost {times} times", hint)


def nondeterminism(detail: str) -> Failure:
    hint = "code must make the same calls when it runs again; use only tool results for input that varies"
    return Failure("nondeterminism", f"the code made different calls when it ran again: {detail}", hint)


def stuck_failure() -> Failure:
    return Failure("code_error", "the code waits for something that never happens", "await only tools.* and timers")


def cancelled_failure(by: str, lost: Sequence[dict[str, Any]]) -> Failure:
    failure = Failure("cancelled", f"the execution was cancelled by {by}", "submit the code again if you still need it")
    return with_unknown(failure, lost)


def with_unknown(failure: Failure, lost: Sequence[dict[str, Any]]) -> Failure:
    """Names the writes that were sent and never answered: someone must look whether they took effect."""
    return replace(failure, details={**failure.details, "unknownOutcomes": list(lost)}) if lost else failure


def with_language(failure: Failure, language: str, code: str) -> Failure:
    """Says so if the code seems to be in another language than it was run as."""
    if failure.code not in ("syntax_error", "code_error", "type_error"):
        return failure
    if language == "python":
        hint = 'this looks like TypeScript: send it with language "typescript"'
        return replace(failure, hint=hint) if is_typescript(code) else failure
    if is_python(code):
        return replace(failure, hint='this looks like Python: send it with language "python"')
    if not failure.hint and has_signs(code, "python"):
        return replace(failure, hint='if this is Python, send it with language "python"')
    return failure


def results_too_large(limit: int) -> ToolError:
    message = f"the results of this execution's calls exceed {limit} bytes in total"
    return ToolError("result_too_large", message, hint="request less: filter, select fields, or use smaller pages")


def internal(incident: str) -> Failure:
    return Failure("internal", "the execution failed inside Executor", f"see the daemon's log for {incident}")


def type_error(diagnostics: Sequence[dict[str, Any]]) -> Failure:
    """`diagnostics` with the errors first. Nothing of the execution was sent."""
    first, count = diagnostics[0], sum(1 for one in diagnostics if one["severity"] == "error")
    more = f" (and {count - 1} more)" if count > 1 else ""
    about = f"{first['tool']}: " if first.get("tool") and first["code"] != "unknown_tool" else ""
    hint = first.get("hint") or "nothing was sent; correct the call, its signature is in the diagnostics"
    details = {"line": first["line"], "column": first["column"], "diagnostics": list(diagnostics)}
    return Failure("type_error", f"{about}{first['message']}{more}", hint, details)


def typecheck_unavailable(why: str) -> Failure:
    hint = "try again; or send it with typecheck `off`, or set EXECUTOR_TYPECHECK_UNAVAILABLE=warn"
    return Failure("typecheck_unavailable", f"the code could not be checked: {why}", hint)


def tool_changed(path: str) -> ToolError:
    message = f"{path} was removed or changed after the call"
    return ToolError("tool_changed", message, hint="describe the tool again, then run the code again")


def review_required(tool: Tool) -> ToolError:
    return ToolError(
        "review_required",
        f"{tool.path}: its server has changed this tool, and no one has reviewed the change yet",
        hint=f"an administrator reviews it on the source's page, or with `executor sources review {tool.namespace}`",
    )


def unknown_outcome(path: str, hint: str = "") -> ToolError:
    message = f"{path} was sent; whether it took effect is unknown"
    return ToolError("unknown_outcome", message, hint=hint or LOOK_FIRST)


def approval_expired(path: str) -> ToolError:
    return ToolError("approval_expired", f"the approval of {path} expired", hint="run the code again")


def credential_required(path: str, reason: str = "") -> ToolError:
    said = f": {reason}" if reason else ""
    hint = "ask a person to add it in Executor, then run the code again"
    return ToolError("credential_required", f"{path} needs a credential, and none was provided{said}", hint=hint)


def denied_by_policy(path: str, reason: str) -> ToolError:
    return ToolError("denied", f"{path} is denied: {reason}", hint="don't try it another way; ask the operator")


def denied_before(path: str, reason: str) -> ToolError:
    said = f": {reason}" if reason else ""
    message = f"{path} was denied earlier in this execution, with the same arguments{said}"
    return ToolError("denied", message, hint="don't try it another way; ask the operator")


def denied_by_human(call: Call, interaction: Interaction) -> ToolError:
    if interaction.kind == "unknown_outcome":
        return unknown_outcome(call.path, interaction.reason)
    if interaction.kind in ("credential", "oauth"):
        return credential_required(call.path, interaction.reason)
    said = f": {interaction.reason}" if interaction.reason else ""
    return ToolError("denied", f"{call.path} was denied{said}", hint="don't try it another way; ask the operator")
