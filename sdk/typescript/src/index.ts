export type { ExecuteFunction } from "./agent.js";
export * from "./errors.js";
export type { Fetch, Query } from "./exchange.js";
export {
  answer,
  approve,
  type Decision,
  deny,
  Execution,
  Interaction,
  type OnInteraction,
  type Scope,
} from "./execution.js";
export { Executor, type ExecutorOptions, type RunOptions, type SubmitOptions, type WaitOptions } from "./executor.js";
export { parse, write } from "./json.js";
export type { ExecutionFilter } from "./resources/executions.js";
export type { SessionEvent, SessionFilter } from "./resources/sessions.js";
export type { Tool } from "./tools.js";
export type * from "./types.js";
