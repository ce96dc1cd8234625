import { type Exchange, segment } from "../exchange.js";
import { Execution } from "../execution.js";
import type { Call, ExecutionPage, ExecutionView, LogLine, Replay, Status } from "../types.js";
import { Routes } from "./routes.js";

export interface ExecutionFilter {
  status?: Status[];
  tool?: string;
  text?: string;
  actor?: string;
  limit?: number;
  before?: string;
}

export class Executions {
  readonly #routes: Routes;

  constructor(exchange: Exchange) {
    this.#routes = new Routes(exchange, "/v1/executions");
  }

  /** Newest first. `next` is the `before` of the following page. */
  list(filter: ExecutionFilter = {}): Promise<ExecutionPage> {
    return this.#routes.get("", { ...filter });
  }

  async get(id: string): Promise<Execution> {
    return new Execution(await this.#routes.get<ExecutionView>(`/${segment(id)}`));
  }

  async cancel(id: string): Promise<Execution> {
    return new Execution(await this.#routes.post<ExecutionView>(`/${segment(id)}/cancel`));
  }

  /** The journal of its calls. */
  calls(id: string): Promise<Call[]> {
    return this.#routes.items(`/${segment(id)}/calls`);
  }

  logs(id: string): Promise<LogLine[]> {
    return this.#routes.items(`/${segment(id)}/logs`);
  }

  /** Replay its journal without sending anything, and compare. */
  replay(id: string): Promise<Replay> {
    return this.#routes.post(`/${segment(id)}/replay`);
  }
}
