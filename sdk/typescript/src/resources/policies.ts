import { type Exchange, segment } from "../exchange.js";
import type { Decided, NewPolicy, Policy, PolicyChange } from "../types.js";
import { Routes } from "./routes.js";

export class Policies {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1/policies");
  }

  /** In order. */
  list(): Promise<Policy[]> {
    return this.#routes.items();
  }

  get(id: string): Promise<Policy> {
    return this.#routes.get(`/${segment(id)}`);
  }

  /** `pattern` is a path such as `github.issues.*`. */
  add(
    pattern: string,
    action: NewPolicy["action"],
    more: Partial<Omit<NewPolicy, "pattern" | "action">> = {},
  ): Promise<Policy> {
    return this.#routes.create("", { pattern, action, ...more }, (id) => this.get(id));
  }

  /** `{action: "deny"}`; fields that are left out do not change. `ifMatch` is the `ETag` that you saw. */
  change(id: string, fields: Partial<PolicyChange>, { ifMatch }: { ifMatch?: string } = {}): Promise<Policy> {
    return this.#routes.patch(`/${segment(id)}`, fields, ifMatch);
  }

  remove(id: string): Promise<void> {
    return this.#routes.delete(`/${segment(id)}`);
  }

  /** Which policy decides a call, and how. */
  test(path: string, args?: Record<string, unknown>, { actor = "" } = {}): Promise<Decided> {
    return this.#routes.post("/test", { path, arguments: args, actor }, { repeatable: true });
  }
}
