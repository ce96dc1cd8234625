// Every error of the SDK. What the daemon refuses is thrown as the class of its code.

export class ExecutorError extends Error {
  /** Stable, for programs. */
  readonly code: string;
  /** What to do next. */
  readonly hint: string;
  /** Of the answer; 0 if there was none. */
  readonly status: number;
  readonly details: Record<string, unknown>;

  constructor(message: string, { code = "internal", hint = "", status = 0, details = {} }: ErrorParts = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.hint = hint;
    this.status = status;
    this.details = details;
  }
}

export interface ErrorParts {
  code?: string;
  hint?: string;
  status?: number;
  details?: Record<string, unknown>;
}

export class InvalidRequest extends ExecutorError {}
export class Unauthorized extends ExecutorError {}
export class Forbidden extends ExecutorError {}
export class NotFound extends ExecutorError {}
/** It exists, but not in a state that allows this. */
export class Conflict extends ExecutorError {}
/** It has changed since the version that the edit was written for. */
export class PreconditionFailed extends Conflict {}
/** An earlier try of the same request has created it. */
export class AlreadyCreated extends Conflict {
  get id(): string {
    return String(this.details.id);
  }
}
export class KeyReused extends ExecutorError {}
export class RateLimited extends ExecutorError {}
/** A limit of the whole installation is reached; try again. */
export class Busy extends ExecutorError {}
/** No daemon is running, or it does not answer. */
export class DaemonUnreachable extends ExecutorError {}

/** An execution failed or was cancelled. `code` is that of the failure. */
export class ExecutionFailed extends ExecutorError {
  readonly executionId: string;

  constructor(executionId: string, message: string, parts: ErrorParts) {
    super(message, parts);
    this.executionId = executionId;
  }
}

/** An execution needs a decision, or more time. It can be waited for. */
export class ExecutionPending extends ExecutorError {
  readonly executionId: string;

  constructor(executionId: string, message: string, parts: ErrorParts) {
    super(message, { code: "execution_pending", ...parts });
    this.executionId = executionId;
  }
}

const BY_CODE: Record<string, typeof ExecutorError> = {
  already_created: AlreadyCreated,
  idempotency_key_reused: KeyReused,
  precondition_failed: PreconditionFailed,
};
const BY_STATUS: Record<number, typeof ExecutorError> = {
  400: InvalidRequest,
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  412: PreconditionFailed,
  413: InvalidRequest,
  415: InvalidRequest,
  429: RateLimited,
  503: Busy,
};
const PROBLEM = new Set(["type", "title", "status", "detail", "code", "hint", "instance"]);

/** The error that a problem document (RFC 9457) is about. */
export function errorFrom(problem: Record<string, unknown>, status: number): ExecutorError {
  const code = String(problem.code ?? "internal");
  const message = String(problem.detail ?? problem.title ?? `the daemon answered with status ${status}`);
  const details = Object.fromEntries(Object.entries(problem).filter(([name]) => !PROBLEM.has(name)));
  const Kind = BY_CODE[code] ?? BY_STATUS[status] ?? ExecutorError;
  return new Kind(message, { code, hint: String(problem.hint ?? ""), status, details });
}
