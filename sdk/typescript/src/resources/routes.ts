// The routes below one address, for the parts of the client.
import { AlreadyCreated } from "../errors.js";
import type { Exchange, Query, Request } from "../exchange.js";

export class Routes {
  readonly exchange: Exchange;
  readonly #base: string;

  constructor(exchange: Exchange, base: string) {
    this.exchange = exchange;
    this.#base = base;
  }

  get<T>(path = "", query?: Query): Promise<T> {
    return this.exchange.send({ method: "GET", path: this.#base + path, query, repeatable: true });
  }

  async items<T>(path = "", query?: Query): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path, query)).items;
  }

  post<T>(path: string, body: unknown = {}, more: Partial<Request> = {}): Promise<T> {
    return this.exchange.send({ method: "POST", path: this.#base + path, body, ...more });
  }

  /** Create something with a key of its own, so that it can be sent again. `find` gets what an earlier try created. */
  async create<T>(
    path: string,
    body: unknown,
    find: (id: string) => Promise<T>,
    more: Partial<Request> = {},
  ): Promise<T> {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    try {
      return await this.post<T>(path, body, { ...more, headers, repeatable: true });
    } catch (error) {
      if (error instanceof AlreadyCreated) return find(error.id);
      throw error;
    }
  }

  /** With `ifMatch`, only if it still has that version; else it throws `PreconditionFailed`. */
  patch<T>(path: string, body: unknown, ifMatch?: string): Promise<T> {
    const headers: Record<string, string> = ifMatch ? { "If-Match": ifMatch } : {};
    return this.exchange.send({ method: "PATCH", path: this.#base + path, body, headers });
  }

  delete<T>(path: string, query?: Query): Promise<T> {
    return this.exchange.send({ method: "DELETE", path: this.#base + path, query });
  }
}
