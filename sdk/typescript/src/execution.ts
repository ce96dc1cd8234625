// What the SDK returns for an execution, and how a program decides about its interactions.
import { ExecutionFailed, ExecutionPending } from "./errors.js";
import type { Artifact, Diagnostic, ExecutionView, Failure, InteractionView, LogLine, Status } from "./types.js";

export type Scope = "once" | "execution" | "session" | "always";
export type Decision =
  | { action: "approve"; scope: Scope; result?: unknown }
  | { action: "deny"; reason: string }
  | { action: "answer"; content: Record<string, unknown> | null };
/** Nothing leaves the interaction to someone else. */
export type OnInteraction = (
  interaction: Interaction,
) => Decision | null | undefined | Promise<Decision | null | undefined>;

/** Allow exactly this call. `result` is only for an `unknown_outcome`: what the interrupted call really returned. */
export function approve(scope: Scope = "once", ...result: [unknown?]): Decision {
  return { action: "approve", scope, ...(result.length ? { result: result[0] } : {}) };
}

/** The code gets a `ToolError` with the reason. */
export function deny(reason = ""): Decision {
  return { action: "deny", reason };
}

/** Accept an `elicitation` with a value for each field of its form. */
export function answer(content: Record<string, unknown> | null = null): Decision {
  return { action: "answer", content };
}

/** What a person must decide. `prompt` is the text to show, `url` the page to decide on, `view` all that is known. */
export class Interaction {
  readonly id: string;
  readonly kind: InteractionView["kind"];
  readonly tool: string;
  readonly arguments: unknown;
  readonly effect: InteractionView["effect"];
  readonly reason: string;
  readonly prompt: string;
  readonly url: string;
  readonly view: InteractionView;

  constructor(view: InteractionView) {
    this.id = view.id;
    this.kind = view.kind;
    this.tool = view.tool;
    this.arguments = view.arguments;
    this.effect = view.effect;
    this.reason = view.reason;
    this.prompt = view.prompt;
    this.url = view.url;
    this.view = view;
  }
}

const FINAL: readonly Status[] = ["completed", "failed", "cancelled"];

/** One run of code, as it was when it was asked for. */
export class Execution<T = unknown> {
  readonly id: string;
  readonly status: Status;
  /** What the code returned. Integers beyond 2^53 are bigints. */
  readonly result: T;
  readonly error: Failure | null;
  /** The pending ones. */
  readonly interactions: readonly Interaction[];
  readonly logs: readonly LogLine[];
  readonly diagnostics: readonly Diagnostic[];
  /** Where a large result is kept; `result` has it too. */
  readonly artifact: Artifact | null;
  readonly language: string;
  readonly runtime: string;
  readonly createdAt: string;
  readonly finishedAt: string | null;

  constructor(view: ExecutionView) {
    this.id = view.executionId;
    this.status = view.status;
    this.result = view.result as T;
    this.error = view.error;
    this.interactions = view.interactions.map((one) => new Interaction(one));
    this.logs = view.logs;
    this.diagnostics = view.diagnostics;
    this.artifact = view.artifact ?? null;
    this.language = view.language;
    this.runtime = view.runtime;
    this.createdAt = view.createdAt;
    this.finishedAt = view.finishedAt;
  }

  get isFinal(): boolean {
    return FINAL.includes(this.status);
  }

  /** Itself if it has completed. Throws `ExecutionFailed`, or `ExecutionPending` if it needs a decision. */
  raiseForStatus(): this {
    if (this.status === "completed") return this;
    if (this.error || this.isFinal) throw this.#failure();
    const [first] = this.interactions;
    if (!first)
      throw new ExecutionPending(this.id, `execution ${this.id} is ${this.status}`, { hint: `\`wait\` for it` });
    throw new ExecutionPending(this.id, `${first.tool} needs a decision (${first.kind}): ${first.reason}`, {
      hint: `decide at ${first.url}; then \`wait\` for ${this.id}`,
      details: { interactionIds: this.interactions.map((one) => one.id) },
    });
  }

  #failure(): ExecutionFailed {
    const { code, message, hint, ...details } = (this.error ?? {}) as Record<string, unknown>;
    return new ExecutionFailed(this.id, String(message ?? `it was ${this.status}`), {
      code: String(code ?? this.status),
      hint: String(hint ?? ""),
      details,
    });
  }
}
