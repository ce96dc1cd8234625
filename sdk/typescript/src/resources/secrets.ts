import { type Exchange, segment } from "../exchange.js";
import type { NewSecret, Secret } from "../types.js";
import { Routes } from "./routes.js";

/** Values go in and never come out. */
export class Secrets {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1/secrets");
  }

  list(): Promise<Secret[]> {
    return this.#routes.items();
  }

  /** Store a value, or say under which `reference` another provider has it. */
  add(name: string, value = "", more: Partial<Pick<NewSecret, "provider" | "reference">> = {}): Promise<Secret> {
    return this.#routes.post("", { name, value, ...more });
  }

  /** Set a new value under the same name. */
  rotate(name: string, value = "", { reference = "" } = {}): Promise<Secret> {
    return this.#routes.post(`/${segment(name)}/rotate`, { value, reference });
  }

  /** `force` even while a connection uses it. */
  remove(name: string, { force = false } = {}): Promise<Secret> {
    return this.#routes.delete(`/${segment(name)}`, { force });
  }
}
