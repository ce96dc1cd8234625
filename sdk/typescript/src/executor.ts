// The client. Its methods are those of the Python SDK.
import { defaultWorkspace, locate } from "#location";
import { type ExecuteFunction, executeFunction } from "./agent.js";
import { decide } from "./decisions.js";
import { Conflict } from "./errors.js";
import { Exchange, type Fetch, type Query, segment } from "./exchange.js";
import { Execution, type Interaction, type OnInteraction } from "./execution.js";
import { checkVisible } from "./location.js";
import { Artifacts } from "./resources/artifacts.js";
import { Connections } from "./resources/connections.js";
import { Executions } from "./resources/executions.js";
import { Interactions } from "./resources/interactions.js";
import { Policies } from "./resources/policies.js";
import { Secrets } from "./resources/secrets.js";
import { Sessions } from "./resources/sessions.js";
import { Sources } from "./resources/sources.js";
import { follow } from "./stream.js";
import { callCode, type Tool, toolAt } from "./tools.js";
import type { Effect, Event, ExecutionView, Schemas, ToolMatches } from "./types.js";

export interface ExecutorOptions {
  /** Default: the daemon of this machine; in a browser, the one that serves the page. */
  url?: string;
  /** Default: `EXECUTOR_TOKEN`, or the operator's token of this machine; in a browser, the session's cookie. */
  token?: string;
  /** Default: `EXECUTOR_WORKSPACE`, or the default workspace. */
  workspace?: string;
  /** How long a daemon that has answered before is waited for. Default: 60,000. */
  reconnectMs?: number;
  /** Decides where no other callback is given. */
  onInteraction?: OnInteraction;
  fetch?: Fetch;
}

export interface SubmitOptions {
  language?: "typescript" | "python";
  runtime?: string;
  /** How long it may be active; the time that people take does not count. */
  timeoutMs?: number;
  typecheck?: "error" | "warn" | "off";
  /** Whether it goes before others of the workspace that wait. */
  priority?: "high" | "normal" | "low";
  /** Finds the same execution again. By default each call has its own, so that nothing is started twice. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

export interface RunOptions extends SubmitOptions {
  /** How long to wait here; the execution continues without you. */
  waitMs?: number;
  onInteraction?: OnInteraction;
}

export interface WaitOptions {
  waitMs?: number;
  onInteraction?: OnInteraction;
  signal?: AbortSignal;
}

const RECONNECT_MS = 60_000;
const SLICE_MS = 30_000; // of one request: proxies between here and the daemon give up on longer ones
const SLACK_MS = 60_000;
const ENDINGS = new Set(["execution.completed", "execution.failed", "execution.cancelled"]);

export class Executor {
  readonly executions: Executions;
  readonly interactions: Interactions;
  readonly artifacts: Artifacts;
  readonly sources: Sources;
  readonly policies: Policies;
  readonly secrets: Secrets;
  readonly connections: Connections;
  readonly sessions: Sessions;
  /** `tools.github.issues.list({...})`: one call. */
  readonly tools: Tool;
  readonly #exchange: Exchange;
  readonly #onInteraction: OnInteraction | undefined;

  constructor({ url, token, workspace, reconnectMs = RECONNECT_MS, onInteraction, fetch }: ExecutorOptions = {}) {
    const chosen = checkVisible(workspace ?? defaultWorkspace(), "the workspace");
    const headers: Record<string, string> = chosen ? { "X-Executor-Workspace": chosen } : {};
    const where = locate({ url, token: checkVisible(token ?? "", "the token") });
    // Looked up when it is used, so that a program can replace it; and called without `this`, as browsers want it.
    const send: Fetch = (input, init) => (fetch ?? globalThis.fetch)(input, init);
    const exchange = new Exchange(where, headers, reconnectMs, send);
    this.#exchange = exchange;
    this.#onInteraction = onInteraction;
    this.executions = new Executions(exchange);
    this.interactions = new Interactions(exchange);
    this.artifacts = new Artifacts(exchange);
    this.sources = new Sources(exchange);
    this.policies = new Policies(exchange);
    this.secrets = new Secrets(exchange);
    this.connections = new Connections(exchange);
    this.sessions = new Sessions(exchange);
    this.tools = toolAt((path, args) => this.call(path, args));
  }

  /** Run code until it ends, or pauses because it needs a decision. */
  async run<T = unknown>(code: string, options: RunOptions = {}): Promise<Execution<T>> {
    const deadline = new Deadline(options.waitMs);
    const execution = await this.#submit(code, options, deadline.slice());
    return (await this.#settle(execution, deadline, options)) as Execution<T>;
  }

  /** Start running code, without waiting for it. */
  async submit<T = unknown>(code: string, options: SubmitOptions = {}): Promise<Execution<T>> {
    return (await this.#submit(code, options, 0)) as Execution<T>;
  }

  /** Until an execution has ended, needs another decision than before, or the time is up. */
  async wait<T = unknown>(execution: Execution | string, options: WaitOptions = {}): Promise<Execution<T>> {
    const deadline = new Deadline(options.waitMs);
    let known = typeof execution === "string" ? await this.#show(execution, 0, options.signal) : execution;
    if (options.onInteraction ?? this.#onInteraction) {
      known = await this.#show(known.id, 0, options.signal);
      return (await this.#settle(known, deadline, options)) as Execution<T>;
    }
    const pending = new Set(known.interactions.map((one) => one.id));
    for (;;) {
      known = await this.#resume(known.id, deadline.slice(), options.signal);
      const isNew = known.status === "paused" && known.interactions.some((one) => !pending.has(one.id));
      if (known.isFinal || isNew || !deadline.slice()) return known as Execution<T>;
    }
  }

  /** The events of an execution until it has ended, from the first one on or `after` an id. */
  async *stream(
    execution: Execution | string,
    { after = 0, signal }: { after?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<Event, void, undefined> {
    const id = typeof execution === "string" ? execution : execution.id;
    const hasEnded = async () => (await this.#show(id, 0, signal)).isFinal;
    const request = { method: "GET", path: `/v1/executions/${segment(id)}/events`, query: { after }, signal };
    const isLast = ({ type }: { type: string }) => ENDINGS.has(type);
    for await (const { data } of follow(this.#exchange, request, isLast, hasEnded)) yield data as Event;
  }

  /** All events of the workspace: new ones, or those `after` an id. It does not end. */
  async *events({
    after,
    signal,
  }: {
    after?: number;
    signal?: AbortSignal;
  } = {}): AsyncGenerator<Event, void, undefined> {
    const query: Query = after === undefined ? { live: true } : { after };
    const request = { method: "GET", path: "/v1/events", query, signal };
    for await (const { data } of follow(this.#exchange, request, () => false)) yield data as Event;
  }

  /** Find tools by intent: app, verb and object. Without a query, the groups of tools. */
  discover(
    query = "",
    { limit = 10, namespace, effect }: { limit?: number; namespace?: string; effect?: Effect } = {},
  ): Promise<ToolMatches> {
    const asked = { query, limit, namespace, effect };
    return this.#exchange.send({ method: "GET", path: "/v1/tools/search", query: asked, repeatable: true });
  }

  /** One tool with its signature and an example. */
  describe(
    path: string,
    {
      language = "typescript",
      includeSchemas = false,
    }: { language?: "typescript" | "python"; includeSchemas?: boolean } = {},
  ): Promise<Record<string, unknown>> {
    const query = { language, includeSchemas };
    return this.#exchange.send({ method: "GET", path: `/v1/tools/${segment(path)}`, query, repeatable: true });
  }

  /** One call of a tool: what `tools` does, with the type of the result. */
  async call<T = unknown>(path: string, args: Record<string, unknown> = {}): Promise<T> {
    const execution = await this.run<T>(callCode(path, args), { language: "python", typecheck: "off" });
    return execution.raiseForStatus().result;
  }

  /** Versions, process, counts and sandbox of the daemon. */
  status(): Promise<Schemas["StatusView"]> {
    return this.#exchange.send({ method: "GET", path: "/v1/status", repeatable: true });
  }

  /** Any other route of the API: `request("GET", "/v1/audit")`. */
  request<T = unknown>(
    method: string,
    path: string,
    { body, query, headers }: { body?: unknown; query?: Query; headers?: Record<string, string> } = {},
  ): Promise<T> {
    const repeatable = method === "GET" || method === "HEAD";
    return this.#exchange.send({ method, path, query, body, headers: headers ?? {}, repeatable });
  }

  /** `execute` for agent frameworks. `waitMs` is how long it waits for a decision. */
  executeFunction({ waitMs }: { waitMs?: number } = {}): ExecuteFunction {
    return executeFunction((code) => this.run(code, waitMs === undefined ? {} : { waitMs }));
  }

  #submit(code: string, options: SubmitOptions, waitMs: number): Promise<Execution> {
    const { language, runtime, timeoutMs, typecheck, priority, idempotencyKey, signal } = options;
    const key = checkVisible(idempotencyKey ?? crypto.randomUUID(), "the idempotency key");
    const body = { code, wait: waitMs / 1000, language, runtime, typecheck, priority, timeoutMs };
    return this.#read("POST", "/v1/executions", { body, headers: { "Idempotency-Key": key }, signal }, waitMs);
  }

  #show(id: string, waitMs: number, signal?: AbortSignal): Promise<Execution> {
    return this.#read("GET", `/v1/executions/${segment(id)}`, { query: { wait: waitMs / 1000 }, signal }, waitMs);
  }

  #resume(id: string, waitMs: number, signal?: AbortSignal): Promise<Execution> {
    return this.#read(
      "POST",
      `/v1/executions/${segment(id)}/resume`,
      { body: { wait: waitMs / 1000 }, signal },
      waitMs,
    );
  }

  /** None of these does more when it is sent twice. */
  async #read(
    method: string,
    path: string,
    parts: { body?: unknown; query?: Query; headers?: Record<string, string>; signal: AbortSignal | undefined },
    waitMs: number,
  ): Promise<Execution> {
    const request = { method, path, ...parts, timeoutMs: waitMs + SLACK_MS, repeatable: true };
    return new Execution(await this.#exchange.send<ExecutionView>(request));
  }

  /** Until it has ended, no one here decides, or the time is up. */
  async #settle(execution: Execution, deadline: Deadline, options: WaitOptions): Promise<Execution> {
    const callback = options.onInteraction ?? this.#onInteraction;
    const known = new Set<string>();
    for (let now = execution; ; ) {
      if (now.isFinal) return now;
      let fresh: Interaction[] = [];
      if (now.status === "paused") {
        if (!callback) return now;
        fresh = now.interactions.filter((one) => !known.has(one.id));
        for (const one of fresh) known.add(one.id);
        if (!(await this.#decideAll(fresh, callback))) return this.#show(now.id, 0, options.signal);
      }
      const left = deadline.slice();
      if (!left) return now;
      // Right after a decision, an execution may still look paused: then `resume` waits for what comes next.
      const isStuck = now.status === "paused" && fresh.length === 0;
      now = await (isStuck ? this.#resume(now.id, left, options.signal) : this.#show(now.id, left, options.signal));
    }
  }

  /** False if one of them was left to someone else. */
  async #decideAll(fresh: Interaction[], callback: OnInteraction): Promise<boolean> {
    let isDecided = true;
    for (const interaction of fresh) {
      const decision = await callback(interaction);
      if (!decision) {
        isDecided = false;
        continue;
      }
      try {
        await decide(this.#exchange, interaction.id, decision);
      } catch (error) {
        // Someone was faster, or it has expired: the execution says what came of it.
        if (!(error instanceof Conflict)) throw error;
      }
    }
    return isDecided;
  }
}

class Deadline {
  readonly #endsAt: number;

  constructor(milliseconds = Number.POSITIVE_INFINITY) {
    this.#endsAt = Date.now() + milliseconds;
  }

  /** How long one request may wait; 0 if the time is up. */
  slice(): number {
    return Math.max(0, Math.min(SLICE_MS, this.#endsAt - Date.now()));
  }
}
