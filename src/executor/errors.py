"""Every error Executor raises on purpose, in one tree.

ExecutorError
├── InvalidRequest            the request makes no sense as it is
│   ├── EmptyCode · CodeTooLarge · UnknownRuntime · ConsentRequired · RefusedCall
│   ├── HeadersTooLarge · AddressTooLong · BodyTooLarge · UnsupportedMediaType · MethodNotAllowed
├── Unauthorized · Forbidden  who is asking
│   ├── InsufficientScope     a token of an authorization server that was not given enough
│   ├── HostRefused · OriginRefused
│   ├── AccessRevoked         who submitted an execution may no longer run code
│   └── SeparationOfDuties    the requester of a call may not also approve it
├── NotFound                  no such thing in this workspace
├── Conflict                  it exists, but not in a state that allows this
│   ├── AlreadySettled · InteractionExpired · NamespaceTaken · SecretElsewhere · PreconditionFailed
│   ├── AlreadyCreated · CreationUnknown
├── SourceError               a source could not be read
│   ├── SourceUnreachable · DocumentInvalid · EgressRefused
├── StorageError              the database can't be used
│   ├── DataDirectoryLocked · DataDirectoryUnusable · StorageFull · NewerDatabase
│   ├── StorageDamaged · DatabaseMissing · DatabaseUnexpected · DatabaseOutdated · DatabaseInUse
│   ├── Collision · CommitUnknown
├── ArtifactUnavailable       the object store does not hand out or take the content of an artifact
├── SecretUnavailable         a secret's value can't be had from its provider
├── OAuthFailed               a login at an authorization server did not come to its end
├── IssuerUnavailable         an authorization server that vouches for callers can't be asked
├── CredentialRequired        a call needs a credential that only a human can provide
├── KeyReused                 an idempotency key that already names another submission
├── QuotaExceeded             an anonymous agent has used up what it may use here
├── RateLimited               too many tries from one address; later
├── Busy                      a limit of the whole installation is reached; try again
│   ├── DaemonStopping · TooManyWaits
├── DaemonUnreachable         no daemon answers, or no longer
│   ├── RequestUnsent · DaemonStarting · ReplyLost · StartFailed
├── PortTaken · EngineMissing · DenoMissing · RemoteRefused · SampleFailed
├── InternalError             a fault of Executor itself
├── IsolationUnavailable      an agent can't be kept apart as was asked for
├── AgentUnavailable          a coding agent is not installed, or did not do what a session needs
├── ReplayDiverged            the code did not repeat what the journal has
├── ExecutionFailed           an execution that a program ran ended without a result
├── ExecutionPending          an execution that a program ran needs a decision, or more time
├── SessionFailed             an agent session can't be started or continued
├── Fenced                    another owner took the execution over (internal)
├── SandboxLost               the worker process died under an execution (internal)
└── ToolError                 one tool call failed; the submitted code can catch it
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar


class ExecutorError(Exception):
    """`code` is stable, `message` says what happened with the value in it, `hint` what to do next."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def to_problem(self) -> dict[str, Any]:
        """As problem details (RFC 9457), the form in which every error leaves over HTTP."""
        problem = {
            "type": f"urn:executor:error:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.message,
            "code": self.code,
            "hint": self.hint,
        }
        return {**problem, **self.details, **problem}


class InvalidRequest(ExecutorError):
    code = "invalid_request"
    status = 400


class EmptyCode(InvalidRequest):
    code = "empty_code"


class CodeTooLarge(InvalidRequest):
    code = "code_too_large"
    status = 413


class UnknownRuntime(InvalidRequest):
    code = "unknown_runtime"


class ConsentRequired(InvalidRequest):
    """A command or a module would be run on this machine, and no human has said yes to exactly that."""

    code = "consent_required"


class CommandNotShared(InvalidRequest):
    """A command would be started by each of several processes."""

    code = "command_not_shared"


class Unauthorized(ExecutorError):
    code = "unauthorized"
    status = 401


class Forbidden(ExecutorError):
    code = "forbidden"
    status = 403


class SeparationOfDuties(Forbidden):
    """The organization has another person approve what someone, or their agent, asked for."""

    code = "separation_of_duties"


class InsufficientScope(Forbidden):
    """`scope`, among the details, says what a token needs."""

    code = "insufficient_scope"


class AccessRevoked(Forbidden):
    code = "access_revoked"


class NotFound(ExecutorError):
    code = "not_found"
    status = 404


class Conflict(ExecutorError):
    code = "conflict"
    status = 409


class AlreadySettled(Conflict):
    code = "already_settled"


class PreconditionFailed(Conflict):
    """`revision`, among the details, is the current one."""

    code = "precondition_failed"
    status = 412


class AlreadyCreated(Conflict):
    """`id`, among the details, is what the key created."""

    code = "already_created"


class CreationUnknown(Conflict):
    code = "creation_unknown"


class InteractionExpired(Conflict):
    code = "interaction_expired"


class SecretElsewhere(Conflict):
    """A secret belongs to where it was first sent; an administrator allows another origin by name."""

    code = "secret_origin"


class NamespaceTaken(Conflict):
    code = "namespace_taken"


class SourceError(ExecutorError):
    code = "source_error"
    status = 422


class SourceUnreachable(SourceError):
    code = "source_unreachable"
    status = 502


class DocumentInvalid(SourceError):
    code = "document_invalid"


class EgressRefused(SourceError):
    code = "egress_refused"


class StorageError(ExecutorError):
    code = "storage_error"
    status = 503


class DataDirectoryLocked(StorageError):
    code = "data_directory_locked"


class DataDirectoryUnusable(StorageError):
    code = "data_directory_unusable"


class StorageFull(StorageError):
    code = "storage_full"
    status = 507


class ArtifactUnavailable(ExecutorError):
    """Nothing is lost by it: content is only ever removed from the database once the store has it."""

    code = "artifact_unavailable"
    status = 503


class NewerDatabase(StorageError):
    code = "newer_database"


class StorageDamaged(StorageError):
    code = "storage_damaged"


class DatabaseMissing(StorageError):
    """This installation had a database, and it is gone or empty."""

    code = "database_missing"


class DatabaseUnexpected(StorageError):
    """The database is of another installation, or older than this one."""

    code = "database_unexpected"


class DatabaseOutdated(StorageError):
    """Its schema is older than this version's, and nothing migrates it but a person."""

    code = "database_outdated"


class DatabaseInUse(StorageError):
    """Another process works on the database."""

    code = "database_in_use"


class Collision(StorageError):
    """Two transactions were in each other's way, and this one was undone: the same again may succeed."""


class CommitUnknown(StorageError):
    """The connection broke during COMMIT. Nothing may be repeated before someone has looked at what is there."""


class SecretUnavailable(ExecutorError):
    code = "secret_unavailable"
    status = 503


class OAuthFailed(ExecutorError):
    """What the authorization server said is in `details`: `error` and `error_description`, word for word."""

    code = "oauth_failed"
    status = 422


class IssuerUnavailable(ExecutorError):
    code = "issuer_unavailable"
    status = 503


class KeyReused(ExecutorError):
    """`executionId`, among the details, is what the key started."""

    code = "idempotency_key_reused"
    status = 422


class QuotaExceeded(ExecutorError):
    code = "quota_exceeded"
    status = 403


class RateLimited(ExecutorError):
    """`seconds`, among the details, says when to try again."""

    code = "rate_limited"
    status = 429


class LimitReached(ExecutorError):
    """`limit`, `of` and `most`, among the details, say which one; `seconds` when to try again, where that is known."""

    code = "limit_reached"
    status = 429


class CredentialRequired(ExecutorError):
    code = "credential_required"
    status = 409


class Busy(ExecutorError):
    code = "busy"
    status = 503


class SessionFailed(ExecutorError):
    code = "session_failed"
    status = 502


class Fenced(ExecutorError):
    code = "fenced"
    status = 409


class SandboxLost(ExecutorError):
    code = "sandbox_lost"


class ToolError(ExecutorError):
    """What submitted code sees when a call fails: `code`, `message`, `status`, `details`, `retryable`, `hint`."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        details: Any = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.tool_code = code
        self.http_status = status
        self.tool_details = details
        self.retryable = retryable
        self.asks: tuple[dict[str, Any], ...] = ()  # credentials that the service asked for, never shown to code

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.tool_code,
            "message": self.message,
            "status": self.http_status,
            "details": self.tool_details,
            "retryable": self.retryable,
            "hint": self.hint,
        }


class EngineMissing(ExecutorError):
    code = "engine_missing"


class DenoMissing(ExecutorError):
    code = "deno_missing"


class RemoteRefused(ExecutorError):
    """The sandbox host answers, but not with a sandbox: waiting would not help."""

    code = "remote_refused"
    status = 502


class HeadersTooLarge(InvalidRequest):
    code = "headers_too_large"
    status = 431


class AddressTooLong(InvalidRequest):
    code = "address_too_long"
    status = 414


class PortTaken(ExecutorError):
    code = "port_taken"
    status = 503


class DaemonUnreachable(ExecutorError):
    code = "daemon_unreachable"
    status = 503


class RequestUnsent(DaemonUnreachable):
    """The request has certainly not arrived."""


class DaemonStarting(RequestUnsent):
    """A daemon is there, and does not listen yet."""


class ReplyLost(DaemonUnreachable):
    """The request was sent, and no whole answer came."""


class BodyTooLarge(InvalidRequest):
    code = "body_too_large"
    status = 413


class UnsupportedMediaType(InvalidRequest):
    code = "unsupported_media_type"
    status = 415


class MethodNotAllowed(InvalidRequest):
    code = "method_not_allowed"
    status = 405


class HostRefused(Forbidden):
    """The Host header names something that is not this daemon: the mark of DNS rebinding."""

    code = "host_refused"
    status = 421


class OriginRefused(Forbidden):
    """A web page that is not ours asks; browsers attach Origin, so a page can't hide it."""

    code = "origin_refused"


class RefusedCall(InvalidRequest):
    """A call that was only tried out and would fail at once, with the code that the submitted code would see."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message, hint=error.hint, details=error.tool_details)
        self.code = error.tool_code  # type: ignore[misc]  # this one's code is not its own


class InternalError(ExecutorError):
    """Something broke here. The answer names only an id; the log has the rest."""


class DaemonStopping(Busy):
    """The daemon lets go of what it holds."""


class TooManyWaits(Busy):
    """Nothing else is wrong: what can do without a place continues."""


class SampleFailed(ExecutorError):
    code = "sample_failed"


class IsolationUnavailable(ExecutorError):
    """An agent session is refused rather than run with less than was asked for."""

    code = "isolation_unavailable"
    status = 409


class AgentUnavailable(ExecutorError):
    code = "agent_unavailable"
    status = 409


class ReplayDiverged(ExecutorError):
    """The code did not repeat what the journal says it did."""

    code = "nondeterminism"


class ExecutionFailed(ExecutorError):
    """Raised by the SDK. `code` is that of the failure, and `details` has all that is known of it."""

    code = "execution_failed"

    def __init__(self, execution_id: str, message: str, *, code: str = "", hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, **details)
        self.execution_id = execution_id
        if code:
            self.code = code  # type: ignore[misc]  # that of the failure


class ExecutionPending(ExecutorError):
    """Raised by the SDK. The execution `execution_id` continues after the decision, and can be waited for."""

    code = "execution_pending"
    status = 409

    def __init__(self, execution_id: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, **details)
        self.execution_id = execution_id


def way_to_install(extra: str) -> str:
    """By the checkout, never by name: a package index has another `executor`."""
    return f"in Executor's checkout, run `scripts/setup {extra}`, or `pip install '.[{extra}]'` for another environment"


class StartFailed(DaemonUnreachable):
    """The daemon could not start. `reported` is the code of the true cause, as the daemon reported it."""

    def __init__(self, reported: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reported = reported
