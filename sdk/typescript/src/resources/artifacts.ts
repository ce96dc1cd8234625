import { type Exchange, segment } from "../exchange.js";
import type { Artifact, ArtifactPage } from "../types.js";
import { Routes } from "./routes.js";

export class Artifacts {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1/artifacts");
  }

  /** Newest first. `next` is the `before` of the following page. */
  list(filter: { execution?: string; limit?: number; before?: string } = {}): Promise<ArtifactPage> {
    return this.#routes.get("", filter);
  }

  /** Its details and its preview. */
  get(id: string): Promise<Artifact> {
    return this.#routes.get(`/${segment(id)}`);
  }

  async content(id: string): Promise<Uint8Array> {
    const path = `/v1/artifacts/${segment(id)}/content`;
    const answer = await this.#routes.exchange.open({
      method: "GET",
      path,
      headers: { Accept: "*/*" },
      repeatable: true,
    });
    return new Uint8Array(await answer.arrayBuffer());
  }

  /** Delete its content permanently, once its execution has ended. */
  delete(id: string): Promise<Artifact> {
    return this.#routes.delete(`/${segment(id)}`);
  }
}
