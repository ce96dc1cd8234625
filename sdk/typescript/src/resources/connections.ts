import { type Exchange, segment } from "../exchange.js";
import type { Connection, ConnectionTest, NewConnection, WayPage } from "../types.js";
import { Routes } from "./routes.js";

/** Credentials of sources. */
export class Connections {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1");
  }

  list(): Promise<Connection[]> {
    return this.#routes.items("/connections");
  }

  /** Which credentials a source takes, and where they would be sent. */
  ways(source: string): Promise<WayPage> {
    return this.#routes.get(`/sources/${segment(source)}/ways`);
  }

  /** `values` are entered now, `secrets` names existing ones; both by input. */
  add(source: string, credential: Partial<Omit<NewConnection, "source">>): Promise<Connection> {
    return this.#routes.post("/connections", { source, ...credential });
  }

  /** Check that the service accepts it. */
  test(id: string): Promise<ConnectionTest> {
    return this.#routes.post(`/connections/${segment(id)}/test`);
  }

  remove(id: string): Promise<Connection> {
    return this.#routes.delete(`/connections/${segment(id)}`);
  }
}
