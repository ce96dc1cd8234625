import { type Exchange, segment } from "../exchange.js";
import type { AddedSource, NewSource, Preview, Refreshed, Schemas, Source, ToolPage } from "../types.js";
import { Routes } from "./routes.js";

const READ = { timeoutMs: 600_000 }; // a large document, or a server that starts

export class Sources {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1");
  }

  list(): Promise<Source[]> {
    return this.#routes.items("/sources");
  }

  /** By id or namespace. */
  get(source: string): Promise<Source> {
    return this.#routes.get(`/sources/${segment(source)}`);
  }

  /** Connect a document, an endpoint, a `command`, `python:package.module` or a template by its name. */
  add(location: string, more: Omit<NewSource, "location"> = {}): Promise<AddedSource> {
    return this.#routes.post("/sources", { location, ...more }, READ);
  }

  /** The tools that a source would offer, without connecting it. */
  preview(location: string, more: Omit<NewSource, "location"> = {}): Promise<Preview> {
    return this.#routes.post("/sources/preview", { location, ...more }, READ);
  }

  /** Change settings. With `revision`, only if it still has that one. */
  change(source: string, fields: Partial<Schemas["SourceChange"]>): Promise<Schemas["EditedView"]> {
    return this.#routes.patch(`/sources/${segment(source)}`, fields);
  }

  refresh(source: string): Promise<Refreshed> {
    return this.#routes.post(`/sources/${segment(source)}/refresh`, {}, READ);
  }

  /** Disconnect it. Its pending approvals are denied. */
  remove(source: string): Promise<Source> {
    return this.#routes.delete(`/sources/${segment(source)}`);
  }

  /** Tools by path. `next` is the `after` of the following page. */
  tools(filter: { source?: string; prefix?: string; limit?: number; after?: string } = {}): Promise<ToolPage> {
    return this.#routes.get("/tools", filter);
  }
}
