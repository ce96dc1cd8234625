import { decide } from "../decisions.js";
import { type Exchange, segment } from "../exchange.js";
import { answer, approve, type Decision, deny, Interaction, type Scope } from "../execution.js";
import type { InteractionView } from "../types.js";
import { Routes } from "./routes.js";

export class Interactions {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1/interactions");
  }

  /** Newest first, of executions and of sessions. */
  async list({
    status = "pending",
    execution,
    limit = 50,
  }: {
    status?: InteractionView["status"] | null;
    execution?: string;
    limit?: number;
  } = {}): Promise<Interaction[]> {
    const found = await this.#routes.items<InteractionView>("", { status, executionId: execution, limit });
    return found.map((one) => new Interaction(one));
  }

  /** With all of its arguments, however long. */
  async get(id: string): Promise<Interaction> {
    return new Interaction(await this.#routes.get<InteractionView>(`/${segment(id)}`));
  }

  /** Allow exactly this call. `always` creates a policy for it. */
  approve(id: string, scope: Scope = "once", ...result: [unknown?]): Promise<Interaction> {
    return this.#decide(id, approve(scope, ...result));
  }

  deny(id: string, reason = ""): Promise<Interaction> {
    return this.#decide(id, deny(reason));
  }

  /** Accept an `elicitation`. */
  answer(id: string, content: Record<string, unknown> | null = null): Promise<Interaction> {
    return this.#decide(id, answer(content));
  }

  /** What a `credential` interaction needs. Every call that waits for the same credential continues. */
  async giveCredential(id: string, values: Record<string, string>, { way = "" } = {}): Promise<Interaction> {
    return new Interaction(await this.#routes.post<InteractionView>(`/${segment(id)}/credential`, { values, way }));
  }

  async #decide(id: string, decision: Decision): Promise<Interaction> {
    return new Interaction(await decide(this.#routes.exchange, id, decision));
  }
}
