import { type Exchange, segment } from "../exchange.js";
import { Interaction } from "../execution.js";
import { follow } from "../stream.js";
import type {
  InteractionView,
  MessagePage,
  NewSession,
  Session,
  SessionAgent,
  SessionPage,
  Snapshot,
  Task,
  WorkChanges,
} from "../types.js";
import { Routes } from "./routes.js";

const MOST_WAIT_MS = 600_000;
const SLACK_MS = 60_000;

/** `message`: a record, new or replaced · `append`: more `text` of record `id` · `session`: the session now. */
export interface SessionEvent {
  type: "message" | "append" | "session";
  data: Record<string, unknown>;
}

export interface SessionFilter {
  status?: Session["status"][];
  agent?: string;
  mine?: boolean;
  archived?: boolean;
  limit?: number;
  before?: string;
}

/** Coding agents in isolated processes. */
export class Sessions {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1/sessions");
  }

  /** `cwd` is a directory of the daemon's machine. Its process starts with the first prompt. */
  start(agent: string, more: Partial<Omit<NewSession, "agent">> = {}): Promise<Session> {
    return this.#routes.create("", { agent, ...more }, (id) => this.get(id));
  }

  /** Newest first. `next` is the `before` of the following page. */
  list(filter: SessionFilter = {}): Promise<SessionPage> {
    return this.#routes.get("", { ...filter });
  }

  /** With its last 50 tasks. */
  get(id: string): Promise<Session> {
    return this.#routes.get(`/${segment(id)}`);
  }

  /** Send a prompt; while another runs, it is queued. `waitMs` for it to end, at most ten minutes. */
  prompt(id: string, prompt: string, { waitMs = 0, interrupt = false } = {}): Promise<Task> {
    const limit = Math.min(waitMs, MOST_WAIT_MS);
    const body = { prompt, interrupt, wait: limit / 1000 };
    const find = (taskId: string) => this.task(id, taskId);
    return this.#routes.create(`/${segment(id)}/prompt`, body, find, { timeoutMs: limit + SLACK_MS });
  }

  task(id: string, taskId: string): Promise<Task> {
    return this.#routes.get(`/${segment(id)}/tasks/${segment(taskId)}`);
  }

  /** Remove a queued prompt, or stop the task that runs. */
  cancelTask(id: string, taskId: string): Promise<Task> {
    return this.#routes.delete(`/${segment(id)}/tasks/${segment(taskId)}`);
  }

  /** The transcript. `next` is the `after` of the following page. */
  messages(id: string, { after = 0, limit = 500 } = {}): Promise<MessagePage> {
    return this.#routes.get(`/${segment(id)}/messages`, { after, limit });
  }

  /** The transcript as it is written. It does not end: stop at a `session` whose status is `idle`, for example. */
  async *stream(
    id: string,
    { after = 0, signal }: { after?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<SessionEvent, void, undefined> {
    const request = { method: "GET", path: `/v1/sessions/${segment(id)}/messages`, query: { after }, signal };
    for await (const { type, data } of follow(this.#routes.exchange, request, () => false)) {
      yield { type, data } as SessionEvent;
    }
  }

  /** End its task and its processes. The transcript stays. */
  stop(id: string, reason = ""): Promise<Session> {
    return this.#routes.post(`/${segment(id)}/stop`, { reason });
  }

  /** Let it take prompts again. */
  resume(id: string): Promise<Session> {
    return this.#routes.post(`/${segment(id)}/resume`);
  }

  /** Start a session that continues from this one, if its agent supports that. */
  fork(id: string): Promise<Session> {
    return this.#routes.create(`/${segment(id)}/fork`, {}, (fork) => this.get(fork));
  }

  /** Stop it, and leave it out of the list. */
  archive(id: string): Promise<Session> {
    return this.#routes.post(`/${segment(id)}/archive`);
  }

  /** Delete it with its transcript. `snapshot` says where work in its repository is kept. */
  delete(id: string): Promise<Snapshot> {
    return this.#routes.delete(`/${segment(id)}`);
  }

  /** What it changed in its repository. */
  changes(id: string): Promise<WorkChanges> {
    return this.#routes.get(`/${segment(id)}/changes`);
  }

  /** The agents that sessions can be started with; `problem` says why one can't be started now. */
  agents(): Promise<SessionAgent[]> {
    return this.#routes.items("/agents");
  }

  /** Its pending permission requests. Settle them with `interactions.approve` and `interactions.deny`. */
  async permissions(id: string): Promise<Interaction[]> {
    const path = "/v1/interactions";
    const query = { status: "pending", limit: 500 };
    const found = await this.#routes.exchange.send<{ items: InteractionView[] }>({
      method: "GET",
      path,
      query,
      repeatable: true,
    });
    return found.items.filter((one) => one.sessionId === id).map((one) => new Interaction(one));
  }
}
